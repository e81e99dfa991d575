/** One completion, as Pi shows it (pi-tui's AutocompleteItem, 0.73.1 and 1.6.0). */
export interface Completion {
  value: string;
  label: string;
  description?: string;
}

/** Texts that are their own label. */
export function plainItems(texts: readonly string[] = []): Completion[] {
  return texts.map((text) => ({ value: text, label: text }));
}

/**
 * HTML that cannot be injected into: a template escapes every string that goes into it, and only what a template made
 * goes in as it is.
 */
import { escapeHtml } from "../inert.ts";

export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

export type Part = string | number | Html | null | readonly Part[];

/** `html\`<p>${text}</p>\``: strings and numbers are escaped, null is nothing, lists are joined. */
export function html(fixed: TemplateStringsArray, ...parts: readonly Part[]): Html {
  let text = fixed[0] ?? "";
  for (let i = 0; i < parts.length; i++) text += textOf(parts[i] ?? null) + (fixed[i + 1] ?? "");
  return new Html(text);
}

function textOf(part: Part): string {
  if (part === null) return "";
  if (part instanceof Html) return part.text;
  if (typeof part === "string") return escapeHtml(part);
  if (typeof part === "number") return String(part);
  return part.map(textOf).join("");
}

/** One line of escaped text: blanks and line breaks become single spaces, hidden characters visible. */
export function inline(text: string, max: number): string {
  const short = text.length > max * 4 ? text.slice(0, max * 4) : text;
  const line = short.replace(/[ \t\r\n]+/g, " ").trim();
  return line.length <= max ? line : `${line.slice(0, max - 1)}…`;
}

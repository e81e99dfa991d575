/** How much of a worker's words the log, the UI and answers carry. All of it is redacted before it is cut. */

/** Characters of an output preview. */
export const PREVIEW_CHARS = 2_000;
/** Characters of a tool input as JSON; a longer one is stored with its long strings cut. */
export const INPUT_CHARS = 16_000;
const INPUT_STRING_CHARS = 4_000;

export function preview(text: string, chars = PREVIEW_CHARS): string {
  if (text.length <= chars) return text;
  return `${cutAt(text, chars)}… [${text.length - chars} more characters]`;
}

/** The end of a text that is redacted already: the last words say most. */
export function ending(text: string, chars: number): string {
  if (text.length <= chars) return text;
  const first = text.charCodeAt(text.length - chars);
  return `…${text.slice(first >= 0xdc00 && first <= 0xdfff ? 1 - chars : -chars)}`;
}

/** A bounded copy of a tool's input: strings cut, lists and depth bounded. */
export function boundedInput(input: unknown): unknown {
  const whole = JSON.stringify(input) ?? "null";
  if (whole.length <= INPUT_CHARS) return input;
  const short = shrink(input, 0);
  return (JSON.stringify(short) ?? "null").length <= 4 * INPUT_CHARS ? short : { cut: preview(whole, INPUT_CHARS) };
}

function shrink(value: unknown, depth: number): unknown {
  if (typeof value === "string") return preview(value, INPUT_STRING_CHARS);
  if (depth > 6) return "[deeper]";
  if (Array.isArray(value)) return value.slice(0, 50).map((entry) => shrink(entry, depth + 1));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .slice(0, 50)
      .map(([key, entry]) => [key, shrink(entry, depth + 1)]),
  );
}

/** Never between the halves of a character beyond the basic plane. */
function cutAt(text: string, at: number): string {
  const last = text.charCodeAt(at - 1);
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? at - 1 : at);
}

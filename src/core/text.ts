/**
 * Text of workers, repositories and tools is data wherever it is shown: it may hold terminal sequences, carriage returns,
 * direction marks and invisible characters that hide or reorder what a person or a model reads.
 */

/**
 * Everything that is not seen or that reorders what is: controls, format characters, lone surrogates, line and paragraph
 * separators, and the ignorable ones that can carry a hidden text (tags, variation selectors). Not line feed and tab, and
 * not the selector U+FE0F right after a pictograph that it makes an emoji: one on a visible sign hides nothing.
 */
const HIDDEN =
  /(?<!\p{Extended_Pictographic})\ufe0f|(?!\n|\t|\ufe0f)[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

/** CSI, OSC, DCS and the like (ECMA-48), each to its end or to the end of the text. */
const SEQUENCE =
  /\u001b\[[0-?]*[ -/]*[@-~]|[\u001b\u009b][\]PX^_][^\u0007\u001b\u009c]*(?:\u0007|\u001b\\|\u009c)?|\u009b[0-?]*[ -/]*[@-~]|\u001b[ -/]*[0-~]/g;

/** Makes hidden characters visible as `<U+202E>`; line feeds and tabs stay, CRLF becomes a line feed. */
export function visible(text: string): string {
  return text.replace(/\r\n/g, "\n").replace(HIDDEN, (char) => {
    const code = char.codePointAt(0) ?? 0;
    return `<U+${code.toString(16).toUpperCase().padStart(4, "0")}>`;
  });
}

/** Takes terminal sequences and hidden characters out; line feeds and tabs stay, CRLF becomes a line feed. */
export function withoutHidden(text: string): string {
  return text.replace(/\r\n/g, "\n").replace(SEQUENCE, "").replace(HIDDEN, "");
}

/** At most `max` UTF-16 units, the last one `…` when something was cut; never half a surrogate pair. */
export function cut(text: string, max: number): string {
  return text.length <= max ? text : `${text.slice(0, wholeAt(text, max - 1))}…`;
}

/** The nearest place at or before `at` that is not between the halves of a character. */
export function wholeAt(text: string, at: number): number {
  const last = text.charCodeAt(at - 1);
  return last >= 0xd800 && last <= 0xdbff ? at - 1 : at;
}

/**
 * Text of workers, repositories and tools is data wherever it is shown: it may hold terminal sequences, carriage
 * returns and direction marks that would hide or reorder what a person reads.
 */

/** CSI, OSC, DCS and the like (ECMA-48), each to its end or to the end of the text. */
const SEQUENCE =
  /\u001b\[[0-?]*[ -/]*[@-~]|[\u001b\u009b][\]PX^_][^\u0007\u001b\u009c]*(?:\u0007|\u001b\\|\u009c)?|\u009b[0-?]*[ -/]*[@-~]|\u001b[ -/]*[0-~]/g;

/** C0 and C1 but for line feed and tab; direction marks and isolates; invisible and line-breaking format characters. */
const CONTROL =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|\udb40[\udc00-\udc7f]/g;

/** Takes terminal sequences and control characters out; line feeds and tabs stay. */
export function stripControls(text: string): string {
  return text.replace(/\r\n/g, "\n").replace(SEQUENCE, "").replace(CONTROL, "");
}

/** Makes control characters visible as `<U+001B>`; line feeds and tabs stay. */
export function showControls(text: string): string {
  return text.replace(/\r\n/g, "\n").replace(CONTROL, (char) => {
    const code = char.codePointAt(0) ?? 0;
    return `<U+${code.toString(16).toUpperCase().padStart(4, "0")}>`;
  });
}

/** One line without controls: blanks and line breaks become single spaces, cut to `max` characters with `…`. */
export function oneLine(text: string, max: number): string {
  const line = stripControls(text.length > max * 8 ? text.slice(0, max * 8) : text)
    .replace(/\s+/g, " ")
    .trim();
  return cut(line, max);
}

/** At most `max` UTF-16 units; never half a surrogate pair. */
export function cut(text: string, max: number): string {
  if (text.length <= max) return text;
  const end = /[\ud800-\udbff]/.test(text.charAt(max - 2)) ? max - 2 : max - 1;
  return `${text.slice(0, end)}…`;
}

/** For HTML text and double-quoted attributes; control characters are made visible. */
export function escapeHtml(text: string): string {
  return showControls(text)
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;")
    .replaceAll("'", "&#39;");
}

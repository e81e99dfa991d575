/** Text of workers, repositories and tools, made fit to stand in a prompt: nothing in it is invisible or breaks lines. */

/**
 * Everything that is not seen or that reorders what is: controls, format characters, lone surrogates, line and paragraph
 * separators, and the ignorable ones that can carry a hidden text (tags, variation selectors). Not line feed and tab.
 */
const HIDDEN = /(?![\n\t])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

/** Makes hidden characters visible as `<U+202E>`; line feeds and tabs stay, CRLF becomes a line feed. */
export function visible(text: string): string {
  return text.replace(/\r\n/g, "\n").replace(HIDDEN, (char) => {
    const code = char.codePointAt(0) ?? 0;
    return `<U+${code.toString(16).toUpperCase().padStart(4, "0")}>`;
  });
}

/** At most `max` UTF-16 units, the last one `…` when something was cut; never half a surrogate pair. */
export function cutTo(text: string, max: number): string {
  return text.length <= max ? text : `${text.slice(0, whole(text, max - 1))}…`;
}

/** The nearest place at or before `at` that is not between the halves of a character. */
export function whole(text: string, at: number): number {
  const last = text.charCodeAt(at - 1);
  return last >= 0xd800 && last <= 0xdbff ? at - 1 : at;
}

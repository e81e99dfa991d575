/** How text from outside is made fit for a terminal line and for a page. */
import { cut, visible, withoutHidden } from "../core/text.ts";

export { cut, visible as showControls, withoutHidden as stripControls } from "../core/text.ts";

/** One line without controls: blanks and line breaks become single spaces, cut to `max` characters with `…`. */
export function oneLine(text: string, max: number): string {
  const line = withoutHidden(text.length > max * 8 ? text.slice(0, max * 8) : text)
    .replace(/\s+/g, " ")
    .trim();
  return cut(line, max);
}

/** For HTML text and double-quoted attributes; control characters are made visible. */
export function escapeHtml(text: string): string {
  return visible(text)
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;")
    .replaceAll("'", "&#39;");
}

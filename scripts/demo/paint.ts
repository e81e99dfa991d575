/** Colours for people at a terminal; plain text where NO_COLOR is set or the output is no terminal. */
import { styleText } from "node:util";

type Style = Parameters<typeof styleText>[0];

export interface Paint {
  (style: Style, text: string): string;
  /** Columns that a line may fill. */
  columns: number;
}

export function paintFor(stream: NodeJS.WriteStream, env: NodeJS.ProcessEnv): Paint {
  const forced = env.FORCE_COLOR !== undefined && env.FORCE_COLOR !== "" && env.FORCE_COLOR !== "0";
  const coloured = (env.NO_COLOR ?? "") === "" && (forced || (stream.isTTY && env.TERM !== "dumb"));
  const paint = (style: Style, text: string) => (coloured ? styleText(style, text) : text);
  return Object.assign(paint, { columns: Math.max(60, stream.columns || 120) });
}

/**
 * Untrusted text as at most `lines` lines of about `width` columns: control characters become visible, blanks shrink, the
 * rest is cut. A word that is longer than a line (a path) stays whole, so that it can be copied.
 */
export function wrap(text: string, width: number, lines: number): string[] {
  const wrapped: string[] = [];
  for (const word of visible(text.replace(/\s+/g, " ").trim()).split(" ")) {
    const last = wrapped.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= width) wrapped[wrapped.length - 1] = `${last} ${word}`;
    else wrapped.push(word);
  }
  if (wrapped.length <= lines) return wrapped;
  return [...wrapped.slice(0, lines - 1), `${wrapped[lines - 1] ?? ""} …`];
}

/** Control characters (escape sequences among them) as U+FFFD, so that nothing from outside can drive the terminal. */
export function visible(text: string): string {
  return text.replace(/[\u0000-\u001f\u007f-\u009f]/g, "\ufffd");
}

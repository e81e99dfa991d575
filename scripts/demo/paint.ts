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
  return Object.assign(paint, { columns: Math.max(60, stream.columns ?? 120) });
}

/** One line of untrusted text: control characters become visible, the rest is cut at `width`. */
export function oneLine(text: string, width: number): string {
  const flat = visible(text.replace(/\s+/g, " ").trim());
  return flat.length > width ? `${flat.slice(0, Math.max(0, width - 1))}…` : flat;
}

/** Control characters (escape sequences among them) as U+FFFD, so that nothing from outside can drive the terminal. */
export function visible(text: string): string {
  return text.replace(/[\u0000-\u001f\u007f-\u009f]/g, "\ufffd");
}

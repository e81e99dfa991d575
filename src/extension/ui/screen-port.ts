/** What a full screen of ours needs of Pi's: size, colours, keys. Pi's own classes stay behind this seam. */

/** Ways to show a text; each returns it with its colour, or as it is. */
export interface Painter {
  strong(text: string): string;
  dim(text: string): string;
  accent(text: string): string;
  warning(text: string): string;
  error(text: string): string;
}

export type Key =
  | "up"
  | "down"
  | "page-up"
  | "page-down"
  | "enter"
  | "escape"
  | "backspace"
  | "tab"
  /** One printable character. */
  | { char: string };

export interface ScreenHost {
  rows(): number;
  paint: Painter;
  /** Cuts a text with colours to that many columns; wide characters count as two. */
  fit(text: string, columns: number): string;
  redraw(): void;
  /** Puts a text into the clipboard where the terminal can (OSC 52). */
  copy(text: string): void;
  close(): void;
}

export interface Screen {
  render(columns: number): string[];
  press(key: Key): void;
  dispose(): void;
}

/** What terminals send (xterm and the Kitty protocol's plain forms); undefined for everything else. */
export function keyOf(data: string): Key | undefined {
  const named = NAMED[data];
  if (named !== undefined) return named;
  const [char = "", ...more] = [...data];
  return more.length === 0 && char >= " " && char !== "\u007f" ? { char } : undefined;
}

const NAMED: Readonly<Record<string, Key>> = {
  "\u001b[A": "up",
  "\u001bOA": "up",
  "\u001b[B": "down",
  "\u001bOB": "down",
  "\u001b[5~": "page-up",
  "\u001b[6~": "page-down",
  "\r": "enter",
  "\n": "enter",
  "\u001b": "escape",
  "\u001b[27u": "escape",
  "\u0003": "escape",
  "\u001b[99;5u": "escape",
  "\u007f": "backspace",
  "\b": "backspace",
  "\t": "tab",
};

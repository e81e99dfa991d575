/**
 * The bytes by which a terminal calls a person who looks elsewhere. Where it is known to show desktop notices it is asked
 * for one, everywhere else the bell rings: an unknown sequence could be printed as garbage.
 *
 *   kitty                                      OSC 99   (sw.kovidgoyal.net/kitty/desktop-notifications)
 *   iTerm2                                     OSC 9    (iterm2.com/documentation-escape-codes.html)
 *   WezTerm, Ghostty, foot, rxvt-unicode       OSC 777  (what Pi's own example `notify.ts` uses on both lines)
 *
 * None of them moves the cursor or paints a cell, so that Pi's screen stays as it is. tmux hands a sequence on only inside
 * its own envelope, and only with `allow-passthrough`: there the bell rings as well.
 */
import { oneLine } from "../../report/inert.ts";

export interface TerminalNotice {
  /** `bell`: no desktop notice, wherever we are. */
  how: "auto" | "bell";
  title: string;
  body: string;
}

type Environment = Readonly<Record<string, string | undefined>>;

const BELL = "\u0007";
const ESC = "\u001b";
const END = `${ESC}\\`;
const TITLE_CHARS = 60;
const BODY_CHARS = 200;

export function terminalBytes({ how, title, body }: TerminalNotice, env: Environment): string {
  const notice = how === "auto" ? desktopNotice(plain(title, TITLE_CHARS), plain(body, BODY_CHARS), env) : null;
  if (notice === null) return BELL;
  if (!env["TMUX"]) return notice;
  return `${ESC}Ptmux;${notice.replaceAll(ESC, ESC + ESC)}${END}${BELL}`;
}

/** Null where the terminal is not known to show any. */
function desktopNotice(title: string, body: string, env: Environment): string | null {
  /* GNU screen passes nothing on. */
  if (env["STY"]) return null;
  const program = (env["TERM_PROGRAM"] ?? "").toLowerCase();
  const kind = env["TERM"] ?? "";
  if (env["KITTY_WINDOW_ID"] || kind.includes("kitty"))
    return `${ESC}]99;i=pi-supervise:d=0;${title}${END}${ESC}]99;i=pi-supervise:p=body;${body}${END}`;
  if (program === "iterm.app" || env["ITERM_SESSION_ID"]) return `${ESC}]9;${title}: ${body}${BELL}`;
  const known =
    program === "wezterm" ||
    program === "ghostty" ||
    Boolean(env["WEZTERM_PANE"] || env["GHOSTTY_RESOURCES_DIR"]) ||
    /^(?:foot|rxvt-unicode|xterm-ghostty|wezterm)/.test(kind);
  return known ? `${ESC}]777;notify;${title};${body}${BELL}` : null;
}

/** One line in which nothing ends the sequence or divides its fields. */
function plain(text: string, max: number): string {
  return oneLine(text, max).replaceAll(";", ",");
}

/**
 * The one guarded way to Pi. A `ctx` that is touched after its session was replaced throws, and from a timer or a child's
 * callback that ends all of Pi (both lines, 0.73.1 and 1.6.0). So nobody but a port holds a `ctx`; a closed port does
 * nothing, and a `ctx` that turns out to be stale closes it.
 */
import type { ExtensionContext } from "@mariozechner/pi-coding-agent";

import { lazy } from "./lazy.ts";
import type { Told, Transcript } from "./transcript.ts";
import type { Screen, ScreenHost } from "./ui/screen-port.ts";

export type Level = "info" | "warning" | "error";
export type HostMode = "tui" | "rpc" | "json" | "print";

/** Where a command was given. */
export interface Place {
  /** Pi's folder. */
  cwd: string;
  /** The same folder where Pi trusts its project: its own settings count then. */
  trustedProject?: string;
}

/** Project trust exists since Pi 0.79.1; where Pi does not know it, no project is trusted. */
export function placeOf(ctx: ExtensionContext): Place {
  const { cwd } = ctx;
  const trusted = "isProjectTrusted" in ctx && typeof ctx.isProjectTrusted === "function" && ctx.isProjectTrusted();
  return trusted === true ? { cwd, trustedProject: cwd } : { cwd };
}

export interface PiPort {
  readonly mode: HostMode;
  /** Somebody can see notices and answer dialogs (TUI and RPC). */
  readonly interactive: boolean;
  readonly closed: boolean;
  /** Shows a text; false when nobody is there any more. In print and JSON mode it goes to standard error. */
  show(text: string, level: Level): boolean;
  /** The same for a milestone: in the TUI an entry of the transcript, which can be expanded. */
  tell(told: Told): boolean;
  /** Something else was put into the transcript: the next text stands by itself. */
  forget(): void;
  /** Hands bytes that paint nothing to the terminal; only in the TUI, and not while another program has the terminal. */
  ring(bytes: string): void;
  /** `key` tells texts apart that stand side by side; default: the chip's. */
  setStatus(text: string | undefined, key?: string): void;
  setWidget(key: string, lines: string[] | undefined): void;
  /** The chosen option; undefined when it was cancelled, timed out, aborted, or nobody is there. */
  select(title: string, options: string[], signal: AbortSignal): Promise<string | undefined>;
  input(title: string, placeholder: string, signal: AbortSignal): Promise<string | undefined>;
  /**
   * Takes Pi's screen off the terminal while `run` has it, and paints it anew; undefined where there is no screen. What is
   * shown meanwhile appears afterwards.
   */
  suspend<T>(run: () => Promise<T>): Promise<T | undefined>;
  /** Puts a full screen of ours over Pi's until it closes itself; resolves at once where there is none. */
  screen(make: (host: ScreenHost) => Screen): Promise<void>;
  /** Whether the session behind it was replaced without our being told. */
  probe(): boolean;
  close(): void;
}

export const STATUS_KEY = "supervise";

/** Characters of texts that are shown together in the TUI. */
const MAX_STANDING = 12_000;

export function openPort(
  ctx: ExtensionContext,
  errorOut: (line: string) => void = toStandardError,
  terminalOut: (bytes: string) => void = toTerminal,
  transcript?: Transcript,
): PiPort {
  const mode = modeOf(ctx);
  const interactive = mode === "tui" || mode === "rpc";
  let closed = false;
  /** What stands in the TUI's last status text and would be replaced by the next one. */
  let standing = "";
  let lent = 0;

  function guarded<T>(touch: () => T): T | undefined {
    if (closed) return undefined;
    try {
      return touch();
    } catch {
      // The session was replaced: from here on there is nobody to show anything to.
      closed = true;
      return undefined;
    }
  }
  const dialog = async (ask: () => Promise<string | undefined>): Promise<string | undefined> => {
    if (!interactive) return undefined;
    try {
      return await guarded(ask);
    } catch {
      return undefined; // the same as a cancelled dialog: nothing was decided
    }
  };

  const show = (text: string, level: Level): boolean => {
    if (!interactive) {
      if (closed) return false;
      errorOut(text);
      return true;
    }
    if (mode === "tui") standing = level === "info" ? below(standing, text) : "";
    const whole = standing === "" ? text : standing;
    guarded(() => ctx.ui.notify(whole, level));
    return !closed;
  };

  return {
    mode,
    interactive,
    get closed() {
      return closed;
    },
    show,
    tell(told) {
      try {
        if (mode === "tui" && !closed && transcript?.(told, ctx.isIdle()) === true) {
          standing = "";
          return true;
        }
      } catch {
        // A stale session, or a transcript that takes nothing: the notice finds out which.
      }
      return show(told.text, told.level);
    },
    forget() {
      standing = "";
    },
    ring(bytes) {
      if (mode === "tui" && !closed && lent === 0) terminalOut(bytes);
    },
    setStatus(text, key = STATUS_KEY) {
      if (interactive) guarded(() => ctx.ui.setStatus(key, text));
    },
    setWidget(key, lines) {
      if (interactive) guarded(() => ctx.ui.setWidget(key, lines));
    },
    select: (title, options, signal) => dialog(() => ctx.ui.select(title, options, { signal })),
    input: (title, placeholder, signal) => dialog(() => ctx.ui.input(title, placeholder, { signal })),
    async suspend<T>(run: () => Promise<T>) {
      if (mode !== "tui") return undefined;
      const lend = async (): Promise<T> => {
        lent += 1;
        try {
          return await run();
        } finally {
          lent -= 1;
        }
      };
      return guarded(() => ctx.ui.custom<T | undefined>((tui, _theme, _keys, done) => suspended(tui, lend, done)));
    },
    async screen(make) {
      if (mode !== "tui") return;
      const { overPi } = await lazy.piScreen();
      await guarded(() => overPi(ctx.ui, make));
    },
    probe: () => guarded(() => ctx.hasUI) !== undefined,
    close() {
      closed = true;
    },
  };
}

/**
 * Pi's TUI replaces an info text by the next one when nothing came between (both lines, `showStatus`): an answer would
 * vanish behind a milestone. So the new text is put below the one that it replaces, within a bound.
 */
function below(standing: string, text: string): string {
  if (standing === "") return text;
  const whole = `${standing}\n\n${text}`;
  return whole.length > MAX_STANDING ? text : whole;
}

/** The part of Pi's screen that is used (pi-tui 0.73.1 and 1.6.0). */
interface PiScreen {
  stop(): void;
  start(): void;
  requestRender(force?: boolean): void;
}

const CLEAR = "\x1b[2J\x1b[H";

function suspended<T>(tui: PiScreen, run: () => Promise<T>, done: (result: T | undefined) => void) {
  const hold = async (): Promise<T | undefined> => {
    tui.stop();
    process.stdout.write(CLEAR);
    try {
      return await run();
    } catch {
      return undefined; // the program could not be run: the caller says so
    } finally {
      process.stdout.write(CLEAR);
      tui.start();
      tui.requestRender(true);
    }
  };
  void hold().then(done);
  return { render: () => [], invalidate: () => undefined };
}

/**
 * Pi 0.73.1 has no `ctx.mode`. There, no UI means print or JSON mode (both answer on standard error), and of the two
 * with a UI only the TUI knows themes (RPC mode returns an empty list).
 */
export function modeOf(ctx: ExtensionContext): HostMode {
  if ("mode" in ctx && isHostMode(ctx.mode)) return ctx.mode;
  if (!ctx.hasUI) return "print";
  const { ui } = ctx;
  return typeof ui.getAllThemes === "function" && ui.getAllThemes().length > 0 ? "tui" : "rpc";
}

function isHostMode(value: unknown): value is HostMode {
  return value === "tui" || value === "rpc" || value === "json" || value === "print";
}

function toStandardError(line: string): void {
  process.stderr.write(`${line}\n`);
}

/** Pi's TUI writes whole sequences to standard output (both lines): a whole one of ours may stand between them. */
function toTerminal(bytes: string): void {
  process.stdout.write(bytes);
}

/**
 * Milestones as entries of Pi's transcript, one line until they are expanded (ctrl+o). They never reach Pi's own model:
 * 1.6.0 has entries that are only shown; on 0.73.1 a message carries them in its `details`, which no model sees, and is
 * taken out of every request. Loaded at Pi's start, so that those of a resumed session are shown too: no imports.
 */
import type { ExtensionAPI } from "@mariozechner/pi-coding-agent";
import type { Level } from "./pi-port.ts";

export interface Told {
  text: string;
  level: Level;
  /** What more there is to see, shown when it is expanded. */
  more: string[];
}

/** Shows it, or says false where it has to be told in another way. */
export type Transcript = (told: Told, idle: boolean) => boolean;

const TYPE = "supervise-milestone";
/** What a summary of the session says of one (0.73.1). */
const CONTENT = "The user was shown a note about a supervised task.";

type Theme = { fg(color: "accent" | "warning" | "error" | "dim", text: string): string };
type Card = { render(columns: number): string[]; invalidate(): void };
type Options = { expanded: boolean; keyText?(id: "app.tools.expand"): string };

/** Pi since 0.80.4. */
interface EntryApi {
  registerEntryRenderer(type: string, draw: (entry: { data?: unknown }, options: Options, theme: Theme) => Card): void;
}

export function openTranscript(pi: ExtensionAPI): Transcript {
  const entries = entriesOf(pi);
  if (entries !== undefined) {
    entries.registerEntryRenderer(TYPE, (entry, options, theme) => card(entry.data, options, theme));
    return (told) => {
      pi.appendEntry(TYPE, told);
      return true;
    };
  }
  pi.registerMessageRenderer(TYPE, (message, options, theme) => card(message.details, options, theme));
  pi.on("context", ({ messages }) => {
    const others = messages.filter((one) => !(one.role === "custom" && one.customType === TYPE));
    return others.length === messages.length ? undefined : { messages: others };
  });
  return (told, idle) => {
    /* While Pi's model works, a message would steer it. */
    if (idle) pi.sendMessage({ customType: TYPE, content: CONTENT, display: true, details: told });
    return idle;
  };
}

function entriesOf(pi: object): EntryApi | undefined {
  return hasEntries(pi) ? pi : undefined;
}

function hasEntries(pi: object): pi is EntryApi {
  return "registerEntryRenderer" in pi && typeof pi.registerEntryRenderer === "function";
}

const COLOR = { info: "accent", warning: "warning", error: "error" } as const;

function card(given: unknown, { expanded, keyText }: Options, theme: Theme): Card {
  const { text = "", level = "info", more = [] } = (given ?? {}) as Partial<Told>;
  const [first = "", ...others] = plain(text);
  const hint = more.length === 0 || expanded ? "" : ` (${keyText?.("app.tools.expand") ?? "ctrl+o"}: more)`;
  return {
    render: (columns) => [
      ...wrapped(`${first}${hint}`, columns).map((line) => theme.fg(COLOR[level] ?? "accent", line)),
      ...others.flatMap((line) => wrapped(line, columns)),
      ...(expanded ? more.flatMap(plain) : []).flatMap((line) =>
        wrapped(`  ${line}`, columns).map((part) => theme.fg("dim", part)),
      ),
    ],
    invalidate: () => undefined,
  };
}

/** Lines without anything that a terminal would obey. */
function plain(text: unknown): string[] {
  return String(text)
    .split("\n")
    .map((line) => line.replace(/[\u0000-\u001f\u007f-\u009f]/g, " "));
}

/** No wider than Pi's screen, which ends with an error on a wider line: outside ASCII a character counts as two columns. */
function wrapped(text: string, columns: number): string[] {
  const lines: string[] = [];
  let line = " ";
  let width = 1;
  for (const char of text) {
    const wide = char > "~" ? 2 : 1;
    if (width + wide > columns) {
      lines.push(line);
      line = " ";
      width = 1;
    }
    line += char;
    width += wide;
  }
  return [...lines, line];
}

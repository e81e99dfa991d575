/** What was typed. Every mistake is exit 2 and names what would be right. */
import { checkIdentity } from "../../control/identity.ts";
import { ALL } from "../../control/set-latch.ts";
import { failure, type Result } from "../../core/result.ts";

export const SCOPED_VERBS = ["status", "pause", "resume", "stop"] as const;
export const OTHER_VERBS = ["shared-folder", "shared-stop", "shared-lift", "shared-page", "drill"] as const;
type ScopedVerb = (typeof SCOPED_VERBS)[number];
type OtherVerb = (typeof OTHER_VERBS)[number];

export interface Command {
  verb: ScopedVerb | OtherVerb | "help";
  /** An identity, or `--all`. */
  scope: string;
  reason?: string;
  json: boolean;
  waitMs?: number;
  how: "now" | "after-call";
  epoch?: number;
  person?: string;
  folder?: string;
}

export const USAGE = `Usage:
  pi-claude-supervisor-control <identity>|--all status
  pi-claude-supervisor-control <identity>|--all stop|pause --reason "why" [--now|--after-call] [--wait MS]
  pi-claude-supervisor-control <identity>|--all resume --epoch N --reason "why"
  pi-claude-supervisor-control shared-folder [DIR [--person ACCOUNT]]
  pi-claude-supervisor-control shared-stop | shared-lift | shared-page
  pi-claude-supervisor-control drill

  --json      one JSON object on standard output
  --wait MS   longest wait for live supervisors before their processes are ended from outside

stop and pause end every worker at once (--now, the default) or when its present call ends (--after-call). They need no
terminal. resume, shared-folder, shared-stop and shared-lift are a person's, at a terminal; resume starts nothing by
itself. When no command can run, touch the file STOP-ALL in the control folder.

Exit: 0 done and proven; 1 something may remain; 2 usage, or not for this caller; 3 a stop or another process is in the
way; 4 a live supervisor did not answer, but everything it ran is proven gone.
`;

/** Reason `usage`. */
export function parseArguments(argv: readonly string[]): Result<{ command: Command }> {
  const command: Command = { verb: "help", scope: ALL, json: argv.includes("--json"), how: "now" };
  const words: string[] = [];
  let isAll = false;
  const seen = new Set<string>();
  for (let at = 0; at < argv.length; at += 1) {
    const word = argv[at] ?? "";
    if (!word.startsWith("-")) {
      words.push(word);
      continue;
    }
    const [name = "", inline] = splitOnce(word);
    if (seen.has(name) && name !== "--json") return usage(`${name} is given twice`);
    seen.add(name);
    const value = (): string | undefined => {
      if (inline !== undefined) return inline;
      // A text that begins with dashes is written `--reason=…`.
      if (argv[at + 1]?.startsWith("--")) return undefined;
      at += 1;
      return argv[at];
    };
    if (inline !== undefined && ["--all", "--json", "--now", "--after-call", "--help", "-h"].includes(name)) {
      return usage(`${name} takes no value`);
    }
    switch (name) {
      case "--help":
      case "-h":
        return { ok: true, command };
      case "--all":
        isAll = true;
        break;
      case "--json":
        break;
      case "--now":
      case "--after-call":
        if (seen.has("--now") && seen.has("--after-call")) return usage("--now and --after-call exclude each other");
        command.how = name === "--now" ? "now" : "after-call";
        break;
      case "--reason": {
        const text = value();
        if (text === undefined) return usage("--reason needs a text");
        command.reason = text;
        break;
      }
      case "--epoch":
      case "--wait": {
        const text = value();
        if (text === undefined || !/^\d{1,15}$/.test(text)) return usage(`${name} needs a number`);
        if (name === "--epoch") command.epoch = Number(text);
        else command.waitMs = Math.min(Number(text), 24 * 3_600_000);
        break;
      }
      case "--person": {
        const text = value();
        if (text === undefined || text === "") return usage("--person needs an account");
        command.person = text;
        break;
      }
      default:
        return usage(`there is no option ${name}`);
    }
  }
  return place(command, words, isAll, seen);
}

function place(
  command: Command,
  words: string[],
  isAll: boolean,
  seen: ReadonlySet<string>,
): Result<{ command: Command }> {
  const [first] = words;
  if (first === "help" || (first === undefined && !isAll)) return { ok: true, command };
  const other = OTHER_VERBS.find((verb) => verb === first);
  if (other !== undefined && !isAll) {
    command.verb = other;
    const folder = words[1];
    if (words.length > (other === "shared-folder" ? 2 : 1)) return usage(`${other} takes fewer words`);
    if (folder !== undefined) command.folder = folder;
    if (command.person !== undefined && folder === undefined) return usage("--person goes with shared-folder DIR");
    return { ok: true, command };
  }
  const verb = words[isAll ? 0 : 1];
  const found = SCOPED_VERBS.find((known) => known === verb);
  if (words.length > (isAll ? 1 : 2)) return usage("one identity (or --all) and one verb");
  if (found === undefined) {
    return usage(verb === undefined ? "the verb is missing" : `there is no verb ${JSON.stringify(verb)}`);
  }
  if (!isAll) {
    const checked = checkIdentity(first ?? "");
    if (!checked.ok) return checked;
    command.scope = first ?? "";
  }
  if (command.person !== undefined) return usage("--person goes with shared-folder");
  if (command.epoch !== undefined && found !== "resume") return usage("--epoch goes with resume");
  if ((seen.has("--now") || seen.has("--after-call")) && found !== "stop" && found !== "pause") {
    return usage("--now and --after-call go with stop and pause");
  }
  command.verb = found;
  return { ok: true, command };
}

function splitOnce(word: string): [string, string | undefined] {
  const at = word.indexOf("=");
  return at < 0 || !word.startsWith("--") ? [word, undefined] : [word.slice(0, at), word.slice(at + 1)];
}

function usage(why: string): Result<never> {
  return failure("usage", `That is not a command: ${why}. See pi-claude-supervisor-control --help.`);
}

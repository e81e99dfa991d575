/** Every subcommand with its arguments and flags: parsing, usage lines, completions and help are made from this table. */

/** What completions offer as the value of a text. */
export type Completes = "file" | "folder" | "verification" | "pi-model" | "claude-model" | "fault";

export type FlagSpec =
  | { kind: "text"; value: string; about: string; complete?: Completes }
  | { kind: "texts"; value: string; about: string; complete?: Completes }
  | { kind: "count"; value: "N" | "SEQ"; min: number; about: string }
  | { kind: "amount"; value: "X"; about: string }
  /** `common`: values that completions offer. */
  | { kind: "duration"; value: "D"; about: string; common: readonly string[] }
  | { kind: "choice"; choices: readonly string[]; about: string }
  | { kind: "switch"; about: string };

export interface ArgSpec {
  name: string;
  /** What the word means; completions offer tasks, requests and choices. */
  kind: "task" | "request" | "command" | "choice";
  choices?: readonly string[];
  optional?: true;
}

export interface CommandSpec {
  about: string;
  args: readonly ArgSpec[];
  /** Every word after the arguments and before the first flag; needed unless optional, or that flag is there. */
  rest?: { name: string; optional?: true; unless?: string };
  flags: Readonly<Record<string, FlagSpec>>;
}

const task: ArgSpec = { name: "ID", kind: "task" };
const request: ArgSpec = { name: "REQ", kind: "request" };

export const specs = {
  start: {
    about: "start one task; it is done when the verification passes",
    args: [],
    rest: { name: "goal", unless: "from" },
    flags: {
      from: {
        kind: "text",
        value: "FILE",
        about: "a task file: goal, brief, verifications, budgets; flags stand above it",
        complete: "file",
      },
      verify: {
        kind: "texts",
        value: '"<cmd>"',
        about: "command that must succeed; may be given several times",
        complete: "verification",
      },
      cwd: { kind: "text", value: "DIR", about: "folder to work in (default: Pi's)", complete: "folder" },
      mode: {
        kind: "choice",
        choices: ["manual", "auto"],
        about: "who looks at results: you, or the verifier by itself",
      },
      transport: { kind: "choice", choices: ["claude-jsonl", "process-pipe"], about: "how the worker is driven" },
      ungated: { kind: "switch", about: "you know that process-pipe has no gate" },
      model: { kind: "text", value: "M", about: "model for Claude Code", complete: "claude-model" },
      "max-rounds": {
        kind: "count",
        value: "N",
        min: 1,
        about: "failing verifications until you are asked (default 3)",
      },
      "max-turns": { kind: "count", value: "N", min: 1, about: "turns of one Claude run" },
      timeout: {
        kind: "duration",
        value: "D",
        about: "longest time for the whole task (default 8h)",
        common: ["1h", "2h", "4h", "8h"],
      },
      "quiet-timeout": {
        kind: "duration",
        value: "D",
        about: "longest silence of the worker (default 10m)",
        common: ["5m", "10m", "30m"],
      },
      trust: {
        kind: "choice",
        choices: ["none", "user", "project"],
        about: "whose Claude settings apply (default user)",
      },
      profile: { kind: "choice", choices: ["strict", "standard", "open"], about: "how much runs without asking" },
      patience: {
        kind: "duration",
        value: "D",
        about: "how long the worker waits for your answer (default 10m)",
        common: ["0", "10m", "1h", "8h"],
      },
      "budget-usd": { kind: "amount", value: "X", about: "USD for worker and decider together (an estimate)" },
      "max-decisions": { kind: "count", value: "N", min: 0, about: "questions to the decider (default 200)" },
      "decision-model": {
        kind: "text",
        value: "M",
        about: "model that decides (default: Pi's current one)",
        complete: "pi-model",
      },
      worktree: { kind: "switch", about: "in a git worktree and on a branch of the task's own" },
      review: { kind: "switch", about: "a reviewer looks at what passed the verification" },
      "no-review": { kind: "switch", about: "none does, whatever is configured" },
      "verify-in": { kind: "choice", choices: ["clean", "workspace"], about: "where the verification runs" },
      "verify-setup": { kind: "text", value: '"<cmd>"', about: "run first in the clean tree" },
      "verify-runs": { kind: "count", value: "N", min: 1, about: "runs of each command; mixed outcomes fail" },
    },
  },
  status: { about: "where a task stands and who must act", args: [{ ...task, optional: true }], flags: {} },
  sessions: {
    about: "the tasks of this machine; with prune, drop the records of old ones",
    args: [{ name: "prune", kind: "choice", choices: ["prune"], optional: true }],
    flags: {
      all: { kind: "switch", about: "ended tasks too" },
      "older-than": {
        kind: "duration",
        value: "D",
        about: "prune: ended longer ago than this",
        common: ["24h", "168h", "576h"],
      },
      yes: { kind: "switch", about: "prune: do it, not only look" },
    },
  },
  send: { about: "say something to the worker", args: [task], rest: { name: "text" }, flags: {} },
  approvals: { about: "what waits for your answer", args: [], flags: {} },
  approve: {
    about: "let a waiting call run",
    args: [request],
    flags: { note: { kind: "text", value: '"<text>"', about: "kept with the decision" } },
  },
  deny: { about: "refuse a waiting call", args: [request], rest: { name: "reason", optional: true }, flags: {} },
  answer: {
    about: "answer a question",
    args: [request],
    rest: { name: "label or text" },
    flags: {},
  },
  verify: { about: "run the verification now", args: [task], flags: {} },
  stop: { about: "end a task gracefully", args: [task], rest: { name: "reason", optional: true }, flags: {} },
  pause: {
    about: "end the worker gracefully and keep its session",
    args: [task],
    rest: { name: "reason", optional: true },
    flags: {},
  },
  resume: {
    about: "go on with a paused task",
    args: [task],
    flags: { fault: { kind: "text", value: "F", about: "clear this fault; its report is read", complete: "fault" } },
  },
  recover: {
    about: "go on with a task whose worker or Pi is gone",
    args: [task],
    flags: {
      fresh: { kind: "switch", about: "in a new Claude session, which gets the goal anew" },
      extend: { kind: "duration", value: "D", about: "more time for the whole task", common: ["1h", "2h", "4h"] },
    },
  },
  takeover: {
    about: "drive the worker's session yourself; automation is off until you hand it back",
    args: [task],
    flags: {},
  },
  handback: {
    about: "give a session back that you took over; the worker is told that you were there",
    args: [task],
    rest: { name: "note", optional: true },
    flags: {},
  },
  discard: {
    about: "drop the record of an ended or recoverable task; the workspace is not touched",
    args: [task],
    flags: { yes: { kind: "switch", about: "do it, not only look" } },
  },
  kill: { about: "end a task at once", args: [task], flags: {} },
  log: {
    about: "the events of a task",
    args: [task],
    flags: {
      follow: { kind: "switch", about: "show new ones as they come; the same again ends it" },
      since: { kind: "count", value: "SEQ", min: 1, about: "from this number on" },
      verify: { kind: "switch", about: "check the whole hash chain" },
    },
  },
  replay: {
    about: "compute the state again and compare it with the stored one",
    args: [task],
    flags: { to: { kind: "count", value: "SEQ", min: 1, about: "the state at this number" } },
  },
  report: {
    about: "what was done, refused, verified and paid",
    args: [{ ...task, optional: true }],
    flags: {
      html: { kind: "text", value: "FILE", about: "write a self-contained page", complete: "file" },
      all: { kind: "switch", about: "numbers over all tasks; with --html a page of every task" },
      serve: { kind: "switch", about: "a page in your browser that follows the task; the same again ends it" },
    },
  },
  policy: {
    about: "what the gate says to a command, and by which rule",
    args: [{ name: "check|show", kind: "choice", choices: ["check", "show"] }],
    rest: { name: '"<command>"', optional: true },
    flags: { cwd: { kind: "text", value: "DIR", about: "judged as if run there (default: Pi's)", complete: "folder" } },
  },
  doctor: { about: "what this machine lacks for a good start, and how to mend it", args: [], flags: {} },
  estop: {
    about: "the emergency stop of everything, or of one task",
    args: [
      { name: "status|pause|resume|stop", kind: "choice", choices: ["status", "pause", "resume", "stop"] },
      { ...task, optional: true },
    ],
    flags: {
      all: { kind: "switch", about: "everything of this account (the default without an id)" },
      reason: { kind: "text", value: '"<why>"', about: "kept with the stop" },
      now: { kind: "switch", about: "end what runs at once (default)" },
      "after-call": { kind: "switch", about: "let the present tool call end first, a minute at most" },
      wait: { kind: "duration", value: "D", about: "longest wait for live supervisors", common: ["5s", "30s", "2m"] },
    },
  },
  help: {
    about: "all commands, or one of them",
    args: [{ name: "command", kind: "command", optional: true }],
    flags: {},
  },
} as const satisfies Record<string, CommandSpec>;

export type CommandName = keyof typeof specs;

export const commandNames = Object.keys(specs) as CommandName[];

/** Flags that every subcommand takes. */
export const commonFlags = {
  json: { kind: "switch", about: "one JSON object for programs" },
} as const satisfies Record<string, FlagSpec>;

type ValueOf<F> = F extends { kind: "texts" }
  ? string[]
  : F extends { kind: "count" | "amount" | "duration" }
    ? number
    : F extends { kind: "choice"; choices: readonly (infer C)[] }
      ? C
      : F extends { kind: "switch" }
        ? true
        : string;

export type FlagsOf<N extends CommandName> = {
  -readonly [K in keyof (typeof specs)[N]["flags"]]?: ValueOf<(typeof specs)[N]["flags"][K]>;
};

export function specOf(name: CommandName): CommandSpec {
  return specs[name];
}

export function isCommand(word: string): word is CommandName {
  return Object.hasOwn(specs, word);
}

/** `/supervise send <ID> <text> [--json]` */
export function usageOf(name: CommandName): string {
  const spec = specOf(name);
  const parts = [`/supervise ${name}`];
  for (const arg of spec.args)
    parts.push(arg.optional ? `[${arg.name}]` : arg.kind === "choice" ? arg.name : `<${arg.name}>`);
  if (spec.rest) parts.push(spec.rest.optional ? `[${spec.rest.name}]` : `<${spec.rest.name}>`);
  for (const [flag, how] of Object.entries<FlagSpec>({ ...spec.flags, ...commonFlags }))
    parts.push(`[${flagUsage(flag, how)}]${how.kind === "texts" ? "..." : ""}`);
  return parts.join(" ");
}

export function flagUsage(flag: string, spec: FlagSpec): string {
  switch (spec.kind) {
    case "switch":
      return `--${flag}`;
    case "choice":
      return `--${flag} ${spec.choices.join("|")}`;
    case "texts":
    case "text":
    case "count":
    case "amount":
    case "duration":
      return `--${flag} ${spec.value}`;
  }
}

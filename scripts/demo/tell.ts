/** Turns what happens into lines for people: events of the task's log, in the order in which they were recorded. */
import type { LogEvent } from "./follow.ts";
import { type Paint, wrap } from "./paint.ts";

type Data = LogEvent["data"];
type Style = Parameters<Paint>[0];

/** Lines of a verification's output that are shown. */
const EVIDENCE_LINES = 8;

/** Columns before the text: seconds, who. */
const MARGIN = 19;
/** Lines that one thing may fill. */
const LINES = 4;

const VERDICT_STYLE: Readonly<Record<string, Style>> = {
  allow: "green",
  review: "yellow",
  person: "yellow",
  deny: "red",
};

export class Teller {
  readonly #write: (line: string) => void;
  readonly #paint: Paint;
  readonly #workspace: string;
  readonly #started = performance.now();

  /** What is told of each event type; the others are for the log's readers. */
  readonly #tellers: Readonly<Record<string, (data: Data) => void>> = {
    "worker.started": (data) =>
      this.say(
        "claude",
        `Claude Code ${fact(data, "executable", "version")} is up; every tool call asks the gate first`,
      ),
    "prompt.intent": (data) => this.#prompt(data),
    "worker.text": (data) => this.say("claude", `“${string(data, "preview")}”`),
    "gate.verdict": (data) => this.#verdict(data),
    "request.answered": (data) =>
      this.say(
        "person",
        `${past(string(data, "decision"))} (by ${string(data, "by")}, ${string(data, "via")})`,
        "yellow",
      ),
    "decision.made": (data) => this.say("decider", `${string(data, "decision")}: ${string(data, "reason")}`, "magenta"),
    "verify.started": (data) =>
      this.say("verifier", `round ${fact(data, "round")}: runs the check that was fixed at the start`, "cyan"),
    "verify.finished": (data) => this.#verified(data),
    "task.completed": (data) =>
      this.say("task", `completed, bound to tree ${string(data, "treeId").slice(0, 12)}`, "green"),
    "task.failed": (data) => this.#trouble("failed", data),
    "gate.incident": (data) => this.#trouble("incident", data),
    "worker.start-failed": (data) => this.#trouble("no worker", data),
    "worker.protocol-error": (data) => this.#trouble("protocol error", data),
  };

  /** `workspace`: a folder whose name is left out of what is told, for shorter lines. */
  constructor(write: (line: string) => void, paint: Paint, workspace = "") {
    this.#write = write;
    this.#paint = paint;
    this.#workspace = workspace;
  }

  /** Seconds since the start, who, what. */
  say(who: string, what: string, style: Style = "reset"): void {
    const seconds = `${((performance.now() - this.#started) / 1000).toFixed(1)}s`.padStart(6);
    const [first = "", ...more] = wrap(what, this.#paint.columns - MARGIN, LINES);
    const lead = `${this.#paint("dim", seconds)}  ${this.#paint("bold", who.padEnd(MARGIN - 9))}`;
    this.#write(`${lead} ${this.#paint(style, first)}`);
    for (const line of more) this.#write(`${" ".repeat(MARGIN)}${this.#paint(style, line)}`);
  }

  /** Lines that belong to the one before. */
  quote(text: string, style: Style = "dim"): void {
    for (const paragraph of text.split("\n")) {
      const indent = /^ */.exec(paragraph)?.[0] ?? "";
      for (const line of wrap(paragraph, this.#paint.columns - MARGIN - 2 - indent.length, LINES)) {
        this.#write(`${" ".repeat(MARGIN)}${this.#paint(style, `│ ${indent}${line}`)}`);
      }
    }
  }

  event({ type, data }: LogEvent): void {
    this.#tellers[type]?.(data);
  }

  #prompt(data: Data): void {
    const source = string(data, "source");
    if (source === "verifier") this.say("supervisor", "sends the evidence back to Claude", "cyan");
    else this.say("supervisor", `sends the ${source} to Claude: ${string(data, "text")}`, "cyan");
  }

  #verdict(data: Data): void {
    const verdict = string(data, "verdict");
    const call = callText(string(data, "toolName"), data.input).replace(`${this.#workspace}/`, "");
    this.say("gate", `${verdict}: ${call}  [${string(data, "rule")}]`, VERDICT_STYLE[verdict] ?? "reset");
    if (verdict === "deny") this.quote(`Claude is told: ${string(data, "reason")}`, "red");
  }

  #trouble(what: string, data: Data): void {
    this.say("task", `${what}: ${JSON.stringify(data)}`, "red");
  }

  #verified(data: Data): void {
    const outcome = string(data, "outcome");
    const tree = string(data, "treeId").slice(0, 12);
    const exit = data.exitCode === null || data.exitCode === undefined ? "" : `, exit code ${data.exitCode}`;
    this.say("verifier", `${outcome.toUpperCase()}${exit}, tree ${tree}`, outcome === "pass" ? "green" : "red");
    if (outcome === "pass") return;
    const commands = Array.isArray(data.commands) ? (data.commands as Data[]) : [];
    const output = commands.map((command) => string(command, "outputTail")).join("\n");
    this.quote(telling(output) || string(data, "message"));
  }
}

/** The lines of a test run that say what failed: its first failure without the stack, cut to a few lines. */
function telling(output: string): string {
  const lines = output.trimEnd().split("\n");
  const failure = lines.slice(
    Math.max(
      0,
      lines.findIndex((line) => /^\s*(not ok|✖)/.test(line)),
    ),
  );
  const stack = failure.findIndex((line) => /^\s*(stack:|at )/.test(line));
  const told = failure.slice(0, stack < 0 ? failure.length : stack);
  return told
    .filter((line) => !/^\s*(---|duration_ms:.*|location:.*)$/.test(line))
    .slice(0, EVIDENCE_LINES)
    .join("\n");
}

/** The part of a tool's input that a person wants to see. */
export function callText(toolName: string, input: unknown): string {
  const fields = (typeof input === "object" && input !== null ? input : {}) as Data;
  const main = fields.command ?? fields.file_path ?? fields.pattern ?? fields.url ?? "";
  return `${toolName} ${String(main)}`.trim();
}

function past(decision: string): string {
  if (decision === "approve") return "approved";
  return decision === "deny" ? "denied" : "answered";
}

function string(data: Data, name: string): string {
  const value = data[name];
  return typeof value === "string" ? value : "";
}

function fact(data: Data, ...path: string[]): string {
  let value: unknown = data;
  for (const name of path) value = typeof value === "object" && value !== null ? (value as Data)[name] : undefined;
  return value === undefined || value === null ? "" : String(value);
}

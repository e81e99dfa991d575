/**
 * `npm run demo [-- --keep] [-- --pi=1.6.0]`: the whole loop, offline. The real Pi with this extension, the real Claude
 * Code, a scripted model on loopback, a temporary repository whose test fails. Exit code 0 only when the task's status is
 * `completed` and nothing is left running.
 */
import { cp, mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { startModelServer } from "../test/support/model-server.ts";
import { type Pi, startPi } from "../test/support/pi.ts";
import { PI_LINES, type PiLine, skipReason } from "../test/support/pi-setup.ts";
import { assertNoneLeft } from "../test/support/processes.ts";
import { until } from "../test/support/until.ts";
import { createLab, type Lab } from "../test/support/workspace.ts";
import { follow } from "./demo/follow.ts";
import { scriptDemo } from "./demo/model.ts";
import { paintFor } from "./demo/paint.ts";
import { callText, Teller } from "./demo/tell.ts";

const GOAL = "Make parseDuration add up durations of several parts";
const VERIFY = "node --test";
const REPOSITORY = fileURLToPath(new URL("./demo/repo", import.meta.url));

/** Milliseconds for the whole task; it takes about ten seconds. */
const DEADLINE_MS = 120_000;
/** Milliseconds that a request may wait for its dialog before the person answers by command. */
const DIALOG_MS = 1_500;
/** Milliseconds between two looks at the task's status. */
const STATUS_MS = 250;
/** States in which nothing more happens by itself. */
const OVER = new Set(["completed", "failed", "stopped", "failed_to_stop"]);

interface Options {
  keep: boolean;
  line: PiLine;
}

const paint = paintFor(process.stdout, process.env);
const print = (line: string) => void process.stdout.write(`${line}\n`);

function readOptions(words: readonly string[]): Options {
  const options: Options = { keep: false, line: "0.73.1" };
  for (const word of words) {
    const line = PI_LINES.find((candidate) => word === `--pi=${candidate}`);
    if (word === "--keep") options.keep = true;
    else if (line) options.line = line;
    else {
      console.error(`Unknown option "${word}". Usage: npm run demo -- [--keep] [--pi=${PI_LINES.join("|")}]`);
      process.exit(2);
    }
  }
  return options;
}

async function main(options: Options, lab: Lab): Promise<boolean> {
  const cwd = await lab.repo({});
  const teller = new Teller(print, paint, cwd);
  await cp(REPOSITORY, cwd, { recursive: true });
  await lab.git(cwd, "add", "-A");
  await lab.git(cwd, "commit", "-q", "-m", "A parser with a failing test");

  const model = await startModelServer();
  lab.defer(() => model.close());
  scriptDemo(model, cwd);

  teller.say("demo", "real Pi, real Claude Code, a scripted model on loopback: no account, no network");
  teller.say("demo", `a repository with a failing test: ${cwd}`);
  const pi = await startPi({ lab, modelServer: model, line: options.line, cwd });
  const command = `/supervise start ${GOAL} --mode auto --verify "${VERIFY}"`;
  teller.say("pi", `a person types in Pi ${options.line}:`);
  teller.quote(command, "bold");
  // The first command transpiles its rooms where Pi has not loaded them before.
  const started = await pi.run(`${command} --json`, { deadlineMs: DEADLINE_MS });
  if (started.ok !== true) throw new Error(`The task did not start: ${String(started.message ?? started.reason)}`);
  const taskId = String(started.taskId);
  const folder = join(lab.stateDir, "tasks", taskId);
  teller.say("task", `${taskId}; to stop it: ${String(started.stopCommand)}`);

  const state = await watch(pi, taskId, join(folder, "events.jsonl"), teller);
  await closeUp(pi, taskId, teller);
  const kept = options.keep ? await keptReport(pi, taskId) : undefined;

  teller.say("pi", "quits");
  await pi.quit();
  await assertNoneLeft(lab.mark, 10_000);
  teller.say("demo", "nothing is left running");
  // Only now nothing writes there any more.
  if (kept) await cp(folder, kept, { recursive: true });
  if (kept) teller.say("log", `${kept} (events.jsonl, report.html)`);
  return state === "completed";
}

/** Tells the task's events as they come, answers what waits for a person, and resolves with the state it ends in. */
async function watch(pi: Pi, taskId: string, log: string, teller: Teller): Promise<string> {
  const ending = new AbortController();
  const waiting = new Waiting();
  const told = follow(log, ending.signal, (event) => teller.event(event));
  teller.say("log", log, "dim");
  try {
    return await until(
      async () => {
        const status = await pi.run(`/supervise status ${taskId} --json`);
        const state = String(status.state);
        if (OVER.has(state)) return state;
        answerDialogs(pi, waiting, teller);
        const waits = await answerByCommand(pi, taskId, waiting, teller);
        return state === "human_required" && !waits && status.waitsFor === "person" ? state : undefined;
      },
      DEADLINE_MS,
      () => `the task's end; the last thing shown: ${pi.notifications().at(-1) ?? "nothing"}`,
      STATUS_MS,
    );
  } finally {
    ending.abort();
    await told;
  }
}

/** Since when a question has been seen waiting. */
class Waiting {
  readonly #since = new Map<string, number>();

  /** Milliseconds since this id was first asked about. */
  age(id: string): number {
    const now = performance.now();
    const since = this.#since.get(id) ?? now;
    this.#since.set(id, since);
    return now - since;
  }
}

/** Chooses "Approve" in each dialog that offers it, at the second look: by then the log has told what led to it. */
function answerDialogs(pi: Pi, waiting: Waiting, teller: Teller): void {
  for (const dialog of pi.openDialogs()) {
    const approve = dialog.options?.find((option) => option.startsWith("Approve"));
    if (dialog.method !== "select" || !approve || waiting.age(dialog.id) === 0) continue;
    teller.say("person", "is asked:", "yellow");
    teller.quote(dialog.title ?? "", "yellow");
    teller.say("person", `(this demo, in your place) chooses: ${approve}`, "yellow");
    pi.answer(dialog, { value: approve });
  }
}

/** Answers by command each request whose dialog did not come; true while any request waits. */
async function answerByCommand(pi: Pi, taskId: string, waiting: Waiting, teller: Teller): Promise<boolean> {
  const answer = await pi.run("/supervise approvals --json");
  const requests = (answer.requests ?? []) as { requestId: string; taskId: string; toolName: string; input: unknown }[];
  const mine = requests.filter((request) => request.taskId === taskId);
  for (const { requestId, toolName, input } of mine) {
    if (waiting.age(requestId) < DIALOG_MS) continue;
    teller.say("person", `is asked about: ${callText(toolName, input)}`, "yellow");
    teller.say("person", `(this demo, in your place) types: /supervise approve ${requestId}`, "yellow");
    await pi.run(`/supervise approve ${requestId} --json`);
  }
  return mine.length > 0;
}

/** What a person would look at afterwards. */
async function closeUp(pi: Pi, taskId: string, teller: Teller): Promise<void> {
  const status = await pi.run(`/supervise status ${taskId} --json`);
  const replay = await pi.run(`/supervise replay ${taskId} --json`);
  const good = status.state === "completed";
  teller.say("status", `${String(status.state)}${status.why ? `: ${String(status.why)}` : ""}`, good ? "green" : "red");
  const same = replay.matches === true ? "equals the stored one" : "DIFFERS from the stored one";
  teller.say("replay", `the state recomputed from the log is ${String(replay.state)} and ${same}`);
  if (!good && pi.stderr() !== "") teller.quote(pi.stderr().slice(-2_000), "red");
}

/** The report, in a folder of its own that the task's record joins later. */
async function keptReport(pi: Pi, taskId: string): Promise<string> {
  const kept = await mkdtemp(join(tmpdir(), "pi-claude-supervisor-demo-"));
  await pi.run(`/supervise report ${taskId} --html "${join(kept, "report.html")}" --json`);
  return kept;
}

const options = readOptions(process.argv.slice(2));
const unable = await skipReason(options.line);
if (unable) {
  console.error(`The demo can't run on Pi ${options.line}: ${unable}`);
  process.exit(1);
}
const lab = await createLab();
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => {
    lab.cleanup().finally(() => process.exit(signal === "SIGINT" ? 130 : 143));
  });
}
let completed = false;
try {
  completed = await main(options, lab);
} catch (error) {
  print(paint("red", `The demo failed: ${error instanceof Error ? error.message : String(error)}`));
}
try {
  await lab.cleanup();
} catch (error) {
  completed = false;
  print(paint("red", `The demo did not clean up: ${error instanceof Error ? error.message : String(error)}`));
}
print(completed ? paint(["bold", "green"], "completed") : paint(["bold", "red"], "not completed"));
process.exitCode = completed ? 0 : 1;

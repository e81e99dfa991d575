/**
 * The scripted task that crash tests kill, and the person in it: a first try that the verification fails, a second that
 * passes; two calls that the person approves, one that the policy denies; one message that the person sends meanwhile.
 */
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import type { StartInput, Supervisor, TaskView } from "../../../src/supervisor/api.ts";
import type { SupervisorDeps } from "../../../src/supervisor/deps.ts";
import { supervisorDeps } from "../../../src/supervisor/index.ts";
import { LocalSupervisor } from "../../../src/supervisor/local-supervisor.ts";
import { until } from "../../support/until.ts";

export const GOAL = "Mend the thing";
export const MESSAGE = "Mind the gap, too.";

/** What the scripted Claude asks for, in order, once a session. */
export const WORK = [
  { name: "look", command: "node look.mjs" },
  { name: "harm", command: "sudo rm -rf /" },
  { name: "mend", command: "node mend.mjs", after: "verification did not pass", writes: "mended.txt" },
] as const;

/** The calls that the person approves when asked. */
const APPROVED: ReadonlySet<string> = new Set(["node look.mjs", "node mend.mjs"]);

/** All that a process needs to play its part; a file that processes are given. */
export interface Scene {
  env: Readonly<Record<string, string>>;
  cwd: string;
  transport: "claude-jsonl" | "process-pipe";
  /**
   * What the person wants of it: to see it done, to stop it as soon as it asks for something, or to take it over then, to
   * hand it back and to see it done.
   */
  wish: "done" | "stopped" | "taken";
  /** Default: what the scripted Claude's work brings about. */
  verify?: string;
  /** What the person said and was told, one JSON object a line, over all processes. */
  diary: string;
}

export type Entry =
  | { said: "start"; taskId: string }
  /** Written before the message is sent, and when the answer is there. */
  | { said: "sending" }
  | { said: "sent"; ok: boolean; reason: string | null }
  | { said: "approved"; requestId: string }
  /** The wheel was taken, and is about to be given back: how often Claude was told something up to then. */
  | { said: "taken" | "giving-back"; prompts: number }
  /** Automation stood still and this is why. */
  | { said: "told"; reason: string; why: string };

export function readDiary(scene: Scene): Entry[] {
  if (!existsSync(scene.diary)) return [];
  const lines = readFileSync(scene.diary, "utf8").split("\n").slice(0, -1);
  return lines.map((line) => JSON.parse(line) as Entry);
}

function note(scene: Scene, entry: Entry): void {
  appendFileSync(scene.diary, `${JSON.stringify(entry)}\n`);
}

export function openSupervisor(
  scene: Scene,
  seams: (deps: SupervisorDeps) => Partial<SupervisorDeps>,
): LocalSupervisor {
  const made = supervisorDeps(scene.env);
  if (!made.ok) throw new Error(JSON.stringify(made));
  return new LocalSupervisor({ ...made.deps, ...seams(made.deps) });
}

export async function startScene(scene: Scene, supervisor: Supervisor): Promise<string> {
  const pipe = scene.transport === "process-pipe";
  const input: StartInput = {
    goal: GOAL,
    from: scene.cwd,
    mode: pipe ? "manual" : "auto",
    verify: [scene.verify ?? (pipe ? "true" : "test -f mended.txt")],
    transport: scene.transport,
    ...(pipe ? { ungated: "flag" } : {}),
    maxRounds: 5,
  };
  const started = await supervisor.start(input);
  if (!started.ok) throw new Error(JSON.stringify(started));
  note(scene, { said: "start", taskId: started.taskId });
  return started.taskId;
}

/** Plays the person until the task is over and let go of. A message is sent once in the life of the scene, never again. */
export async function playPerson(scene: Scene, supervisor: Supervisor, taskId: string): Promise<TaskView> {
  const looks = async (): Promise<TaskView> => {
    const answer = await supervisor.status(taskId);
    if (!answer.ok) throw new Error(JSON.stringify(answer));
    return answer.task;
  };
  let view = await looks();
  const over = async (): Promise<boolean> => {
    view = await looks();
    for (const request of view.requests) {
      if (scene.wish === "stopped") {
        if (view.state !== "stopping") await stop(supervisor, taskId);
      } else if (scene.wish === "taken" && !wasTaken(scene)) return takeOver(scene, supervisor, taskId);
      else await answer(scene, supervisor, request);
    }
    if (view.state === "taken_over") return giveBack(scene, supervisor, taskId);
    if (view.state === "human_required" && view.waitsFor === "person") await nudge(scene, supervisor, view);
    if (view.state === "human_required" && view.waitsFor === "result") await verify(supervisor, taskId);
    return ["completed", "failed", "stopped", "failed_to_stop"].includes(view.state) && supervisor.live().length === 0;
  };
  await until(over, 30_000, () => `the task to be over; last: ${JSON.stringify(view)}`, 10);
  return looks();
}

function wasTaken(scene: Scene): boolean {
  return readDiary(scene).some((entry) => entry.said === "taken" || entry.said === "giving-back");
}

/** False: the task goes on. */
async function takeOver(scene: Scene, supervisor: Supervisor, taskId: string): Promise<false> {
  const taken = await supervisor.takeover(taskId);
  if (taken.ok) note(scene, { said: "taken", prompts: promptsOf(scene) });
  else if (!["busy", "starting"].includes(taken.reason)) throw new Error(JSON.stringify(taken));
  return false;
}

async function giveBack(scene: Scene, supervisor: Supervisor, taskId: string): Promise<false> {
  note(scene, { said: "giving-back", prompts: promptsOf(scene) });
  const back = await supervisor.handback(taskId, "I was here.");
  if (!back.ok && back.reason !== "busy") throw new Error(JSON.stringify(back));
  return false;
}

/** How often the scripted Claude was told something, over all its processes. */
export function promptsOf(scene: Scene): number {
  const facts = scene.env["FAKE_CLAUDE_FACTS"] ?? "";
  if (!existsSync(facts)) return 0;
  return readFileSync(facts, "utf8").split('"fact":"prompt"').length - 1;
}

/** `stopped` with proof, in whatever state the task was. */
export async function stop(supervisor: Supervisor, taskId: string): Promise<void> {
  const stopped = await supervisor.stop(taskId, "Enough.");
  if (!stopped.ok || stopped.state !== "stopped") throw new Error(JSON.stringify(stopped));
}

async function answer(scene: Scene, supervisor: Supervisor, request: TaskView["requests"][number]): Promise<void> {
  const { command } = request.input as { command: string };
  if (!APPROVED.has(command)) throw new Error(`The person is asked about ${command}.`);
  if (!readDiary(scene).some((entry) => entry.said === "sending")) {
    note(scene, { said: "sending" });
    const sent = await supervisor.send(request.taskId, MESSAGE);
    note(scene, { said: "sent", ok: sent.ok, reason: sent.ok ? null : sent.reason });
  }
  const approved = await supervisor.approve(request.requestId, undefined, "command");
  if (approved.ok) note(scene, { said: "approved", requestId: request.requestId });
  else if (!["already-answered", "no-request"].includes(approved.reason)) throw new Error(JSON.stringify(approved));
}

/** The person reads why automation stands still, and has it go on; what they say then they say once. */
async function nudge(scene: Scene, supervisor: Supervisor, view: TaskView): Promise<void> {
  note(scene, { said: "told", reason: view.reason ?? "", why: view.why ?? "" });
  if (scene.transport === "process-pipe") return verify(supervisor, view.taskId);
  const times = readDiary(scene).filter((entry) => entry.said === "told").length;
  const sent = await supervisor.send(view.taskId, `Go on without it (${times}).`);
  if (!sent.ok) throw new Error(JSON.stringify(sent));
}

async function verify(supervisor: Supervisor, taskId: string): Promise<void> {
  const verified = await supervisor.verify(taskId);
  if (!verified.ok) throw new Error(JSON.stringify(verified));
}

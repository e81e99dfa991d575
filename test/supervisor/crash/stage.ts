/** Kills a scene at a point, lets the next Pi and its person finish it, and looks at what the outside saw. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { StoredEvent } from "../../../src/core/events.ts";
import { verifyLog } from "../../../src/store/log-reader.ts";
import type { LocalSupervisor } from "../../../src/supervisor/local-supervisor.ts";
import { FAKE_CLAUDE, FAKE_CLAUDE_VARIABLES, type Fake, fakeClaude } from "../../support/fake-claude/index.ts";
import { assertNoneLeft, isAlive, MARK_NAME, processInfo } from "../../support/processes.ts";
import { until } from "../../support/until.ts";
import type { Lab } from "../../support/workspace.ts";
import { type Point, type PointKind, pointName } from "./points.ts";
import {
  type Entry,
  GOAL,
  MESSAGE,
  openSupervisor,
  playPerson,
  readDiary,
  type Scene,
  startScene,
  stop,
  WORK,
} from "./scene.ts";

const CHILD = fileURLToPath(new URL("child.ts", import.meta.url));
/** The guardian's 2 s grace and its look at the rest. */
const GONE_MS = 5_000;
const END = { done: "completed", stopped: "stopped", taken: "completed" } as const;
const GO_ON = "Go on with the task where you left off.";

export interface Played {
  points: string;
  /** Lives that were cut short; the last one never is. */
  killed: number;
  /** How the person was needed: `no-session`, `message-doubtful`…; empty where `recover` alone was enough. */
  needed: string[];
}

interface Staged {
  scene: Scene;
  sceneFile: string;
  fake: Fake;
  sessions: string;
  tasks: string;
  lab: Lab;
}

let sets = 0;

export type Kind = Pick<Scene, "transport" | "wish">;

function build(lab: Lab, template: string, kind: Kind): Staged {
  sets += 1;
  shareCache(lab);
  const root = join(lab.root, `set-${sets}`);
  mkdirSync(root);
  const cwd = join(root, "repo");
  cpSync(template, cwd, { recursive: true });
  const sessions = join(root, "sessions");
  const fake = fakeClaude(root, "session", { sessions, work: WORK });
  const state = join(root, "state");
  const env = {
    ...lab.env,
    ...fake.env,
    PI_CLAUDE_SUPERVISOR_STATE_DIR: state,
    PI_CLAUDE_SUPERVISOR_CLAUDE: FAKE_CLAUDE,
    PI_CLAUDE_SUPERVISOR_WORKER_ENV: [...FAKE_CLAUDE_VARIABLES, MARK_NAME].join(","),
  };
  const scene: Scene = { env, cwd, ...kind, diary: join(root, "diary.jsonl") };
  const sceneFile = join(root, "scene.json");
  writeFileSync(sceneFile, JSON.stringify(scene));
  return { scene, sceneFile, fake, sessions, tasks: join(state, "tasks"), lab };
}

/** tsx keeps its cache in TMPDIR, which is the lab's for what is killed; with a cold one each life takes a second longer. */
function shareCache(lab: Lab): void {
  const name = `tsx-${process.geteuid?.() ?? 0}`;
  const link = join(lab.tmp, name);
  if (!existsSync(link) && existsSync(join(tmpdir(), name))) symlinkSync(join(tmpdir(), name), link);
}

export const TEMPLATE = { "a.txt": "x\n", "look.mjs": "", "mend.mjs": "" };

/** A life without a crash: how often each kind of point was passed. */
export async function countPoints(lab: Lab, template: string, kind: Kind): Promise<Partial<Record<PointKind, number>>> {
  const set = build(lab, template, kind);
  const life = await live(set, null, "");
  assert.equal(life.signal, null, life.output);
  assert.equal(life.code, 0, `${life.output}\n${describe(set)}`);
  const told = JSON.parse(life.output) as { state: string; passed: Partial<Record<PointKind, number>> };
  assert.equal(told.state, END[kind.wish], life.output);
  await checkOutside(set, taskIds(set)[0] ?? "", 0);
  return told.passed;
}

/** One process is killed at each of `points`, one after the other; then the task is brought to its end and judged. */
export async function playCrash(lab: Lab, template: string, points: readonly Point[], kind: Kind): Promise<Played> {
  const set = build(lab, template, kind);
  const played: Played = { points: points.map(pointName).join(", then "), killed: 0, needed: [] };
  try {
    for (const point of points) {
      const [taskId = ""] = taskIds(set);
      const life = await live(set, point, taskId);
      assert.ok(life.signal === "SIGKILL" || life.code === 0, `code ${life.code}, ${life.signal}: ${life.output}`);
      if (life.signal === null) break;
      played.killed += 1;
      /* Every other time the next Pi comes at once, while the guardian is still at work. */
      if ((point.number + played.killed) % 2 === 0) await noneLeft(set);
    }
    await finish(set, played);
    await noneLeft(set);
  } catch (error) {
    throw new Error(`Killed at ${played.points}: ${describe(set)}`, { cause: error });
  }
  return played;
}

/**
 * A scene whose verification is `verify`, killed once that runs. `running` lists its processes by their command line:
 * what a verification starts carries no mark.
 */
export async function killWhen(
  lab: Lab,
  template: string,
  kind: Kind,
  verify: string,
): Promise<{ supervisor: LocalSupervisor; taskId: string; running: () => number[] }> {
  const set = build(lab, template, kind);
  writeFileSync(set.sceneFile, JSON.stringify({ ...set.scene, verify }));
  const running = (): number[] => pidsOf(verify);
  const child = spawnChild(set, null, "");
  const exited = new Promise((done) => child.once("exit", done));
  await until(() => running().length > 0, 20_000, "the verification to run");
  child.kill("SIGKILL");
  await exited;
  return { supervisor: openSupervisor(set.scene, () => ({})), taskId: taskIds(set)[0] ?? "", running };
}

/** Live processes with exactly this command line. */
function pidsOf(command: string): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => processInfo(pid)?.command === command);
}

interface Life {
  code: number | null;
  signal: string | null;
  output: string;
}

async function live(set: Staged, point: Point | null, taskId: string): Promise<Life> {
  const child = spawnChild(set, point, taskId);
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (chunk) => {
      output += String(chunk);
    });
  }
  /* Not "close": a launcher that has just begun may hold the pipes for a moment longer. */
  await new Promise((done) => child.once("exit", done));
  return { code: child.exitCode, signal: child.signalCode, output };
}

function spawnChild(set: Staged, point: Point | null, taskId: string) {
  const args = ["--import", "tsx", CHILD, set.sceneFile, JSON.stringify(point), taskId];
  const env = { PATH: set.lab.env["PATH"], TMPDIR: set.lab.tmp, HOME: set.lab.home, [MARK_NAME]: set.lab.mark };
  return spawn(process.execPath, args, { stdio: ["ignore", "pipe", "pipe"], env });
}

function taskIds(set: Staged): string[] {
  if (!existsSync(set.tasks)) return [];
  return readdirSync(set.tasks).filter((name) => !name.startsWith("."));
}

/** The next Pi: sees what there is, recovers it, and plays it to its end. */
async function finish(set: Staged, played: Played): Promise<void> {
  const supervisor = openSupervisor(set.scene, () => ({}));
  try {
    const found = taskIds(set);
    assert.ok(found.length <= 1);
    const [taskId] = found;
    if (taskId === undefined) {
      /* Killed before the task was there: nothing is left of it, its folder is free. */
      assert.deepEqual((await supervisor.sessions(true)).tasks, []);
      const fresh = await startScene(set.scene, supervisor);
      await playPerson(set.scene, supervisor, fresh);
      return await checkOutside(set, fresh, 0);
    }
    const before = wholeLines(set, taskId);
    const rows = (await supervisor.sessions(true)).tasks;
    assert.deepEqual([rows.length, rows[0]?.problem], [1, null]);
    const [row] = rows;
    const nobodys = ["completed", "failed", "stopped", "taken_over"];
    assert.equal(row?.recoverable, row !== undefined && !nobodys.includes(row.state));
    const fresh =
      set.scene.wish === "stopped"
        ? await endIt(set, supervisor, taskId, played)
        : await goOn(set, supervisor, taskId, row?.state === "completed", played);
    const view = await playPerson(set.scene, supervisor, taskId);
    assert.equal(view.state, END[set.scene.wish], JSON.stringify(view));
    const after = wholeLines(set, taskId);
    assert.ok(after.subarray(0, before.length).equals(before), "what was in the log is still there, byte for byte");
    for (const entry of readDiary(set.scene)) if (entry.said === "told") played.needed.push(entry.reason);
    const over = row !== undefined && ["completed", "failed", "stopped"].includes(row.state);
    await checkOutside(set, taskId, fresh, over);
  } finally {
    await supervisor.shutdown(2_000);
  }
}

/** The person stops what the crash left: a stop that was under way bars everything but itself, and nothing is sent. */
async function endIt(set: Staged, supervisor: LocalSupervisor, taskId: string, played: Played): Promise<0> {
  const before = set.fake.factsOf("prompt").length;
  const status = await supervisor.status(taskId);
  assert.ok(status.ok, JSON.stringify(status));
  if (status.task.state === "stopping") {
    const recovered = await supervisor.recover(taskId, { fresh: false });
    assert.deepEqual([recovered.ok, !recovered.ok && recovered.reason], [false, "stopping"]);
    played.needed.push("stop again");
  }
  await stop(supervisor, taskId);
  assert.equal(set.fake.factsOf("prompt").length, before);
  return 0;
}

/** Resolves with the number of fresh sessions that were needed. */
async function goOn(
  set: Staged,
  supervisor: LocalSupervisor,
  taskId: string,
  over: boolean,
  played: Played,
): Promise<number> {
  const recovered = await supervisor.recover(taskId, { fresh: false });
  if (recovered.ok) return 0;
  const { reason, message } = recovered;
  if (reason === "taken-over") {
    assert.equal(set.scene.wish, "taken", message);
    played.needed.push(reason);
    return 0;
  }
  assert.equal(over, reason === "completed", message);
  if (over) return 0;
  played.needed.push(reason);
  if (reason === "no-capability") {
    assert.equal(set.scene.transport, "process-pipe", message);
    const status = await supervisor.status(taskId);
    assert.ok(status.ok);
    assert.deepEqual([status.task.state, status.task.waitsFor], ["human_required", "person"], message);
    return 0;
  }
  assert.equal(reason, "no-session", message);
  const told = set.fake.factsOf("prompt");
  assert.deepEqual(told, [], "only a session that never got its goal is no session");
  const fresh = await supervisor.recover(taskId, { fresh: true });
  assert.ok(fresh.ok, JSON.stringify(fresh));
  return 1;
}

function wholeLines(set: Staged, taskId: string): Buffer {
  const bytes = readFileSync(join(set.tasks, taskId, "events.jsonl"));
  return bytes.subarray(0, bytes.lastIndexOf(0x0a) + 1);
}

/** The ground truth: what Claude was told and answered, and what the log says of it. */
async function checkOutside(set: Staged, taskId: string, fresh: number, over = false): Promise<void> {
  const { scene, fake } = set;
  const supervisor = openSupervisor(scene, () => ({}));
  const log = join(set.tasks, taskId, "events.jsonl");
  const verified = await verifyLog(log, taskId);
  assert.ok(verified.ok, JSON.stringify(verified));
  const replayed = await supervisor.replay(taskId);
  assert.ok(replayed.ok && replayed.matches, JSON.stringify(replayed));
  const events: StoredEvent[] = [];
  const history = await supervisor.history(taskId, (event) => events.push(event));
  assert.ok(history.ok && history.damage === null);
  assert.equal(history.view.state, END[scene.wish]);
  /* A task that had ended is nobody's to mend: a torn last word of its owner stays as it is. */
  if (!over) assert.equal(verified.torn, 0);
  assert.deepEqual(
    events.map((event) => event.seq),
    events.map((_, index) => index + 1),
  );
  if (scene.transport === "process-pipe") return checkPipe(set);

  assert.deepEqual(fake.factsOf("overlap"), [], "never two processes in one session");
  const prompts = fake.factsOf("prompt");
  assertDistinct(prompts.map((prompt) => prompt.promptId));
  const once = prompts.filter((prompt) => prompt.text !== GO_ON);
  assertDistinct(once.map((prompt) => `${prompt.sessionId} ${prompt.text}`));
  const sessions = new Set(prompts.map((prompt) => prompt.sessionId));
  for (const sessionId of sessions) {
    const [first] = prompts.filter((prompt) => prompt.sessionId === sessionId);
    assert.equal(first?.text, GOAL, "a session begins with the goal");
  }
  assert.ok(sessions.size <= 1 + fresh);

  const said = prompts.filter((prompt) => prompt.text === MESSAGE).length;
  const diary = readDiary(scene);
  const told = diary.some((entry) => entry.said === "told" && entry.reason === "message-doubtful");
  checkWheel(diary);
  const accepted = diary.some((entry) => entry.said === "sent" && entry.ok);
  assert.ok(said <= 1, "the person's message at most once");
  if (accepted) assert.ok(said === 1 || told, "an accepted message arrives, or the person is told of the doubt");

  const replies = fake.factsOf("stdin").flatMap(({ line }) => {
    const message = JSON.parse(line) as { type: string; response?: { request_id: string } };
    return message.type === "control_response" ? [message.response?.request_id] : [];
  });
  assertDistinct(replies);
  for (const call of fake.factsOf("answered")) {
    assert.equal(call.said, call.name === "harm" ? "deny" : "allow");
    checkGate(events, call.toolUseId, call.said);
  }
}

/** From the moment that a person has the wheel until they give it back Claude is told nothing, whoever dies meanwhile. */
function checkWheel(diary: readonly Entry[]): void {
  let held: number | null = null;
  for (const entry of diary) {
    if (entry.said === "taken") held = entry.prompts;
    if (entry.said !== "giving-back") continue;
    if (held !== null) assert.equal(entry.prompts, held, "nothing was sent while a person had the wheel");
    held = entry.prompts;
  }
}

/** What ran had its verdict in the log, and where the policy wanted a person, their word. */
function checkGate(events: readonly StoredEvent[], toolUseId: string, said: string): void {
  const ofType = (type: string) => events.filter((event) => event.type === type).map((event) => fields(event));
  const verdict = ofType("gate.verdict").find((data) => data["toolUseId"] === toolUseId);
  assert.ok(verdict, `${toolUseId} was ${said} and the log does not know it`);
  const requestId = verdict["requestId"];
  const answers = ofType("request.answered").filter(
    (data) => requestId !== undefined && data["requestId"] === requestId,
  );
  assert.deepEqual(
    answers.map((data) => data["decision"]),
    said === "allow" ? ["approve"] : [],
  );
}

function fields(event: StoredEvent): Record<string, unknown> {
  return event.data as Record<string, unknown>;
}

function checkPipe(set: Staged): void {
  const heard = set.fake
    .factsOf("note")
    .flatMap((note) => ("said" in note ? [note["said"]] : []))
    /* One that was killed before its goal reached it read nothing. */
    .filter((text) => text !== "");
  assert.ok(heard.length <= 1, `the goal was given ${heard.length} times`);
  assert.ok(heard.every((text) => text === GOAL));
}

function assertDistinct(list: readonly unknown[]): void {
  assert.deepEqual(list, [...new Set(list)]);
}

async function noneLeft(set: Staged): Promise<void> {
  await assertNoneLeft(set.lab.mark, GONE_MS);
  const guardians = taskIds(set).flatMap((taskId) => guardiansOf(set, taskId));
  const left = () => guardians.filter(({ pid, startTicks }) => isAlive(pid, startTicks));
  await until(
    () => left().length === 0,
    GONE_MS,
    () => `guardians to leave: ${JSON.stringify(left())}`,
  );
}

interface Identity {
  pid: number;
  startTicks: string;
}

/** Guardian and leader of each worker, as the log names them: the guardian carries no mark. */
function guardiansOf(set: Staged, taskId: string): Identity[] {
  const events = wholeLines(set, taskId).toString("utf8").split("\n").slice(0, -1);
  return events.flatMap((line) => {
    const event = JSON.parse(line) as StoredEvent;
    if (event.type !== "worker.spawned") return [];
    const { leader, guardian } = fields(event)["containment"] as { leader: Identity; guardian?: Identity };
    return guardian ? [leader, guardian] : [leader];
  });
}

/** For a failure: what is on disk and what the fake saw. */
function describe(set: Staged): string {
  const [taskId] = taskIds(set);
  const log = taskId === undefined ? "" : readFileSync(join(set.tasks, taskId, "events.jsonl"), "utf8");
  const lines = log.split("\n").map((line) => line.slice(0, 260));
  const facts = set.fake.facts().filter(({ fact }) => fact !== "stdin");
  return [
    ...lines,
    ...facts.map((fact) => JSON.stringify(fact).slice(0, 260)),
    ...readDiary(set.scene).map((entry) => JSON.stringify(entry)),
  ].join("\n");
}

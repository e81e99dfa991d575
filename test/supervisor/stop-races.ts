/**
 * An emergency stop against what goes on in five tasks at once: a completion, a message, an approval, a verification, a
 * takeover. Shared by the short test and the long proof. What counts is what the workers saw and what the logs say.
 */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { readRecordFile } from "../../src/control/files.ts";
import { type ControlFolder, openControlFolder } from "../../src/control/folder.ts";
import type { Actor } from "../../src/control/record.ts";
import { requestStop } from "../../src/control/request.ts";
import { resume } from "../../src/control/resume.ts";
import { ALL } from "../../src/control/set-latch.ts";
import type { StoredEvent } from "../../src/core/events.ts";
import type { Result } from "../../src/core/result.ts";
import { assertNoneLeft } from "../support/processes.ts";
import { logProblems } from "../support/task.ts";
import { until } from "../support/until.ts";
import { createLab, type Lab, writeTree } from "../support/workspace.ts";
import { openStage, type Stage } from "./stage.ts";

export const KINDS = ["completion", "send", "approval", "verification", "takeover"] as const;
type Kind = (typeof KINDS)[number];

const ACTOR: Actor = { uid: process.getuid?.() ?? 0, kind: "person", tty: true, host: "test" };
/** On a busy machine an answer takes its time, which is no silence. */
const PATIENT = { redact: (text: string) => text, ackMs: 30_000, waitMs: 60_000 };
/** A new state folder after so many rounds: what is kept of old tasks is not what is looked at here. */
const ROUNDS_A_FOLDER = 8;

/** What a task does that the stop comes into; the stop waits for one of these, or for a moment after the acts began. */
const MOMENTS: Record<Kind, readonly string[]> = {
  completion: ["turn.result", "verify.started", "verify.finished", "task.completed"],
  send: ["prompt.queued", "prompt.intent", "prompt.written", "turn.result"],
  approval: ["request.answered", "request.replied", "turn.result"],
  verification: ["verify.requested", "verify.started", "verify.finished", "task.completed"],
  takeover: ["takeover.requested", "worker.ending", "worker.exited", "worker.swept"],
};

/** Milliseconds: how long a stop waits for a moment that may never come, and the span in which acts and stops begin. */
const NEVER_MS = 10_000;
const SPAN_MS = 200;

interface Runner {
  kind: Kind;
  name: string;
  taskId: string;
  /** The file at which the worker ends its turn. */
  go: string;
  /** What it was told, and what came of it. */
  said?: string;
  answer?: Result<object>;
}

export interface Tally {
  /** Stops that came into a task which had not ended yet, and tasks that ended before theirs. */
  stopped: number;
  completed: number;
  acts: Map<string, number>;
}

export async function race(t: TestContext, options: { rounds: number; seed: number }): Promise<Tally> {
  t.diagnostic(`seed ${options.seed}`);
  const tally: Tally = { stopped: 0, completed: 0, acts: new Map() };
  const folders = Array.from({ length: Math.ceil(options.rounds / ROUNDS_A_FOLDER) }, (_, index) => index);
  /* Two at a time: while one waits for its moment the other has the machine. */
  const next = async (): Promise<void> => {
    for (let folder = folders.shift(); folder !== undefined; folder = folders.shift()) {
      const first = folder * ROUNDS_A_FOLDER;
      const last = Math.min(first + ROUNDS_A_FOLDER, options.rounds);
      await inOneFolder(t, first, last, randoms(options.seed + folder), tally);
    }
  };
  await Promise.all([next(), next()]);
  const acts = [...tally.acts].map(([what, count]) => `${count} × ${what}`).join(", ");
  t.diagnostic(`${tally.stopped} stopped, ${tally.completed} completed before; ${acts}`);
  return tally;
}

async function inOneFolder(
  t: TestContext,
  first: number,
  last: number,
  random: () => number,
  tally: Tally,
): Promise<void> {
  const lab = await createLab();
  try {
    /* Plain folders: git is not what races here, and it would take most of the time. */
    const cwds = KINDS.map((kind) => join(lab.root, kind));
    for (const cwd of cwds) await writeTree(cwd, { "a.txt": "x\n" });
    const stage = await openStage(t, { lab, cwd: lab.root, scenario: "errands" });
    for (let round = first; round < last; round += 1) await oneRound(stage, cwds, `r${round}`, random, tally);
    await stage.supervisor.shutdown(1_000);
    await assertNoneLeft(lab.mark, 10_000);
  } finally {
    await lab.cleanup();
  }
}

async function oneRound(
  stage: Stage,
  cwds: readonly string[],
  round: string,
  random: () => number,
  tally: Tally,
): Promise<void> {
  const { supervisor } = stage;
  const folder = folderOf(stage);
  const runners = await Promise.all(
    KINDS.map(async (kind, index): Promise<Runner> => {
      const name = `${round} ${kind} `;
      const go = join(stage.lab.tmp, `go-${round}`);
      const taskId = await begin(stage, kind, name, go, cwds[index] ?? "");
      return { kind, name, taskId, go };
    }),
  );
  const moment = pick(random, [undefined, ...KINDS, "completion", "verification"] as const);
  const fired = moment === undefined ? delay(random() * SPAN_MS) : happens(stage, runners, moment, random);
  const stopping = fired.then(() => stop(folder, random));
  await Promise.all(
    runners.map(async (runner) => {
      await delay(random() * (SPAN_MS / 4));
      await act(stage, runner);
    }),
  );
  const report = await stopping;
  assert.equal(report.exitCode, 0, JSON.stringify(report));
  await until(() => supervisor.live().length === 0, 60_000, "every task to be let go of");
  for (const runner of runners) {
    const outcome = runner.answer?.ok === true ? "done" : ((runner.answer as { reason?: string })?.reason ?? "?");
    const what = `${runner.kind} ${outcome}`;
    tally.acts.set(what, (tally.acts.get(what) ?? 0) + 1);
    await check(stage, folder, runner, report.epoch, tally);
  }
  const lifted = await resume(folder, { scope: ALL, epoch: report.epoch, reason: "t", actor: ACTOR, requestId: round });
  assert.ok(lifted.ok, JSON.stringify(lifted));
  assert.equal(supervisor.live().length, 0, "nothing begins by itself");
}

/** A task that stands where its act can come: a result, a question, a turn. */
async function begin(stage: Stage, kind: Kind, name: string, go: string, from: string): Promise<string> {
  const goals: Record<Kind, string> = {
    completion: `wait:${go}`,
    send: "end",
    approval: "ask for it",
    verification: "end",
    takeover: "stay at it",
  };
  const mode = kind === "completion" ? "auto" : "manual";
  const taskId = await stage.start({ goal: `${name}${goals[kind]}`, from, mode });
  await stage.when(
    taskId,
    (view) =>
      kind === "approval"
        ? view.waitsFor === "approval"
        : kind === "takeover" || kind === "completion"
          ? told(stage).some((text) => text.includes(name))
          : view.waitsFor === "result",
    `the beginning of ${name}`,
    60_000,
  );
  return taskId;
}

async function act(stage: Stage, runner: Runner): Promise<void> {
  const { supervisor } = stage;
  const { kind, name, taskId } = runner;
  switch (kind) {
    case "completion":
      writeFileSync(runner.go, "");
      runner.answer = { ok: true };
      return;
    case "send":
      runner.said = `${name}and more`;
      runner.answer = await supervisor.send(taskId, runner.said);
      return;
    case "approval": {
      const request = (await stage.view(taskId)).requests[0];
      runner.answer = await supervisor.approve(request?.requestId ?? "", undefined, "command");
      return;
    }
    case "verification":
      runner.answer = await supervisor.verify(taskId);
      return;
    default:
      runner.answer = await supervisor.takeover(taskId);
  }
}

/** When one of the moments of a kind comes, a few turns of the loop later; where none comes, a while after. */
async function happens(stage: Stage, runners: readonly Runner[], kind: Kind, random: () => number): Promise<void> {
  const type = pick(random, MOMENTS[kind]);
  const runner = runners.find((one) => one.kind === kind);
  const turns = Math.floor(random() * 6);
  await new Promise<void>((resolve) => {
    const cancel = setTimeout(resolve, NEVER_MS);
    const leave = stage.supervisor.subscribe(({ event, taskId }) => {
      if (taskId !== runner?.taskId || event.type !== type) return;
      leave();
      clearTimeout(cancel);
      resolve();
    });
  });
  for (let turn = 0; turn < turns; turn += 1) await new Promise<void>((resolve) => setImmediate(resolve));
}

async function stop(folder: ControlFolder, random: () => number) {
  const how = pick(random, ["now", "now", "now", "after-call"] as const);
  const requestId = `race-${Math.floor(random() * 2 ** 40).toString(36)}`;
  const outcome = await requestStop(
    folder,
    { verb: "stop", scope: ALL, how, reason: "a race", cause: "operator", actor: ACTOR, requestId },
    PATIENT,
  );
  assert.ok(outcome.ok, JSON.stringify(outcome));
  return outcome.report;
}

/** After the acknowledgement nothing was completed, sent, approved or given away; and what was refused did not happen. */
async function check(stage: Stage, folder: ControlFolder, runner: Runner, epoch: number, tally: Tally): Promise<void> {
  const { taskId, kind, name } = runner;
  const events = await stage.events(taskId);
  const where = `${name}${JSON.stringify(events.map((event) => event.type))}`;
  /* What came late is noted in the log, marked, and moves nothing: the state below shows it. */
  const isLate = ({ data }: (typeof events)[number]): boolean => (data as { late?: boolean }).late === true;
  const at = (type: string): number => events.findIndex((event) => event.type === type && !isLate(event));
  const asked = at("estop.requested");
  const { state } = await stage.view(taskId);
  const reading = readRecordFile(folder, taskId);
  if (asked < 0) {
    tally.completed += 1;
    assert.equal(state, "completed", where);
  } else {
    if (at("task.completed") < 0) tally.stopped += 1;
    else tally.completed += 1;
    assert.equal((events[asked]?.data as { epoch: number } | undefined)?.epoch, epoch, where);
    const before = at("task.completed");
    assert.ok(before < asked, `completed after the stop: ${where}`);
    assert.equal(state, before >= 0 ? "completed" : "stopped", where);
    for (const type of ["prompt.intent", "worker.spawning", "takeover.requested", "verify.started", "task.recovering"])
      assert.ok(lastOf(events, type) < asked, `${type} after the stop: ${where}`);
    assert.ok(reading.state === "read" && reading.value.remaining.length === 0, where);
    assert.ok(reading.state === "read" && reading.value.state === "stopped", where);
  }
  const intents = events.flatMap((event) =>
    event.type === "prompt.intent" ? [(event.data as { text: string }).text] : [],
  );
  const heard = told(stage).filter((text) => text.includes(name));
  for (const text of heard) {
    assert.ok(
      intents.some((intent) => intent === text),
      `"${text}" was told without an intent: ${where}`,
    );
  }
  assert.equal(new Set(heard).size, heard.length, `told twice: ${where}`);
  if (runner.said !== undefined && runner.answer?.ok === false)
    assert.ok(!heard.includes(runner.said), `refused, and told all the same: ${where}`);
  if (kind === "approval") {
    const answers = stage.fake
      .facts()
      .flatMap((fact) => (fact.fact === "note" && String(fact["answered"]).includes(name) ? [fact["said"]] : []));
    const approved = at("request.answered");
    if (answers.includes("allow")) assert.ok(approved >= 0 && (asked < 0 || approved < asked), where);
    if (runner.answer?.ok === false)
      assert.ok(!answers.includes("allow"), `refused, and allowed all the same: ${where}`);
  }
  if (kind === "takeover" && runner.answer?.ok === true) assert.ok(at("takeover.requested") >= 0, where);
  assert.deepEqual(await logProblems(stage.lab.stateDir, taskId), [], where);
}

function told(stage: Stage): string[] {
  return stage.fake.factsOf("prompt").map((fact) => fact.text);
}

function lastOf(events: readonly StoredEvent[], type: string): number {
  return events.findLastIndex((event) => event.type === type);
}

function folderOf({ lab }: { lab: Lab }): ControlFolder {
  const opened = openControlFolder({ env: { PI_CLAUDE_SUPERVISOR_STATE_DIR: lab.stateDir } });
  if (!opened.ok) throw new Error(opened.message);
  return opened.folder;
}

function pick<T>(random: () => number, from: readonly T[]): T {
  return from[Math.floor(random() * from.length)] as T;
}

function delay(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** mulberry32: the same seed, the same choices. */
function randoms(start: number): () => number {
  let state = start >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

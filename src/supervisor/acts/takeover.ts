/** Takeover and handback: a person drives the worker's session themselves, and gives it back. */
import type { EventDraft } from "../../core/events.ts";
import { foldOne } from "../../core/fold.ts";
import { refusal } from "../../core/machine/admit.ts";
import { isTerminal, type StateName, stateName } from "../../core/machine/project.ts";
import type { TaskState } from "../../core/machine/state.ts";
import { handbackPrompt } from "../../core/prompts.ts";
import { type Failure, failure, type Result } from "../../core/result.ts";
import { processNaming } from "../../platform/process/index.ts";
import { turnsSince } from "../../worker/index.ts";
import type { TakenOver } from "../api.ts";
import type { Driver } from "../driver.ts";
import { type Claim, logFull, notOwned, type Scope, stayingDriver } from "../scope.ts";
import { ownProcesses } from "./own-processes.ts";
import { personsEnvironment, resumeCommand, resumeLaunch } from "./resume-command.ts";

/** How long an answer waits for the worker's end or start (ms); commands answer within 15 s. */
const WAIT_MS = 13_000;

export interface HandedBack {
  state: StateName;
  /** Messages that the session got meanwhile; null where nobody could count them. */
  turns: number | null;
}

/**
 * Answers when the worker is gone and its session free; then nothing is sent before `handBackTask`, whoever crashes. On a
 * task that is taken over already it answers the same again. Reasons: `busy`, `starting` (ask again soon), `live`,
 * `session-busy`, `no-capability`, `completed`, `ended`, `stopping`, `remaining`, those of a claim.
 */
export function takeOverTask(scope: Scope, taskId: string): Promise<Result<TakenOver>> {
  return withDriver(scope, taskId, "takeover", (driver, claim) => takeOver(scope, driver, claim));
}

async function takeOver(scope: Scope, driver: Driver, claim: Claim[]): Promise<Result<TakenOver>> {
  const { taskId, sessionId } = driver.state;
  const refused = refusal(asClaimed(driver.state, claim), "takeover");
  if (refused) return refused;
  const taken = driver.state.control.kind === "taken-over";
  const busy = taken && sessionId !== null ? sessionBusy(driver.state, sessionId) : null;
  if (busy) return busy;
  const asked: EventDraft[] = taken
    ? []
    : [{ type: "takeover.requested", data: { by: "person", sessionId: sessionId ?? "" } }];
  if (claim.length + asked.length > 0 && driver.record(...claim, ...asked) !== "written") return logFull();
  await driver.until(
    ({ control, stop, ended }) => control.kind === "taken-over" || stop.kind !== "none" || ended.kind !== "no",
    AbortSignal.timeout(WAIT_MS),
  );
  await driver.stored();
  const { state } = driver;
  const name = stateName(state);
  if (state.control.kind === "taken-over") {
    const lent = await driver.taskStop?.lend(sessionOf(state));
    if (lent?.ok === false) return lent;
    const launch = resumeLaunch(scope.deps, state);
    return { ok: true, state: name, resumeCommand: resumeCommand(launch), launch };
  }
  if (name !== "taken_over") return failure("stopping", `Task ${taskId} is ${name.replaceAll("_", " ")} meanwhile.`);
  return failure(
    "busy",
    `Automation of task ${taskId} is off, but its worker is still ending; ask again in a moment with \`/supervise takeover ${taskId}\`.`,
  );
}

/**
 * Goes on with the session after a person had it. Reasons: `session-busy`, `not-taken-over`, `busy`, `fault`, `live`, those
 * of a claim and of a start that failed.
 */
export async function handBackTask(
  scope: Scope,
  taskId: string,
  note: string | undefined,
): Promise<Result<HandedBack>> {
  return withDriver(scope, taskId, "handback", (driver, claim) => handBack(scope, driver, claim, note));
}

async function handBack(
  scope: Scope,
  driver: Driver,
  claim: Claim[],
  note: string | undefined,
): Promise<Result<HandedBack>> {
  const { taskId, spec, control } = driver.state;
  const refused = refusal(asClaimed(driver.state, claim), "handback");
  if (refused) return refused;
  if (!driver.holdsFolder)
    return failure("cwd-busy", `The folder of task ${taskId} is in use by another task; stop that one first.`);
  if (!spec || !("since" in control)) return failure("log-damaged", `The log of task ${taskId} lacks its creation.`);
  const sessionId = driver.state.sessionId ?? spec.sessionId;
  const busy = sessionBusy(driver.state, sessionId);
  if (busy) return busy;
  const env = personsEnvironment(scope.deps.env, spec.workerEnvNames);
  const turns = await turnsSince({ sessionId, env }, Date.parse(control.since));
  /* The world may have moved on while the session's file was read. */
  const again = refusal(asClaimed(driver.state, claim), "handback") ?? sessionBusy(driver.state, sessionId);
  if (again) return again;

  const promptId = scope.deps.ids.uuid();
  const said = note?.trim() ?? "";
  const stored = driver.redactor.text(said);
  driver.raw.keepText(promptId, handbackPrompt(said === "" ? null : said));
  const handback = {
    promptId,
    redacted: stored !== said,
    ...(said === "" ? {} : { note: stored }),
    ...(turns === undefined ? {} : { turns }),
  };
  const before = driver.state.seq;
  const recovering: EventDraft = { type: "task.recovering", data: { fresh: false, resume: true, sessionId, handback } };
  if (driver.record(...claim, recovering) !== "written") return logFull();
  await driver.until(
    ({ seq, worker, stop, ended, hold }) =>
      seq > before &&
      (worker.kind === "live" ||
        stop.kind !== "none" ||
        ended.kind !== "no" ||
        (hold !== null && worker.kind === "none")),
    AbortSignal.timeout(WAIT_MS),
  );
  await driver.taskStop?.giveBack(sessionId);
  await driver.stored();
  return handedBack(driver.state, turns ?? null);
}

function sessionOf({ sessionId, spec }: TaskState): string {
  return sessionId ?? spec?.sessionId ?? "";
}

/** A worker that takes longer to start is no failure: the handback itself is on the disk. */
function handedBack(state: TaskState, turns: number | null): Result<HandedBack> {
  const { ended, hold, stop, worker, taskId } = state;
  if (ended.kind === "failed") return failure(ended.reason, ended.message);
  if (stop.kind !== "none") return failure("stopping", `Task ${taskId} was stopped meanwhile.`);
  if (hold && worker.kind !== "live") return failure(hold.reason, hold.message);
  return { ok: true, state: stateName(state), turns };
}

/** The driver of a task, this process's own or one whose owner is gone. What was refused leaves the task as it was. */
async function withDriver<T extends object>(
  scope: Scope,
  taskId: string,
  why: "takeover" | "handback",
  act: (driver: Driver, claim: Claim[]) => Promise<Result<T>>,
): Promise<Result<T>> {
  const staying = await stayingDriver(scope, taskId);
  if (!staying.ok) return staying;
  if (staying.driver) return act(staying.driver, []);
  const view = await scope.look(taskId);
  if (!view.ok) return view;
  const { state, owner } = view.task;
  if (owner?.alive || isTerminal(state)) return notOwned(view.task);
  if (why === "handback") {
    if (state !== "taken_over")
      return failure(
        "not-taken-over",
        `Nobody has taken task ${taskId} over; \`/supervise recover ${taskId}\` goes on with it.`,
      );
  }
  const claimed = await scope.claim(taskId, why);
  if (!claimed.ok) return claimed;
  const { driver, claim } = claimed;
  const before = driver.state.seq;
  const answer = await act(driver, [claim]);
  if (!answer.ok && driver.state.seq === before) await driver.release("failed");
  return answer;
}

/** The state as it will be once the claim is recorded: nothing of the old owner's process is under way any more. */
function asClaimed(state: TaskState, claim: Claim[]): TaskState {
  return claim.reduce((next, { type, data }) => {
    const { taskId, seq, at, mono } = next;
    return foldOne(next, { v: 1, seq: seq + 1, taskId, workerId: null, at, mono, type, data, prev: "" });
  }, state);
}

/** Two Claudes in one session would write over each other's turns. */
function sessionBusy(state: TaskState, sessionId: string): Failure | null {
  const { taskId } = state;
  const own = ownProcesses(state);
  const found = processNaming(sessionId, own);
  if (!found) return null;
  return failure(
    "session-busy",
    `The Claude session of task ${taskId} is still open in process ${found.pid} (${found.command}); leave that one first, then ask again.`,
  );
}

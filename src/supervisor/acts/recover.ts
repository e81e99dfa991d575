/** Recover and resume: go on with a task whose worker is gone, in its session; in a new one only when asked for. */

import type { EventDraft } from "../../core/events.ts";
import { refusal } from "../../core/machine/admit.ts";
import { wallLeft } from "../../core/machine/budgets.ts";
import { hasProcess, isTakenOver } from "../../core/machine/control.ts";
import { hasLostItsPipe } from "../../core/machine/hold.ts";
import { type StateName, stateName } from "../../core/machine/project.ts";
import type { TaskState } from "../../core/machine/state.ts";
import { type Failure, failure, type Result } from "../../core/result.ts";
import { readNoFollow } from "../../platform/no-follow.ts";
import { processesInSession } from "../../platform/process/index.ts";
import type { Driver } from "../driver.ts";
import { faultReportPath } from "../fault.ts";
import { logFull, notOwned, type Scope, stayingDriver } from "../scope.ts";
import { readSnapshot } from "../stored-task.ts";
import { ownProcesses } from "./own-processes.ts";

/** How long the answer waits for the new worker's handshake (ms); `recover` answers within 20 s. */
const WAIT_MS = 19_000;
const MAX_REPORT_BYTES = 64 * 1024;

export interface RecoverOptions {
  fresh: boolean;
  fault?: string;
  /** Added to the task's wall clock (ms). */
  extendMs?: number;
}

/**
 * Answers after the handshake. Reasons: `live`, `completed`, `remaining`, `stopping`, `fault`, `no-fault`, `fault-report` (which was not shown before), `cwd-busy`,
 * `log-damaged`, `no-session`, `session-busy` (a person's Claude is open in it), `goal-redacted`, `claude-changed`, and why the worker did not start.
 */
export async function recoverTask(
  scope: Scope,
  taskId: string,
  options: RecoverOptions,
): Promise<Result<{ state: StateName }>> {
  const staying = await stayingDriver(scope, taskId);
  if (!staying.ok) return staying;
  const { driver: owned } = staying;
  if (owned && !owned.holdsFolder)
    return failure("cwd-busy", `The folder of task ${taskId} is in use by another task; stop that one first.`);
  if (owned) return goOn(scope, owned, options, []);
  const view = await scope.look(taskId);
  if (!view.ok) return view;
  const { state, owner } = view.task;
  if (owner?.alive) return { ...notOwned(view.task), reason: "live" };
  if (state === "failed_to_stop" || (state === "completed" && !isRecordStale(scope, taskId)))
    return notOwned(view.task);
  if (state === "taken_over" && options.fault === undefined) return notOwned(view.task);
  const claimed = await scope.claim(taskId, "recover");
  if (!claimed.ok) return claimed;
  const { driver, claim } = claimed;
  const before = driver.state.seq;
  const answer = await goOn(scope, driver, options, [claim]);
  /* Refused before the claim was recorded: the task is as it was, and nobody's. */
  if (!answer.ok && driver.state.seq === before) await driver.release("failed");
  return answer;
}

/** An ended task whose owner died before its record said so is claimed once more, which brings the record up to date. */
function isRecordStale(scope: Scope, taskId: string): boolean {
  const read = readSnapshot(scope.deps.layout, taskId);
  return !read.ok || read.record.state !== "completed";
}

async function goOn(
  scope: Scope,
  driver: Driver,
  options: RecoverOptions,
  claim: EventDraft[],
): Promise<Result<{ state: StateName }>> {
  const { state } = driver;
  const { taskId, spec, hold } = state;
  const cleared: EventDraft[] = [];
  if (options.fault !== undefined) {
    if (hold?.fault !== true || hold.reason !== options.fault) {
      return failure(
        "no-fault",
        `Task ${taskId} has no fault "${options.fault.slice(0, 60)}"${hold?.fault ? `; its fault is ${hold.reason}` : ""}.`,
      );
    }
    const shown = `${taskId}:${hold.reason}`;
    if (!scope.faultsShown.delete(shown)) {
      scope.faultsShown.add(shown);
      return failure("fault-report", reportToRead(driver, options.fault));
    }
    cleared.push({ type: "fault.cleared", data: { fault: options.fault } });
  }
  if (isTakenOver(state) && cleared.length > 0) {
    if (driver.record(...claim, ...cleared) !== "written") return logFull();
    await driver.stored();
    return { ok: true, state: stateName(driver.state) };
  }
  const refused = refusal(cleared.length > 0 ? { ...state, hold: null } : state, "recover");
  if (refused) {
    /* The task can't go on by itself, but from here its person can have it verified or stopped. */
    if (refused.reason === "no-capability" && hasLostItsPipe(state)) driver.record(...claim);
    return refused;
  }
  if (state.control.kind === "supervised" && hasProcess(state) && claim.length === 0) return live(taskId);
  if (!spec) return failure("log-damaged", `The log of task ${taskId} does not begin with its creation.`);
  if (wallLeft(state) + (options.extendMs ?? 0) <= 0) {
    return failure(
      "no-time",
      `Task ${taskId} has used up its time; give it more with \`/supervise recover ${taskId} --extend 2h\`.`,
    );
  }
  if (state.prompts.quarantined && !options.fresh) {
    return failure(
      "quarantined",
      `The Claude session of task ${taskId} came back empty or broken; only \`/supervise recover ${taskId} --fresh\` goes on, in a new one.`,
    );
  }
  const fresh = options.fresh && state.prompts.goalGiven;
  if ((fresh || !state.prompts.goalGiven) && spec.goalRedacted && driver.raw.text("goal") === undefined) {
    return failure(
      "goal-redacted",
      `The goal of task ${taskId} held a secret, so only its redacted form was kept; start a new task with it.`,
    );
  }
  const sessionId = fresh ? scope.deps.ids.uuid() : (state.sessionId ?? spec.sessionId);
  const own = ownProcesses(state);
  const other = processesInSession(sessionId)?.find(({ pid }) => !own.has(pid));
  if (other !== undefined) {
    return failure(
      "session-busy",
      `The Claude session of task ${taskId} is still open in process ${other.pid}; leave that one first, then ask again.`,
    );
  }
  const extend = options.extendMs === undefined ? {} : { extendMs: options.extendMs };
  const recovering: EventDraft = {
    type: "task.recovering",
    data: { fresh, resume: state.prompts.goalGiven && !fresh, sessionId, ...extend },
  };
  const before = driver.state.seq;
  if (driver.record(...claim, ...cleared, recovering) !== "written") return logFull();
  await driver.until((now) => now.seq > before && hasArrived(now), AbortSignal.timeout(WAIT_MS));
  return outcome(driver, options);
}

/** Nobody clears a fault unread: without a look at `status` or `report` before, this is the look. */
function reportToRead(driver: Driver, fault: string): string {
  const path = faultReportPath(driver.task.paths, fault);
  const read = readNoFollow(path, { maxBytes: MAX_REPORT_BYTES });
  const text = read.ok ? read.bytes.toString("utf8") : `${driver.state.hold?.message ?? ""}\n`;
  return `${text}\nThis is what stands in ${path}. Give the same command again to clear the fault and go on.`;
}

/** The new worker is there, or it is clear that it will not be. */
function hasArrived({ worker, ended, stop, hold }: TaskState): boolean {
  const refused = hold !== null && (worker.kind === "none" || worker.kind === "gone");
  return worker.kind === "live" || ended.kind !== "no" || stop.kind !== "none" || refused;
}

function outcome(driver: Driver, options: RecoverOptions): Result<{ state: StateName }> {
  const { state } = driver;
  const { taskId, ended, hold } = state;
  if (state.worker.kind === "live") return { ok: true, state: stateName(state) };
  if (ended.kind === "failed") {
    const fresh =
      ended.reason === "no-session" && !options.fresh
        ? ` \`/supervise recover ${taskId} --fresh\` starts a new session with the goal.`
        : "";
    return failure(ended.reason, ended.message + fresh);
  }
  if (hold) return failure(hold.reason, hold.message);
  if (state.stop.kind !== "none") return failure("stopping", `Task ${taskId} was stopped meanwhile.`);
  return failure(
    "starting",
    `The worker of task ${taskId} is still starting; \`/supervise status ${taskId}\` shows it.`,
  );
}

function live(taskId: string): Failure {
  return failure(
    "live",
    `Task ${taskId} has its worker; there is nothing to recover. \`/supervise status ${taskId}\` shows what it waits for.`,
  );
}

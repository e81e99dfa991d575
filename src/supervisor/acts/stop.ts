/** Stop, kill and pause. */
import { isTerminal, type StateName, stateName } from "../../core/machine/project.ts";
import { failure, type Result } from "../../core/result.ts";
import type { StopFailure } from "../api.ts";
import type { Driver } from "../driver.ts";
import { logFull, type Scope } from "../scope.ts";
import { requestStop } from "../stop-request.ts";
import { stopCommand } from "../view.ts";

/** How long an answer waits for the proof (ms); the stop itself goes on after it. */
const WAIT_MS = 9_000;
const LOOK_MS = 100;
const LET_GO_MS = 1_000;
/** How long a pause lets Claude confirm that it keeps the call that waits (ms). */
const PAUSE_DEFERRAL_MS = 3_000;

type StopAnswer = Result<{ state: StateName }> | StopFailure;

/** `stopped` only with proof. On an ended task nothing changes and its state is the answer. */
export async function stopTask(
  scope: Scope,
  taskId: string,
  kind: "graceful" | "now",
  reason: string,
): Promise<StopAnswer> {
  const owned = await scope.driver(taskId);
  if (owned) return stopDriver(owned, kind, reason);
  const view = await scope.look(taskId);
  if (!view.ok) return view;
  const { state, owner } = view.task;
  if (isTerminal(state) && state !== "failed_to_stop") return { ok: true, state };
  if (owner?.alive) return stopElsewhere(scope, taskId, kind, reason);
  const claimed = await scope.claim(taskId, "stop");
  /* Somebody became its owner this very moment. */
  if (!claimed.ok && claimed.reason === "live") return stopElsewhere(scope, taskId, kind, reason);
  if (!claimed.ok) return claimed;
  claimed.driver.record(claimed.claim);
  return stopDriver(claimed.driver, kind, reason);
}

/** Asks the Pi that drives the task, and waits for what its record says. */
async function stopElsewhere(
  scope: Scope,
  taskId: string,
  kind: "graceful" | "now",
  reason: string,
): Promise<StopAnswer> {
  const { clock, layout } = scope.deps;
  const asked = requestStop(layout.task(taskId), { kind, reason });
  if (!asked.ok) return asked;
  const end = clock.mono() + WAIT_MS;
  for (;;) {
    await new Promise<void>((done) => clock.setTimer(LOOK_MS, done));
    const view = await scope.look(taskId);
    if (!view.ok) return view;
    const { state, owner, remaining } = view.task;
    if (state === "completed" || state === "failed" || state === "stopped") return { ok: true, state };
    if (owner?.alive !== true) return stopTask(scope, taskId, kind, reason);
    if (state === "failed_to_stop" || clock.mono() >= end) {
      const message = `Task ${taskId} is driven by process ${owner.pid}, which has not proven the stop yet; \`/supervise status ${taskId}\` shows when it has.`;
      return { ok: false, reason: "failed-to-stop", message, state, remaining };
    }
  }
}

async function stopDriver(driver: Driver, kind: "graceful" | "now", reason: string): Promise<StopAnswer> {
  const { taskId } = driver.state;
  const before = stateName(driver.state);
  if (isTerminal(before) && before !== "failed_to_stop") return { ok: true, state: before };
  driver.record({
    type: "stop.requested",
    data: { by: "person", kind, reason: driver.redactor.text(reason), end: "stopped" },
  });
  await driver.until(
    ({ stop, ended }) => stop.kind === "proven" || stop.kind === "unproven" || ended.kind !== "no",
    AbortSignal.timeout(WAIT_MS),
  );
  const { state } = driver;
  const name = stateName(state);
  if (state.stop.kind === "proven" || state.ended.kind !== "no") {
    /* A log that can't be written delays no stop, and changes nothing about what is gone. */
    await driver.stored();
    await released(driver);
    return { ok: true, state: name };
  }
  const remaining = state.stop.kind === "unproven" ? state.stop.remaining : [];
  const named = remaining.map((one) => one.detail).join("; ");
  const message =
    named === ""
      ? `Task ${taskId} is still being stopped; \`/supervise status ${taskId}\` shows when it is proven.`
      : `Task ${taskId} is not proven stopped; it may still have: ${named}. Run \`${stopCommand(taskId)}\` again.`;
  return { ok: false, reason: "failed-to-stop", message, state: name, remaining };
}

/** What is proven over is let go of within milliseconds: then its folder is free for the next task. */
function released(driver: Driver): Promise<void> {
  return new Promise((resolve) => {
    const cancel = driver.deps.clock.setTimer(LET_GO_MS, resolve);
    void driver.released.then(() => {
      cancel();
      resolve();
    });
  });
}

/** Resolves when the worker is gone and its session can be resumed. */
export async function pauseTask(scope: Scope, taskId: string, reason: string): Promise<Result<{ state: StateName }>> {
  const found = await scope.owned(taskId, "pause");
  if (!found.ok) return found;
  const { driver } = found;
  if (driver.state.control.kind === "supervised") {
    if (!driver.state.prompts.goalGiven) {
      return failure("not-started", `Task ${taskId} has no session yet that could be kept; stop it, or wait a moment.`);
    }
    const { kind } = driver.state.worker;
    if (kind === "wanted" || kind === "spawning" || kind === "handshake")
      return failure("starting", `The worker of task ${taskId} is still starting; ask again in a moment.`);
    await driver.deferRequests(PAUSE_DEFERRAL_MS);
    const asked = driver.record({
      type: "pause.requested",
      data: { by: "person", reason: driver.redactor.text(reason) },
    });
    if (asked !== "written") return logFull();
  }
  await driver.until(
    ({ control, worker, stop }) =>
      stop.kind !== "none" || (control.kind === "paused" && (worker.kind === "gone" || worker.kind === "none")),
    AbortSignal.timeout(WAIT_MS),
  );
  await driver.stored();
  const state = stateName(driver.state);
  if (driver.state.control.kind === "paused") return { ok: true, state };
  return failure(
    "pausing",
    `Task ${taskId} is still ending its worker (${state}); \`/supervise status ${taskId}\` shows when it rests.`,
  );
}

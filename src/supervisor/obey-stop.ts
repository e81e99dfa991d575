/** An order of the emergency stop, carried out in one task: events, acknowledgement, teardown, report. */
import type { StopOrder, StopResults, TaskControl } from "../control/index.ts";
import type { EventDraft } from "../core/events.ts";
import type { TaskState } from "../core/machine/state.ts";
import { systemClock } from "../platform/clock.ts";
import type { Driver } from "./driver.ts";
import { putAside } from "./put-aside.ts";

/** The machine proves or fails a teardown in less; the command ends the rest from outside after 10 s anyway (ms). */
const TEARDOWN_MS = 30_000;
/** How long a pause lets Claude confirm a call that it keeps, and then leave by itself, before it is killed (ms). */
const PAUSE_DEFERRAL_MS = 1_000;
const PAUSE_EXIT_MS = 4_000;
/** Longest time that `after-call` leaves a call; the order comes again as `now` before that (ms). */
const AFTER_CALL_MS = 120_000;

/** Fences first and synchronously; resolves when the record says how it ended. Never rejects for what it finds. */
export function bringDown(driver: Driver, task: TaskControl, order: StopOrder, isNew: boolean): Promise<void> {
  const { epoch, how } = order;
  const reason = driver.redactor.text(order.reason).slice(0, 512);
  const running = openCalls(driver.state);
  const done = verbOf(driver.state, order);
  if (isNew) driver.record({ type: "estop.requested", data: { epoch, reason, verb: done, how } });
  const act: Act = { driver, task, order, reason };
  if (done === "pause") return pause(act);
  if (how === "now") driver.record(stopRequested("now", reason));
  return stop(act, running);
}

interface Act {
  driver: Driver;
  task: TaskControl;
  order: StopOrder;
  reason: string;
}

/** A worker without a session yet, or without one that can be resumed, has nothing that a pause could keep. */
function verbOf({ worker, spec, stop, ended }: TaskState, order: StopOrder): "stop" | "pause" {
  if (order.verb === "stop" || stop.kind !== "none" || ended.kind !== "no") return order.verb;
  const isStarting = worker.kind === "wanted" || worker.kind === "spawning" || worker.kind === "handshake";
  return isStarting || spec?.transport === "process-pipe" ? "stop" : "pause";
}

function stopRequested(kind: "graceful" | "now", reason: string): EventDraft {
  return { type: "stop.requested", data: { by: "estop", kind, reason, end: "stopped" } };
}

async function stop({ driver, task, order, reason }: Act, running: ReadonlySet<string>): Promise<void> {
  await task.acknowledge(order.epoch);
  if (order.how === "after-call") {
    await callsOver(driver, running);
    driver.record(stopRequested("graceful", reason));
  }
  const isDown = ({ stop, ended }: TaskState): boolean =>
    stop.kind === "proven" || stop.kind === "unproven" || ended.kind !== "no";
  await driver.until(isDown, AbortSignal.timeout(TEARDOWN_MS));
  await report({ driver, task, order, reason });
}

async function pause({ driver, task, order, reason }: Act): Promise<void> {
  const acknowledged = task.acknowledge(order.epoch);
  if (driver.state.control.kind === "supervised") {
    await driver.deferRequests(PAUSE_DEFERRAL_MS);
    driver.record({ type: "pause.requested", data: { by: "estop", reason } });
  }
  await acknowledged;
  const isDown = ({ stop, ended, control, worker, resources }: TaskState): boolean =>
    stop.kind !== "none" ||
    ended.kind !== "no" ||
    control.kind === "taken-over" ||
    (control.kind === "paused" && resources.length === 0 && (worker.kind === "gone" || worker.kind === "none"));
  if (!(await driver.until(isDown, AbortSignal.timeout(PAUSE_EXIT_MS)))) {
    await driver.worker?.stop({ kind: "now", graceMs: 0 });
    await driver.until(isDown, AbortSignal.timeout(TEARDOWN_MS));
  }
  await report({ driver, task, order, reason });
}

async function report(act: Act): Promise<void> {
  const { driver, task, order } = act;
  const { state } = driver;
  const left = state.stop.kind === "unproven" ? state.stop.remaining : [];
  const aside = order.source === "shared-folder" ? await putAside(driver, order) : { cleanup: [], remaining: [] };
  const results: StopResults = {
    cleanup: [
      {
        resource: state.taskId,
        step: order.verb === "pause" ? "pause" : "teardown",
        outcome: left.length > 0 ? "failed" : "done",
        detail: left.length > 0 ? `${left.length} may remain` : "the supervisor ended it",
      },
      ...aside.cleanup,
    ],
    remaining: [...left, ...aside.remaining],
    title: state.spec === null ? "" : `${state.spec.cwd}: ${state.spec.goal}`,
  };
  await task.report(order.epoch, results);
}

function openCalls(state: TaskState): ReadonlySet<string> {
  return new Set(Object.entries(state.tools).flatMap(([id, tool]) => (tool.allowed ? [id] : [])));
}

/** The calls that ran when the order came are over, or there is no worker, or somebody was less patient. */
function callsOver(driver: Driver, running: ReadonlySet<string>): Promise<void> {
  const left = new Set(running);
  const isHurried = (): boolean => {
    const { stop } = driver.state;
    return stop.kind !== "requested" || stop.how === "now";
  };
  const isOver = (): boolean => left.size === 0 || driver.worker === null || isHurried();
  if (isOver()) return Promise.resolve();
  return new Promise((resolve) => {
    const done = (): void => {
      cancel();
      leave();
      resolve();
    };
    const cancel = systemClock.setTimer(AFTER_CALL_MS, done, { background: true });
    const leave = driver.listen((event) => {
      if (event.type === "tool.result") left.delete((event.data as { toolUseId: string }).toolUseId);
      if (isOver()) done();
    });
  });
}

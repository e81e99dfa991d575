/**
 * The conversation: a result is not yet the end of the work. Background tasks may be alive, and when they end Claude
 * begins another turn by itself about 70 ms later (seen on 2.1.268), so `settling` waits before it calls that idle.
 */
import type { TaskEvent } from "../events.ts";
import { serviceWait } from "./service-wait.ts";
import type { TaskState, TurnState } from "./state.ts";

/** Milliseconds of quiet after the last background task before the worker counts as idle. */
export const SETTLE_MS = 2_000;

export function turn(state: TaskState, event: TaskEvent): TaskState {
  const present = state.turn;
  const to = (next: TurnState): TaskState => ({ ...state, turn: next });
  const { mono } = event;
  switch (event.type) {
    case "worker.started": {
      /* A deferred call is asked again by itself: the turn goes on without any message (2.1.268). */
      const goesOn = Object.values(state.requests).some((request) => request.deferral === "deferred");
      return { ...to(goesOn ? { kind: "busy", promptId: null, mono } : { kind: "none" }), background: [] };
    }
    case "prompt.intent":
      return to({
        kind: "sending",
        source: event.data.source,
        promptId: event.data.promptId,
        mono,
        ...(present.kind === "sending" && present.interjected ? { interjected: true } : {}),
      });
    case "prompt.written":
      return present.kind === "sending" ? to({ kind: "busy", promptId: event.data.promptId, mono }) : state;
    case "prompt.failed":
      if (present.kind === "sending" && present.interjected)
        return to({ kind: "busy", promptId: null, mono: present.mono });
      return present.kind === "sending" ? to(state.lastResult ? { kind: "idle", mono } : { kind: "none" }) : state;
    case "worker.init":
      return isResting(present) ? to({ kind: "busy", promptId: null, mono }) : state;
    case "gate.verdict":
      return isResting(present) && event.data.agentId === undefined
        ? to({ kind: "busy", promptId: null, mono })
        : state;
    case "worker.background": {
      const next = { ...state, background: event.data.tasks };
      if (event.data.tasks.length > 0) {
        return present.kind === "idle" || present.kind === "settling"
          ? { ...next, turn: { kind: "background", mono } }
          : next;
      }
      return present.kind === "background" ? { ...next, turn: { kind: "settling", mono } } : next;
    }
    case "turn.result": {
      const wait = serviceWait(state, event);
      if (wait !== null) return to({ kind: "waiting", ...wait, mono });
      return to(state.background.length > 0 ? { kind: "background", mono } : { kind: "idle", mono });
    }
    case "worker.session-state":
      if (present.kind === "busy") return to({ ...present, saysIdle: event.data.state === "idle" });
      return event.data.state === "idle" && present.kind === "settling" ? to({ kind: "idle", mono }) : state;
    case "timer.fired": {
      const over =
        (event.data.name === "settle" && present.kind === "settling") ||
        (event.data.name === "retry" && present.kind === "waiting") ||
        (event.data.name === "quiet" && present.kind === "busy" && present.saysIdle === true) ||
        (event.data.name === "background" && present.kind === "background");
      return over ? to({ kind: "idle", mono }) : state;
    }
    case "worker.exited":
      return endsWithIt(state) ? { ...to({ kind: "none" }), background: [] } : { ...state, background: [] };
    case "task.recovering":
    case "worker.start-failed":
    case "stop.proven":
      return { ...to({ kind: "none" }), background: [] };
    default:
      return state;
  }
}

/** A worker that may leave at this point (a wait for the service, the one turn of process-pipe) takes no turn with it. */
function endsWithIt({ turn: t, worker: w }: TaskState): boolean {
  const exhausted = w.kind === "gone" && w.why === "exhausted";
  return !(t.kind === "waiting" || (t.kind === "idle" && exhausted));
}

/** A turn that begins by itself (after background work, or on resume with a deferred call) starts from here. */
function isResting(present: TurnState): boolean {
  return (
    present.kind === "idle" || present.kind === "background" || present.kind === "settling" || present.kind === "none"
  );
}

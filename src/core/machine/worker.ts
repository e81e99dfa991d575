/**
 * The worker process.
 *
 *   none → wanted → spawning → handshake → live → ending → gone
 *
 * Every step may also end in `gone`. `resources` outlives the process: it lists the containments whose absence nobody
 * has proven yet, and only a proof empties it.
 */
import { classifyResult } from "../classify.ts";
import type { TaskEvent } from "../events.ts";
import type { TaskState, WorkerState } from "./state.ts";

export function worker(state: TaskState, event: TaskEvent): TaskState {
  const present = state.worker;
  switch (event.type) {
    case "owner.claimed": {
      if (event.data.why !== "start" || !state.spec || present.kind !== "none") return state;
      return { ...state, worker: { kind: "wanted", resume: false, sessionId: state.spec.sessionId } };
    }
    case "task.recovering":
      return {
        ...state,
        worker: { kind: "wanted", resume: event.data.resume, sessionId: event.data.sessionId },
        sessionId: event.data.sessionId,
      };
    case "worker.spawning": {
      const { workerId, sessionId, resume } = event.data;
      return { ...state, worker: { kind: "spawning", workerId, sessionId, resume, mono: event.mono }, sessionId };
    }
    case "worker.spawned": {
      const resources = [event.data.containment, ...state.resources];
      if (present.kind !== "spawning") return { ...state, resources };
      const { workerId, sessionId } = present;
      const next: WorkerState = {
        kind: "handshake",
        workerId,
        sessionId,
        containment: event.data.containment,
        mono: event.mono,
      };
      return { ...state, resources, worker: next };
    }
    case "worker.started":
      if (present.kind !== "handshake") return state;
      return { ...state, worker: { ...present, kind: "live", mono: event.mono } };
    case "worker.start-failed":
      return end(state, "start-failed", event.data.reason, event.data.message);
    case "worker.ending": {
      if (present.kind !== "spawning" && present.kind !== "handshake" && present.kind !== "live") return state;
      const { workerId, sessionId } = present;
      const containment = present.kind === "spawning" ? null : present.containment;
      return {
        ...state,
        worker: { kind: "ending", workerId, sessionId, containment, why: event.data.why, mono: event.mono },
      };
    }
    case "worker.exited": {
      if (present.kind === "none" || present.kind === "wanted" || present.kind === "gone") return state;
      if (state.stop.kind !== "none") return end(state, "stop", null, null);
      if (present.kind === "ending") return end(state, present.why, null, null);
      /* Before the handshake the start itself reports why there is no worker. */
      if (present.kind === "spawning" || present.kind === "handshake") return state;
      if (state.turn.kind === "waiting") return end(state, "exhausted", null, null);
      const cause = serviceError(state);
      if (cause !== null) return end(state, "unexpected", cause.reason, cause.message);
      return end(state, "unexpected", exitCode(event.data), event.data.stderrTail ?? null);
    }
    case "worker.drift":
      return present.kind === "spawning"
        ? { ...state, worker: { kind: "none" }, driftSeen: event.data.now.sha256 }
        : state;
    case "worker.swept":
      return event.data.proven ? { ...state, resources: [] } : state;
    case "stop.proven": {
      const ended = present.kind === "none" || present.kind === "gone" ? state : end(state, "stop", null, null);
      return { ...ended, resources: [] };
    }
    default:
      return state;
  }
}

/** Claude exits with 1 after an error result: then the result is the cause, not the code (2.1.268). */
function serviceError(state: TaskState): { reason: string; message: string } | null {
  if (state.turn.kind !== "idle") return null;
  const judged = state.lastResult ? classifyResult(state.lastResult.facts) : null;
  return judged === null || judged.ok ? null : judged;
}

type GoneWhy = Extract<WorkerState, { kind: "gone" }>["why"];

function end(state: TaskState, why: GoneWhy, reason: string | null, message: string | null): TaskState {
  const workerId = "workerId" in state.worker ? state.worker.workerId : "";
  return { ...state, worker: { kind: "gone", workerId, why, reason, message } };
}

function exitCode(exit: { code: number | null; signal: string | null }): string {
  return `worker-exit ${exit.code ?? exit.signal ?? "unknown"}`;
}

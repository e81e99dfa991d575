/**
 * Who has the wheel: supervised → pausing → paused, or taking-over → taken-over. Only `task.recovering` leads back: resume
 * and recover from a pause, handback from a takeover. While the wheel is not ours nothing is sent, approved or verified.
 */
import type { TaskEvent } from "../events.ts";
import type { ControlState, TaskState } from "./state.ts";

export function control(state: TaskState, event: TaskEvent): TaskState {
  const to = (next: ControlState): TaskState => ({ ...state, control: next });
  const present = state.control;
  switch (event.type) {
    case "pause.requested":
      if (present.kind !== "supervised" || state.stop.kind !== "none" || state.ended.kind !== "no") return state;
      return to(
        hasProcess(state)
          ? leaving("pausing", event.data.reason, event.at)
          : leaving("paused", event.data.reason, event.at),
      );
    case "takeover.requested": {
      if (state.stop.kind !== "none" || state.ended.kind !== "no") return state;
      if (present.kind === "taken-over") return state;
      return to({ kind: isBare(state) ? "taken-over" : "taking-over", since: event.at });
    }
    /* Its process died with the old owner; what it left is the sweep's. */
    case "owner.claimed":
      return present.kind === "pausing" ? to({ ...present, kind: "paused" }) : state;
    case "worker.exited":
    case "worker.start-failed":
      if (present.kind === "taking-over" && state.resources.length === 0)
        return to({ kind: "taken-over", since: event.at });
      return present.kind === "pausing" ? to({ ...present, kind: "paused" }) : state;
    case "worker.swept":
      return present.kind === "taking-over" && event.data.proven && !hasProcess(state)
        ? to({ kind: "taken-over", since: event.at })
        : state;
    /* What was stopped is driven by nobody. */
    case "stop.proven":
      return isTakenOver(state) && state.stop.kind === "proven" ? to({ kind: "supervised" }) : state;
    case "task.recovering":
      if (isTakenOver(state)) return event.data.handback && !hasProcess(state) ? to({ kind: "supervised" }) : state;
      return present.kind === "paused" ? to({ kind: "supervised" }) : state;
    default:
      return state;
  }
}

function leaving(kind: "pausing" | "paused", reason: string, since: string): ControlState {
  return { kind, reason, since };
}

/** A person has the wheel or is about to get it. */
export function isTakenOver({ control: { kind } }: TaskState): boolean {
  return kind === "taking-over" || kind === "taken-over";
}

/** A worker process exists or is about to. */
export function hasProcess(state: TaskState): boolean {
  const { kind } = state.worker;
  return kind === "spawning" || kind === "handshake" || kind === "live" || kind === "ending";
}

/** No process, and nothing left of one. */
function isBare(state: TaskState): boolean {
  return !hasProcess(state) && state.resources.length === 0;
}

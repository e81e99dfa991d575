/**
 * Who has the wheel: supervised → pausing → paused, or taking_over → taken_over. Only `task.recovering` (resume, recover,
 * handback) leads back. While the wheel is not ours nothing is sent, approved or verified.
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
    case "worker.exited":
    case "worker.start-failed":
      return present.kind === "pausing" ? to({ ...present, kind: "paused" }) : state;
    case "task.recovering":
      return present.kind === "paused" || present.kind === "supervised" ? to({ kind: "supervised" }) : state;
    default:
      return state;
  }
}

function leaving(kind: "pausing" | "paused", reason: string, since: string): ControlState {
  return { kind, reason, since };
}

/** A worker process exists or is about to. */
export function hasProcess(state: TaskState): boolean {
  const { kind } = state.worker;
  return kind === "spawning" || kind === "handshake" || kind === "live" || kind === "ending";
}

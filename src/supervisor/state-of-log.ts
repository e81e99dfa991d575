import type { StoredEvent } from "../core/events.ts";
import { foldOne } from "../core/fold.ts";
import { stateName } from "../core/machine/project.ts";
import type { TaskState } from "../core/machine/state.ts";

/** Whether the driver's task stands where nothing happens without an act from outside. */
export function isSettled(state: TaskState): boolean {
  const name = stateName(state);
  return (
    name === "completed" ||
    name === "failed" ||
    name === "stopped" ||
    name === "failed_to_stop" ||
    name === "human_required"
  );
}

/** The state after these stored events, from a given one on. */
export function advance(state: TaskState, events: readonly StoredEvent[]): TaskState {
  return events.reduce(foldOne, state);
}

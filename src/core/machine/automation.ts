/**
 * A person's own switch (`automation` in `supervisor.json`): off, and an automatic task sends, verifies and decides nothing
 * by itself, at once and until it is on again. It is no hold: a person's act goes through, and lifts nothing.
 */
import type { TaskEvent } from "../events.ts";
import type { TaskState } from "./state.ts";

export function automation(state: TaskState, event: TaskEvent): TaskState {
  if (event.type !== "automation.changed") return state;
  const { to, why } = event.data;
  return { ...state, automation: to === "on" ? { kind: "on" } : { kind: "off", why, since: event.at } };
}

/** Whether the supervisor may act by itself: nothing waits for a person, and the person's switch is on. */
export function isAutomatic(state: TaskState): boolean {
  return state.hold === null && state.automation.kind === "on";
}

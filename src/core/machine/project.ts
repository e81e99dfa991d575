/** The state names that people, `task.json` and outside tests see: a pure projection of the record. */
import { isTakenOver } from "./control.ts";
import { isOpen, waitsForPerson } from "./decider.ts";
import { answeredWhileDeferred } from "./deferral.ts";
import { isIdle } from "./next.ts";
import { pendingRequests } from "./requests.ts";
import type { TaskState } from "./state.ts";
import { isActive, openSignOff } from "./verification.ts";

export type StateName =
  | "created"
  | "starting"
  | "running"
  | "deciding"
  | "human_required"
  | "paused"
  | "taken_over"
  | "verifying"
  | "completed"
  | "failed"
  | "stopping"
  | "stopped"
  | "failed_to_stop";

/** What a task waits for: an approval, a look at the result (manual), or any other act of a person. */
export type WaitsFor = "approval" | "result" | "person" | null;

export function stateName(state: TaskState): StateName {
  if (state.ended.kind === "completed") return "completed";
  switch (state.stop.kind) {
    case "unproven":
      return "failed_to_stop";
    case "requested":
      return "stopping";
    case "proven":
      return state.stop.end === "failed" ? "failed" : "stopped";
    case "none":
      break;
  }
  if (state.ended.kind === "failed") return "failed";
  if (isTakenOver(state)) return "taken_over";
  if (state.control.kind !== "supervised") return "paused";
  if (isActive(state.verification)) return "verifying";
  if (state.hold?.fault === true) return "human_required";
  if (openSignOff(state) !== null) return "human_required";
  if (answeredWhileDeferred(state)) return "starting";
  const pending = pendingRequests(state);
  if (pending.some(waitsForPerson)) return "human_required";
  if (pending.length > 0) return "deciding";
  switch (state.worker.kind) {
    case "none":
      return state.prompts.goalGiven ? resting(state) : "created";
    case "wanted":
    case "spawning":
    case "handshake":
      return "starting";
    case "live":
    case "ending":
    case "gone":
      return resting(state);
  }
}

function resting(state: TaskState): StateName {
  if (isOpen(state)) return "deciding";
  if (state.hold !== null || restsByTheSwitch(state)) return "human_required";
  if (state.turn.kind === "idle" && state.spec?.mode === "manual" && state.prompts.queue.length === 0)
    return "human_required";
  return "running";
}

/** Automation is off, and so nothing follows from what is there. */
export function restsByTheSwitch(state: TaskState): boolean {
  if (state.automation.kind === "on") return false;
  return isIdle(state) && state.prompts.queue.length === 0;
}

export function waitsFor(state: TaskState): WaitsFor {
  const name = stateName(state);
  if (name === "failed_to_stop") return "person";
  if (name !== "human_required") return null;
  if (state.hold?.fault === true) return "person";
  if (openSignOff(state) !== null) return "approval";
  if (pendingRequests(state).some(waitsForPerson)) return "approval";
  if (state.hold !== null || restsByTheSwitch(state)) return "person";
  return "result";
}

/** States that nothing but an explicit act leaves. */
export function isTerminal(name: StateName): boolean {
  return name === "completed" || name === "failed" || name === "stopped" || name === "failed_to_stop";
}

/** Why a task stands where it stands, for status, lists and notices. */
import { isOpen, waitsForPerson } from "./decider.ts";
import { restsByTheSwitch, waitsFor } from "./project.ts";
import { pendingRequests } from "./requests.ts";
import type { TaskState } from "./state.ts";
import { openSignOff } from "./verification.ts";

/** A sentence and its code. */
export function standing(state: TaskState): { why: string | null; reason: string | null } {
  const { ended, stop, hold } = state;
  if (ended.kind === "completed") return { why: `The verification passed for tree ${ended.treeId}.`, reason: null };
  if (stop.kind === "unproven")
    return {
      why: `Something may still run: ${stop.remaining.map((one) => one.detail).join("; ")}`,
      reason: stop.cause ?? "stop",
    };
  if (ended.kind === "failed") return { why: ended.message, reason: ended.reason };
  if (stop.kind !== "none") return { why: stop.reason, reason: stop.cause ?? "stop" };
  const signOff = openSignOff(state);
  if (signOff && hold?.fault !== true) return { why: signOff.message, reason: "sign-off" };
  if (hold) return { why: hold.message, reason: hold.reason };
  const waiting = pendingRequests(state).find(waitsForPerson);
  if (waiting) {
    const { toolName, reason, rule, passedOn } = waiting;
    const passed = passedOn === null ? "" : ` The decider passed it on (${passedOn.why}): ${passedOn.reason}`;
    return { why: `${toolName} waits for approval: ${reason}${passed}`, reason: rule };
  }
  const asked = pendingRequests(state)[0];
  if (asked) return { why: `The decider is asked about ${asked.toolName}.`, reason: null };
  if (isOpen(state)) return { why: "The decider is asked how to go on.", reason: null };
  if (state.automation.kind === "off" && restsByTheSwitch(state))
    return { why: state.automation.why, reason: "automation-off" };
  if (waitsFor(state) === "result")
    return { why: "The turn is over; look at the result, then verify, send or stop.", reason: null };
  return { why: null, reason: null };
}

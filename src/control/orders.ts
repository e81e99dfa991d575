/** What a controller is told to do, and by whom. */
import type { StopHeld } from "./check.ts";

/** One order for each task and epoch; the same epoch again when it becomes faster. */
export interface StopOrder {
  identity: string;
  taskId: string;
  verb: "stop" | "pause";
  /** `after-call`: let the present tool call end; the order comes again as `now` when its patience is over. */
  how: "now" | "after-call";
  epoch: number;
  cause: string;
  source: StopHeld["source"];
  reason: string;
  at: string;
}

/** `undefined` for a check that only holds: nothing new begins then, and nothing that runs is ended. */
export function orderOf(held: StopHeld, task: { identity: string; taskId: string }, now: Date): StopOrder | undefined {
  if (held.reason === "unclear") return undefined;
  return {
    identity: task.identity,
    taskId: task.taskId,
    verb: held.reason,
    how: held.how,
    epoch: held.epoch,
    cause: held.cause,
    source: held.source,
    reason: held.text ?? held.message,
    at: held.at ?? now.toISOString(),
  };
}

/** Does the second ask for more than the first did? */
export function isFurther(next: StopOrder, last: StopOrder | undefined): boolean {
  if (last === undefined || next.epoch > last.epoch) return true;
  if (next.epoch < last.epoch) return false;
  return (last.verb === "pause" && next.verb === "stop") || (last.how === "after-call" && next.how === "now");
}

/**
 * The end of a task's time: open → wrap-up (the worker is to be told, then told) → close-out. At nine tenths of the wall
 * clock an automatic worker is told to bring its work to an end; after all of it nothing new is sent, what is idle is
 * verified, and only a work that is not proven within the close-out is stopped, with everything kept.
 */
import type { TaskEvent } from "../events.ts";
import { wallLength } from "./budgets.ts";
import type { ClosingState, TaskState } from "./state.ts";

const LONGEST_CLOSE_OUT_MS = 10 * 60_000;
const SHORTEST_CLOSE_OUT_MS = 10_000;

/** Milliseconds after the wall clock in which a turn may end and be verified: ten minutes, or a quarter of a short clock. */
export function closeOutMs(state: TaskState): number {
  return Math.max(SHORTEST_CLOSE_OUT_MS, Math.min(LONGEST_CLOSE_OUT_MS, wallLength(state) / 4));
}

export function closing(state: TaskState, event: TaskEvent): TaskState {
  const to = (next: ClosingState): TaskState => ({ ...state, closing: next });
  const present = state.closing;
  switch (event.type) {
    case "timer.fired":
      if (state.spec?.mode !== "auto") return state;
      if (event.data.name === "wrap-up" && present.kind === "open") return to({ kind: "wrap-up", told: "no" });
      if (event.data.name === "wall" && state.worker.kind === "live")
        return to({ kind: "close-out", since: event.mono });
      return state;
    case "prompt.intent":
      return event.data.wrapUp === true && present.kind === "wrap-up" ? to({ kind: "wrap-up", told: "yes" }) : state;
    case "prompt.failed":
      return event.data.wrapUp === true && present.kind === "wrap-up" ? to({ kind: "wrap-up", told: "later" }) : state;
    case "task.recovering":
      return to({ kind: "open" });
    default:
      return state;
  }
}

/** The worker is still to hear that its time is short. */
export function wantsWrapUp({ closing: c }: TaskState): boolean {
  return c.kind === "wrap-up" && c.told !== "yes";
}

/**
 * It is told so in the middle of its turn, which may be hours long: Claude takes a message into a running turn (2.1.268).
 * Not while a call waits for an answer, nor while nobody knows whether a person's message arrived.
 */
export function mayInterject(state: TaskState): boolean {
  const { prompts, turn, worker, requests, closing: c } = state;
  if (c.kind !== "wrap-up" || c.told !== "no") return false;
  const settled = prompts.open?.source !== "person" || prompts.open.phase === "acknowledged";
  return worker.kind === "live" && turn.kind === "busy" && settled && Object.keys(requests).length === 0;
}

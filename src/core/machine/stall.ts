/**
 * Work that does not progress: the same ask denied again and again, the same tree failing round after round. A person's
 * act begins the count anew.
 */
import type { TaskEvent } from "../events.ts";
import type { StallState, TaskState } from "./state.ts";

/** Denials of one ask after which the turn is ended and a person is asked. */
export const MAX_EQUAL_DENIALS = 3;
/** Failing rounds in a row on one tree. */
export const MAX_EQUAL_ROUNDS = 3;
const MAX_ASKS = 100;

export function stall(state: TaskState, event: TaskEvent): TaskState {
  const s = state.stall;
  const to = (next: Partial<StallState>): TaskState => ({ ...state, stall: { ...s, ...next } });
  switch (event.type) {
    case "gate.verdict":
      return event.data.verdict === "deny" ? to({ denials: denied(s.denials, event.data.ask) }) : state;
    case "request.answered": {
      const ask = state.requests[event.data.requestId]?.ask;
      if (event.data.by === "supervisor") return state;
      if (event.data.decision === "deny") return to({ denials: denied(s.denials, ask ?? undefined) });
      return event.data.by === "person" ? to({ denials: {} }) : state;
    }
    case "verify.finished": {
      if (state.verification.kind !== "running" || event.data.outcome !== "fail") return state;
      const same = s.failedTree === event.data.treeId;
      return to({ failedTree: event.data.treeId, equalRounds: same ? s.equalRounds + 1 : 1 });
    }
    case "prompt.queued":
    case "verify.requested":
      return event.type === "prompt.queued" || event.data.by === "person"
        ? to({ denials: {}, failedTree: null, equalRounds: 0 })
        : state;
    case "task.recovering":
      if (event.data.by === "decider") return state;
      return to({ denials: {}, failedTree: null, equalRounds: 0 });
    default:
      return state;
  }
}

/** How often this ask has been denied, this time included. */
export function denialsOf(state: TaskState, ask: string | undefined): number {
  return ask === undefined ? 0 : (state.stall.denials[ask] ?? 0);
}

function denied(denials: StallState["denials"], ask: string | undefined): StallState["denials"] {
  if (ask === undefined) return denials;
  const { [ask]: before = 0, ...others } = denials;
  const kept = Object.entries(others).slice(-(MAX_ASKS - 1));
  return { ...Object.fromEntries(kept), [ask]: before + 1 };
}

/**
 * Work that does not progress: the same ask denied again and again, the same tree failing round after round, the same
 * words at the end of two turns that changed nothing. A person's act begins the count anew.
 */
import type { TaskEvent } from "../events.ts";
import { withNewest } from "./newest.ts";
import type { StallState, TaskState } from "./state.ts";

/** Denials of one ask after which the turn is ended and a person is asked. */
export const MAX_EQUAL_DENIALS = 3;
/** Failing rounds in a row on one tree. */
export const MAX_EQUAL_ROUNDS = 3;
/** Turns in a row that ended with the same words on the same tree. */
export const MAX_EQUAL_RESULTS = 2;
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
    /* The tree of a turn's end is known when somebody has looked at it: the decider's question, or the verification. */
    case "decision.asked":
      return event.data.treeId === undefined ? state : to({ results: seenAt(state, event.data.treeId) });
    case "verify.finished": {
      if (state.verification.kind !== "running" || event.data.outcome !== "fail") return state;
      const same = s.failedTree === event.data.treeId;
      const results = seenAt(state, event.data.treeId);
      return to({ failedTree: event.data.treeId, equalRounds: same ? s.equalRounds + 1 : 1, results });
    }
    case "prompt.queued":
    case "verify.requested":
      return event.type === "prompt.queued" || event.data.by === "person" ? to(AFRESH) : state;
    case "task.recovering":
      return event.data.by === "decider" ? state : to(AFRESH);
    default:
      return state;
  }
}

const AFRESH = { denials: {}, failedTree: null, equalRounds: 0, results: null } as const;

/** The present turn's last words with the tree that they stand on; one turn counts once, however often it is looked at. */
function seenAt({ stall: { results: last }, lastResult, budgets }: TaskState, tree: string): StallState["results"] {
  const said = lastResult?.facts.said;
  if (said === undefined) return null;
  const { turns: turn } = budgets;
  if (last?.turn === turn) return last.tree === tree ? last : { said, tree, turn, times: 1 };
  const same = last?.said === said && last.tree === tree;
  return { said, tree, turn, times: same ? last.times + 1 : 1 };
}

/** How often this ask has been denied, this time included. */
export function denialsOf(state: TaskState, ask: string | undefined): number {
  return ask === undefined ? 0 : (state.stall.denials[ask] ?? 0);
}

function denied(denials: StallState["denials"], ask: string | undefined): StallState["denials"] {
  if (ask === undefined) return denials;
  /* Denied again, it is the newest. */
  const { [ask]: before = 0, ...others } = denials;
  return withNewest(others, ask, before + 1, MAX_ASKS);
}

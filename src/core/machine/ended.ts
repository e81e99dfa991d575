/** The two ways of ending by itself. `completed` exists only behind a verdict for this very tree (invariant 1). */
import type { TaskEvent } from "../events.ts";
import type { TaskState } from "./state.ts";

export function ended(state: TaskState, event: TaskEvent): TaskState {
  switch (event.type) {
    case "task.completed": {
      const { verification } = state;
      const proven = verification.kind === "confirming" && verification.facts.treeId === event.data.treeId;
      if (!proven || state.ended.kind !== "no") return state;
      return { ...state, ended: { kind: "completed", treeId: event.data.treeId, at: event.at } };
    }
    case "task.failed":
      if (state.ended.kind !== "no") return state;
      return {
        ...state,
        ended: { kind: "failed", reason: event.data.reason, message: event.data.message, at: event.at },
      };
    case "stop.proven": {
      const { stop } = state;
      if (stop.kind !== "requested" && stop.kind !== "unproven") return state;
      if (stop.end !== "failed" || state.ended.kind !== "no") return state;
      const reason = stop.cause ?? "stopped-by-supervisor";
      return { ...state, ended: { kind: "failed", reason, message: stop.reason, at: event.at } };
    }
    case "task.recovering":
      return state.ended.kind === "failed" ? { ...state, ended: { kind: "no" } } : state;
    default:
      return state;
  }
}

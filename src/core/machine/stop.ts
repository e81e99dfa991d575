/**
 * The stop: none → requested → proven, or unproven with what may remain. The first cause is kept, but a person's
 * outranks automation's; a stop in progress can only become faster.
 */
import type { TaskEvent } from "../events.ts";
import type { StopState, TaskState } from "./state.ts";

export function stop(state: TaskState, event: TaskEvent): TaskState {
  const present = state.stop;
  switch (event.type) {
    case "stop.requested": {
      if (state.ended.kind !== "no") return state;
      if (present.kind === "proven") return state;
      const { by, reason, end, kind: how, cause } = event.data;
      const fresh: StopState = { kind: "requested", by, how, reason, end, cause: cause ?? null, mono: event.mono };
      if (present.kind === "none") return { ...state, stop: fresh };
      const outranks = isPersons(by) && !isPersons(present.by);
      const kept = outranks
        ? fresh
        : { ...fresh, by: present.by, reason: present.reason, end: present.end, cause: present.cause };
      const faster = how === "now" || (present.kind === "requested" && present.how === "now");
      return { ...state, stop: { ...kept, how: faster ? "now" : "graceful" } };
    }
    case "estop.requested": {
      /* A pause keeps the session: `control` takes the wheel away then. */
      if (event.data.verb === "pause" || state.ended.kind !== "no") return state;
      if (present.kind !== "none") return state;
      const reason = event.data.reason ?? "The emergency stop.";
      const how = "graceful";
      return {
        ...state,
        stop: { kind: "requested", by: "estop", how, reason, end: "stopped", cause: null, mono: event.mono },
      };
    }
    case "stop.proven": {
      if (present.kind !== "requested" && present.kind !== "unproven") return state;
      const { by, reason, end, cause } = present;
      return { ...state, stop: { kind: "proven", by, reason, end, cause } };
    }
    case "stop.failed": {
      if (present.kind !== "requested") return state;
      const { by, reason, end, cause } = present;
      return { ...state, stop: { kind: "unproven", by, reason, end, cause, remaining: event.data.remaining } };
    }
    case "worker.swept": {
      if (event.data.proven || present.kind !== "none" || state.ended.kind !== "no") return state;
      const reason = "processes of the worker are still there after it ended";
      return {
        ...state,
        stop: {
          kind: "unproven",
          by: "supervisor",
          reason,
          end: "failed",
          cause: "leftovers",
          remaining: event.data.remaining,
        },
      };
    }
    case "task.recovering":
      return present.kind === "proven" ? { ...state, stop: { kind: "none" } } : state;
    default:
      return state;
  }
}

function isPersons(by: string): boolean {
  return by === "person" || by === "estop";
}

/** Who drives the task. A new owner finds nothing of the old one's process: what was under way is ambiguous, not running. */
import type { TaskEvent } from "../events.ts";
import { deferredOnly } from "./requests.ts";
import type { TaskState } from "./state.ts";
import { afterOwner } from "./verification.ts";

export function owner(state: TaskState, event: TaskEvent): TaskState {
  switch (event.type) {
    case "owner.claimed": {
      const claimed: TaskState = { ...state, owner: { kind: "held", owner: event.data.owner, since: event.at } };
      return event.data.why === "start" ? claimed : forgetProcess(claimed, event.mono);
    }
    case "owner.released":
      return { ...state, owner: { kind: "none" } };
    default:
      return state;
  }
}

function forgetProcess(state: TaskState, mono: number): TaskState {
  const gone = state.worker.kind === "gone" || state.worker.kind === "none";
  return {
    ...state,
    worker: gone ? state.worker : { kind: "none" },
    turn: { kind: "none" },
    background: [],
    requests: deferredOnly(state.requests),
    tools: {},
    progressMono: mono,
    verification: afterOwner(state.verification),
  };
}

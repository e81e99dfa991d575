/** What the worker is told about its calls. */
import type { GateReply } from "../contracts/worker.ts";
import type { EventMap } from "../events.ts";
import { denialsOf, MAX_EQUAL_DENIALS } from "./stall.ts";
import type { RequestKind, TaskState } from "./state.ts";

/** The denial that makes an ask one too many ends the turn as well. */
export function denied(state: TaskState, ask: string | undefined, reason: string): GateReply {
  const endTurn = denialsOf(state, ask) >= MAX_EQUAL_DENIALS;
  return { decision: "deny", reason, ...(endTurn ? { endTurn } : {}) };
}

export function denial(reason: string): string {
  return `Denied by the supervisor's policy: ${reason}`;
}

export function toReply(answered: EventMap["request.answered"], kind: RequestKind): GateReply {
  switch (answered.decision) {
    case "deny": {
      const note = answered.note?.trim() ?? "";
      if (answered.by === "supervisor" && note !== "") return { decision: "deny", reason: note };
      if (answered.by === "decider") return { decision: "deny", reason: decidersDenial(note, kind) };
      return {
        decision: "deny",
        reason: note === "" ? "A person denied this call." : `A person denied this call: ${note}`,
      } as const;
    }
    case "answer":
      return { decision: "allow", updatedInput: { answers: answered.answers ?? {} } } as const;
    case "approve":
      return { decision: "allow" } as const;
  }
}

/** Nobody is there to answer: a question goes back to the worker, who is to choose and to say so. */
function decidersDenial(note: string, kind: RequestKind): string {
  const why = note === "" ? "." : `: ${note}`;
  if (kind !== "question") return `The decider denied this call${why}`;
  return `The decider did not answer this question${why} Choose yourself what serves the goal best, and say in your text what you chose.`;
}

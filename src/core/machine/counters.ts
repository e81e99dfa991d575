/** Numbers for status and reports; nothing is decided by them. */
import type { EventMap, TaskEvent } from "../events.ts";
import { withNewest } from "./newest.ts";
import type { Counters, TaskState } from "./state.ts";

const MAX_RULES = 200;
const MAX_OPINIONS = 100;

export function counters(state: TaskState, event: TaskEvent): TaskState {
  const c = state.counters;
  const to = (next: Partial<Counters>): TaskState => ({ ...state, counters: { ...c, ...next } });
  switch (event.type) {
    case "gate.verdict": {
      const { verdict, rule } = event.data;
      const verdicts = { ...c.verdicts, [verdict]: c.verdicts[verdict] + 1 };
      const seen = { verdicts, toolCalls: c.toolCalls + 1 };
      if (verdict === "allow") return to(seen);
      const denied = verdict === "deny" ? { deniedByRule: oneMore(c.deniedByRule, rule) } : {};
      return to({ ...seen, ...denied, byRule: oneMore(c.byRule, rule) });
    }
    case "gate.incident":
      return to({ incidents: c.incidents + 1 });
    case "worker.protocol-error":
      return to({ protocolErrors: c.protocolErrors + 1 });
    case "decision.made": {
      const { decision, requestId } = event.data;
      const decisions = { ...c.decisions, [decision]: (c.decisions[decision] ?? 0) + 1 };
      const opinion = opinionOf(event.data);
      if (requestId === undefined || opinion === null) return to({ decisions });
      return to({ decisions, opinions: withNewest(c.opinions, requestId, opinion, MAX_OPINIONS) });
    }
    case "request.answered": {
      const { requestId, by, decision } = event.data;
      const { [requestId]: opinion, ...opinions } = c.opinions;
      if (opinion === undefined) return state;
      return to({ opinions, overridden: c.overridden + (by === "person" && opinion !== decision ? 1 : 0) });
    }
    default:
      return state;
  }
}

/** What the decider would have answered, whether that stood or became a person's question. */
function opinionOf({ decision, meant }: EventMap["decision.made"]): string | null {
  const word = meant ?? decision;
  return word === "approve" || word === "deny" || word === "answer" ? word : null;
}

function oneMore(numbers: Record<string, number>, rule: string): Record<string, number> {
  const key = Object.hasOwn(numbers, rule) || Object.keys(numbers).length < MAX_RULES ? rule : "other";
  return { ...numbers, [key]: (Object.hasOwn(numbers, key) ? (numbers[key] ?? 0) : 0) + 1 };
}

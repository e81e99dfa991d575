/** Numbers for status and reports; nothing is decided by them. */
import type { TaskEvent } from "../events.ts";
import type { Counters, TaskState } from "./state.ts";

const MAX_RULES = 200;

export function counters(state: TaskState, event: TaskEvent): TaskState {
  const c = state.counters;
  const to = (next: Partial<Counters>): TaskState => ({ ...state, counters: { ...c, ...next } });
  switch (event.type) {
    case "gate.verdict": {
      const { verdict, rule } = event.data;
      const verdicts = { ...c.verdicts, [verdict]: c.verdicts[verdict] + 1 };
      if (verdict === "allow") return to({ verdicts, toolCalls: c.toolCalls + 1 });
      const key = rule in c.byRule || Object.keys(c.byRule).length < MAX_RULES ? rule : "other";
      return to({ verdicts, toolCalls: c.toolCalls + 1, byRule: { ...c.byRule, [key]: (c.byRule[key] ?? 0) + 1 } });
    }
    case "gate.incident":
      return to({ incidents: c.incidents + 1 });
    case "decision.made": {
      const { decision } = event.data;
      return to({ decisions: { ...c.decisions, [decision]: (c.decisions[decision] ?? 0) + 1 } });
    }
    case "worker.protocol-error":
      return to({ protocolErrors: c.protocolErrors + 1 });
    default:
      return state;
  }
}

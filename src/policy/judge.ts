/** One tool call to one verdict. Pure, synchronous, and never throws. */
import type { PolicyContext, PolicyDecision, PolicyFacts, ToolCall } from "../core/contracts/policy.ts";
import type { Gate } from "./gate.ts";
import { Report } from "./report.ts";
import { judgeTool } from "./tools/index.ts";
import { Trace } from "./trace.ts";

/**
 * What the gate says about a tool call. An internal error is `review` by rule `policy.internal-error`; a deny that was
 * found before it stays a deny.
 */
export function judge(call: ToolCall, context: PolicyContext, facts: PolicyFacts): PolicyDecision {
  return run(call, { context, facts, report: new Report() });
}

export interface Explanation {
  decision: PolicyDecision;
  /** Simple commands in the order in which they were judged. */
  commands: readonly { argv: readonly string[]; folders: readonly string[]; depth: number }[];
  paths: readonly { written: string; real: string | undefined; place: string; access: string; verdict: string }[];
  /** Syntax errors. */
  problems: readonly string[];
}

/** The same verdict with the way to it, for `policy check`. */
export function explain(call: ToolCall, context: PolicyContext, facts: PolicyFacts): Explanation {
  const trace = new Trace();
  const decision = run(call, { context, facts, report: new Report(), trace });
  return { decision, commands: trace.commands, paths: trace.paths, problems: trace.problems };
}

function run(call: ToolCall, gate: Gate): PolicyDecision {
  try {
    judgeTool(call, gate);
  } catch (error) {
    const message = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
    gate.report.review("policy.internal-error", "The gate failed to judge this call.", message);
  }
  return gate.report.decision();
}

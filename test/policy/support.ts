import { contextOf, factsOf, type PolicyCase, WORKSPACE } from "../../scripts/corpus/policy.ts";
import type { PolicyContext, PolicyDecision, PolicyFacts, ToolCall, Verdict } from "../../src/core/contracts/policy.ts";
import { judge } from "../../src/policy/index.ts";

export type World = Partial<
  Pick<PolicyCase, "fs" | "files" | "scripts" | "local_bins" | "changed" | "profile" | "frozen_verify">
>;

export function bash(command: string, cwd: string = WORKSPACE): ToolCall {
  return { toolName: "Bash", input: { command }, cwd };
}

export function decide(
  call: ToolCall,
  world: World = {},
  context: Partial<PolicyContext> = {},
  facts: Partial<PolicyFacts> = {},
): PolicyDecision {
  return judge(call, { ...contextOf(world), ...context }, { ...factsOf(world), ...facts });
}

export function verdictOf(command: string, world: World = {}): Verdict {
  return decide(bash(command), world).verdict;
}

/** A person's own rules: the tool and, for Bash, the first words of the parsed argument vector. */
import type { PolicyRule, Verdict } from "../core/contracts/policy.ts";
import type { Gate } from "./gate.ts";
import { describe, type Invocation } from "./invocation.ts";
import { rank } from "./verdicts.ts";

/** Applies the rules that match one simple command to the findings that its own judge added since `mark`. */
export function applyRules(call: Invocation, mark: number): void {
  const { gate } = call;
  const words = [call.head, ...call.args];
  apply(gate, mark, describe(call), (rule) => {
    if (rule.tool !== "Bash") return false;
    if (rule.argv === undefined) return true;
    return (
      rule.argv.length <= words.length &&
      rule.argv.every((word, index) => words[index]?.value === word && words[index]?.glob === false)
    );
  });
}

/** Applies the rules for a tool other than Bash to all findings of the call. */
export function applyToolRules(gate: Gate, tool: string): void {
  apply(gate, 0, tool, (rule) => rule.tool === tool && rule.argv === undefined);
}

/**
 * The longest match counts, among equals the strictest. A project's rule only tightens. An `allow` lifts review and
 * person, never a deny and never what the deletion floor holds.
 */
function apply(gate: Gate, mark: number, subject: string, matches: (rule: PolicyRule) => boolean): void {
  let best: PolicyRule | undefined;
  const project: PolicyRule[] = [];
  for (const rule of gate.context.rules ?? []) {
    if (!matches(rule)) continue;
    if (rule.origin === "project") project.push(rule);
    else if (best === undefined || isStronger(rule, best)) best = rule;
  }
  if (best !== undefined) {
    const limit = rank(best.verdict);
    gate.report.forgive(mark, (finding) => finding.floor || rank(finding.verdict) <= limit);
    if (best.verdict === "allow") gate.report.allow("rule.person", "A person's own rule allows it.");
    else tighten(gate, mark, best.verdict, subject, "rule.person", "A person's own rule.");
  }
  for (const rule of project) tighten(gate, mark, rule.verdict, subject, "rule.project", "A rule of the project.");
}

function isStronger(rule: PolicyRule, than: PolicyRule): boolean {
  const length = rule.argv?.length ?? 0;
  const other = than.argv?.length ?? 0;
  return length > other || (length === other && rank(rule.verdict) > rank(than.verdict));
}

function tighten(gate: Gate, mark: number, verdict: Verdict, subject: string, name: string, reason: string): void {
  if (verdict === "allow") return;
  const present = gate.report.since(mark).reduce((high, finding) => Math.max(high, rank(finding.verdict)), 0);
  if (rank(verdict) > present) gate.report.add(verdict, name, reason, subject);
}

/**
 * Collects what the parts of one tool call amount to. Only what is not plainly allowed is recorded, so that the common
 * case allocates nothing. Bounded: 20 findings are kept, worst first, whatever the length of the call.
 */
import type { Loss, PolicyDecision, PolicyFact, Verdict } from "../core/contracts/policy.ts";
import { rank } from "./verdicts.ts";

const KEPT_FINDINGS = 20;
const MARKABLE_FINDINGS = 256;
const SUBJECT_LENGTH = 200;

export interface Finding extends PolicyFact {
  loss: Loss;
  /** Set where a person's own `allow` rule must not lift the verdict: the deletion floor and everything denied. */
  floor: boolean;
}

export interface FindingOptions {
  loss?: Loss;
  floor?: boolean;
}

export class Report {
  #findings: Finding[] = [];
  #allowRule: string | undefined;
  #allowReason = "";
  #allowed = 0;
  #denyOnly = 0;

  /** Records one finding; `allow` is recorded by `allow()`. */
  add(
    verdict: Exclude<Verdict, "allow">,
    rule: string,
    reason: string,
    subject: string,
    options?: FindingOptions,
  ): void {
    if (this.#denyOnly > 0 && verdict !== "deny") return;
    const finding: Finding = {
      subject: shorten(subject),
      verdict,
      rule,
      reason,
      loss: options?.loss ?? "recoverable",
      floor: verdict === "deny" || (options?.floor ?? false),
    };
    if (this.#findings.length < MARKABLE_FINDINGS) this.#findings.push(finding);
    else this.#replaceMildest(finding);
  }

  review(rule: string, reason: string, subject: string, options?: FindingOptions): void {
    this.add("review", rule, reason, subject, options);
  }

  person(rule: string, reason: string, subject: string): void {
    this.add("person", rule, reason, subject);
  }

  deny(rule: string, reason: string, subject: string): void {
    this.add("deny", rule, reason, subject);
  }

  /** Notes why a part was fine; the first reason is told when everything was. */
  allow(rule: string, reason: string): void {
    this.#allowed += 1;
    if (this.#allowRule !== undefined) return;
    this.#allowRule = rule;
    this.#allowReason = reason;
  }

  /** Runs `judge` so that only what it would deny counts: for words that may or may not be a command. */
  denyOnly(judge: () => void): void {
    this.#denyOnly += 1;
    try {
      judge();
    } finally {
      this.#denyOnly -= 1;
    }
  }

  /** Like `denyOnly`, but what a person must answer counts too: for a program that may be this one or another. */
  denyOnlyOrPerson(judge: () => void): void {
    const before = this.#findings.length;
    judge();
    const added = this.#findings.splice(before);
    for (const finding of added)
      if (finding.verdict === "deny" || finding.verdict === "person") this.#findings.push(finding);
  }

  get isDenyOnly(): boolean {
    return this.#denyOnly > 0;
  }

  /** A place in the list of findings, for `since`. */
  mark(): number {
    return this.#findings.length;
  }

  since(mark: number): readonly Finding[] {
    return this.#findings.slice(mark);
  }

  /** Drops the findings after `mark` that `keep` does not hold fast: a person's rule or the frozen verification. */
  forgive(mark: number, keep: (finding: Finding) => boolean): void {
    const kept = this.#findings.slice(mark).filter(keep);
    this.#findings.length = mark;
    this.#findings.push(...kept);
  }

  get verdict(): Verdict {
    let verdict: Verdict = "allow";
    for (const finding of this.#findings) if (rank(finding.verdict) > rank(verdict)) verdict = finding.verdict;
    return verdict;
  }

  decision(): PolicyDecision {
    const findings = this.#findings;
    if (findings.length === 0) {
      const several = this.#allowed > 1;
      return {
        verdict: "allow",
        rule: this.#allowRule ?? "allow.nothing-runs",
        reason: several ? "Every part is on the allow list." : this.#allowReason || "Nothing runs.",
      };
    }
    const sorted = [...findings].sort((a, b) => rank(b.verdict) - rank(a.verdict));
    const head = sorted[0] as Finding;
    const verdict = head.verdict;
    const lost = sorted.some((finding) => finding.loss === "lost" && finding.verdict === verdict);
    // The reason shown should be the one with the higher cost among equals.
    const lead = lost
      ? (sorted.find((finding) => finding.loss === "lost" && finding.verdict === verdict) ?? head)
      : head;
    const decision: PolicyDecision = { verdict, rule: lead.rule, reason: lead.reason };
    if (verdict !== "deny") decision.loss = lost ? "lost" : "recoverable";
    decision.facts = sorted.slice(0, KEPT_FINDINGS).map((finding) => ({
      subject: finding.subject,
      verdict: finding.verdict,
      rule: finding.rule,
      reason: finding.reason,
    }));
    return decision;
  }

  #replaceMildest(finding: Finding): void {
    const index = this.#findings.findIndex(
      (kept) => rank(kept.verdict) < rank(finding.verdict) || (finding.loss === "lost" && kept.loss !== "lost"),
    );
    if (index >= 0) this.#findings[index] = finding;
  }
}

export function shorten(text: string): string {
  return text.length <= SUBJECT_LENGTH ? text : `${text.slice(0, SUBJECT_LENGTH - 1)}…`;
}

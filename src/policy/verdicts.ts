import type { Verdict } from "../core/contracts/policy.ts";

/** The four verdicts from harmless to final; parts of one call combine by taking the worst. */
export const VERDICT_ORDER: readonly Verdict[] = ["allow", "review", "person", "deny"];

const RANK: Readonly<Record<Verdict, number>> = { allow: 0, review: 1, person: 2, deny: 3 };

export function rank(verdict: Verdict): number {
  return RANK[verdict];
}

export function isWorse(a: Verdict, b: Verdict): boolean {
  return RANK[a] > RANK[b];
}

export function worst(a: Verdict, b: Verdict): Verdict {
  return RANK[a] >= RANK[b] ? a : b;
}

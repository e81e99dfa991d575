/**
 * The reviewer: a model that looks at a candidate which already passed its verification. It can hold a candidate back, and
 * only one clear `pass` lets it through; whatever else happens is a person's to settle.
 */
export interface ReviewInput {
  goal: string;
  /** What the person said beside the goal: scope, constraints, what is forbidden. One paragraph each. */
  rules: readonly string[];
  /** The frozen verification commands, as given. */
  verification: readonly string[];
  /** What the verification found: commands with exit codes, findings. */
  evidence: string;
  /** Changed files, one line each. */
  changes: string;
  /** Unified diff since the task's start; bounded by the caller. */
  diff: string;
  /** Real path of the verified tree's own checkout: all that its tools reach. */
  root: string;
}

export interface ReviewFinding {
  /** Relative to the tree's top; absent for a remark about the whole. */
  file?: string;
  line?: number;
  problem: string;
}

export type ReviewVerdict = "pass" | "revise" | "person";

export type ReviewFault =
  /** The model's turn ended without a call of `review`. */
  | "no-call"
  | "two-calls"
  /** One call, but not one that can be read: no verdict, or `revise` without a word on what. */
  | "unclear"
  | "timeout"
  /** The model, its provider or the session failed. */
  | "model-error"
  | "no-model"
  /** There is no checkout to look at: it could not be made. */
  | "no-tree"
  | "aborted";

export type ReviewOutcome = (
  | { verdict: ReviewVerdict; summary: string; findings: ReviewFinding[] }
  /** `reason`: one sentence for people, without secrets. */
  | { verdict: "unavailable"; code: ReviewFault; reason: string }
) & {
  durationMs: number;
  /** By Pi's price list; absent when a price is not known. */
  usd?: number;
  /** `provider/id`, once the session was open. */
  model?: string;
  /** How often it looked into the tree. */
  looks: number;
};

export interface Reviewer {
  /** Never rejects, and never passes on a fault. `signal` voids it at once. */
  review(input: ReviewInput, options: { signal: AbortSignal }): Promise<ReviewOutcome>;
}

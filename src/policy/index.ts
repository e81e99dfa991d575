/**
 * The deterministic gate: a tool call and what is known of the workspace go in, a verdict with its rule comes out.
 * Pure and synchronous; the only window onto the disk is `PolicyFacts`.
 */
export { normalizeAsk } from "./ask.ts";
export { describeEffectivePolicy, type EffectivePolicy } from "./effective.ts";
export { type Explanation, explain, judge } from "./judge.ts";
export { reportPrograms } from "./programs/reported.ts";
export { VERDICT_ORDER, worst } from "./verdicts.ts";

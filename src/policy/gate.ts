/** What every judge of one call shares. */
import type { PolicyContext, PolicyFacts } from "../core/contracts/policy.ts";
import type { Report } from "./report.ts";
import type { Trace } from "./trace.ts";

export interface Gate {
  readonly context: PolicyContext;
  readonly facts: PolicyFacts;
  readonly report: Report;
  /** Present for `policy check`: what was understood, beside the verdict. */
  readonly trace?: Trace;
}

/**
 * Why nothing goes on without a person: the closed set of reasons, each with what a notice calls it. `docs/recovery.md` says
 * for each what to do (a test compares). Reasons of the verifier are a family of their own, `verifier-…`.
 */
import type { EscalationReason } from "../contracts/notice.ts";

export const HOLD_REASONS = {
  /* The work does not get on. */
  stalled: "stalled",
  "rounds-exhausted": "rounds-exhausted",
  "turns-exhausted": "budget",
  "budget-exhausted": "budget",
  "budget-usd": "budget",
  "per-day-usd": "budget",
  "per-day-decisions": "budget",
  "turn-error": "other",
  interrupted: "other",
  /* The verdict needs a look. */
  "sign-off-denied": "sign-off",
  "tree-changed": "verifier",
  "review-revise": "verifier",
  /* The decider. */
  "decider-escalated": "decider",
  "decider-unavailable": "decider",
  /* The model service. */
  auth: "auth",
  billing: "billing",
  "rate-limited": "service",
  overloaded: "service",
  /* The conversation. */
  "session-corrupt": "worker-exit",
  "message-doubtful": "other",
  "message-not-sent": "other",
  "text-redacted": "other",
  "needs-person": "approval",
  /* The worker. */
  "worker-exit": "worker-exit",
  "claude-changed": "other",
  "no-capability": "worker-exit",
} as const satisfies Record<string, EscalationReason>;

/** Faults: automation is off until the report was looked at. */
export const FAULTS = {
  "ungated-call": "A tool call ran that the gate never saw.",
  "permission-mode": "Claude runs in a wider permission mode than it was given.",
  "gate-failure": "The gate could not judge or read a tool call; the call was denied.",
  "protocol-change": "Claude no longer confirms the gate that it confirmed to this task before.",
  "inconsistent-state": "A step would have broken an invariant; what it would have sent or allowed was not.",
  "duplicate-send": "A message would have been sent a second time; it was not.",
  "verifier-unavailable": "The verifier itself failed.",
  "secret-risk": "Text could not be redacted and was left out, or a secret was found in clear among what was written.",
  "watchdog-contradiction": "The process table says that Claude is gone, its pipes say that it is there.",
} as const satisfies Record<string, string>;

export type Fault = keyof typeof FAULTS;
export type HoldReason = keyof typeof HOLD_REASONS | Fault | `verifier-${string}`;

/** A reason that came with an event; one of an older or newer release counts as the general one. */
export function holdReason<F extends HoldReason>(reason: string, otherwise: F): HoldReason {
  return isHoldReason(reason) ? reason : otherwise;
}

export function isHoldReason(reason: string): reason is HoldReason {
  return Object.hasOwn(HOLD_REASONS, reason) || isFault(reason) || reason.startsWith("verifier-");
}

export function isFault(reason: string): reason is Fault {
  return Object.hasOwn(FAULTS, reason);
}

/** Causes that are not one task's own: when several tasks wait for one of them, a person is told once. */
const SHARED: ReadonlySet<HoldReason> = new Set<HoldReason>([
  "auth",
  "billing",
  "rate-limited",
  "overloaded",
  "per-day-usd",
  "per-day-decisions",
]);

export function isShared(reason: HoldReason): boolean {
  return SHARED.has(reason);
}

export function escalationOf(reason: HoldReason): EscalationReason {
  if (isFault(reason)) return "fault";
  if (reason in HOLD_REASONS) return HOLD_REASONS[reason as keyof typeof HOLD_REASONS];
  return "verifier";
}

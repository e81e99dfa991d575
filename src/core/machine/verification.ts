/**
 * The verification: none → wanted → running → confirming → passed, or failed, or error. Where a person has to sign first:
 * running → signing → confirming, or denied. With a reviewer: running → reviewing → any of these, or revise. Where the worker
 * left git's history otherwise than it was: running → repair, once. A verdict carries its tree; a new turn of the worker
 * makes every verdict void.
 */
import type { TaskEvent } from "../events.ts";
import { isAutomatic } from "./automation.ts";
import { isOverBudget } from "./spending.ts";
import type { ReviewFacts, SignOffRequest, TaskState, VerificationState, VerifyFacts } from "./state.ts";

export function verification(state: TaskState, event: TaskEvent): TaskState {
  const present = state.verification;
  const to = (next: VerificationState): TaskState => ({ ...state, verification: next });
  switch (event.type) {
    case "verify.requested":
      if (event.data.by === "auto" && state.automation.kind === "off") return state;
      return isActive(present) ? state : to({ kind: "wanted", by: event.data.by, mono: event.mono });
    case "automation.changed":
      return event.data.to === "off" && present.kind === "wanted" && present.by === "auto"
        ? to({ kind: "none" })
        : state;
    case "verify.started":
      return present.kind === "running" || present.kind === "wanted"
        ? to({ kind: "running", by: event.data.by, mono: event.mono })
        : state;
    case "verify.finished":
      if (present.kind !== "running") return state;
      return { ...to(afterRun(state, event.data)), lastVerification: event.data };
    case "review.started":
      return present.kind === "reviewing" ? to({ ...present, begun: true }) : state;
    case "review.finished": {
      if (present.kind !== "reviewing" || !isAwaited(present, event.data)) return state;
      const held = event.data.verdict === "pass" ? {} : { askedTree: present.facts.treeId };
      return { ...to(afterReview(state, present.facts, event.data)), ...held, lastReview: event.data };
    }
    case "signoff.requested":
      if (present.kind !== "signing" || present.request !== null) return state;
      return {
        ...to({ ...present, request: { ...event.data, since: event.at } }),
        askedTree: present.facts.treeId,
      };
    case "request.answered": {
      const { requestId, decision, by } = event.data;
      if (present.kind !== "signing" || present.request?.requestId !== requestId || by !== "person") return state;
      if (decision === "deny")
        return to({ kind: "denied", facts: present.facts, requestId, note: event.data.note?.trim() ?? "" });
      return decision === "approve"
        ? to({ kind: "confirming", facts: present.facts, by: "person", reviewed: false })
        : state;
    }
    case "verify.stale":
      return present.kind === "confirming" || present.kind === "reviewing" ? to({ kind: "none" }) : state;
    case "task.completed":
      return present.kind === "confirming" && present.facts.treeId === event.data.treeId
        ? to({ kind: "passed", facts: present.facts })
        : state;
    case "task.recovering":
      return (outlivesProcess(present) || present.kind === "reviewing") && !event.data.fresh ? state : voided(state);
    case "pause.requested":
      return outlivesProcess(present) ? state : voided(state);
    case "prompt.intent":
      return present.kind === "repair" ? { ...voided(state), repairTold: true } : voided(state);
    case "worker.init":
    case "takeover.requested":
    case "stop.requested":
      return voided(state);
    default:
      return state;
  }
}

function voided(state: TaskState): TaskState {
  const { kind } = state.verification;
  return kind === "none" || kind === "passed" ? state : { ...state, verification: { kind: "none" } };
}

function afterRun(state: TaskState, facts: VerifyFacts): VerificationState {
  if (facts.outcome !== "pass") return { kind: facts.outcome === "fail" ? "failed" : "error", facts };
  if (mayRepair(state, facts)) return { kind: "repair", facts };
  if (state.spec?.review === true && !isSecondLook(state, facts)) return { kind: "reviewing", facts, begun: false };
  return afterPass(state, facts, false);
}

function afterReview(state: TaskState, facts: VerifyFacts, review: ReviewFacts): VerificationState {
  switch (review.verdict) {
    case "pass":
      return afterPass(state, facts, true);
    case "revise":
      return { kind: "revise", facts, review };
    case "person":
      return { kind: "signing", facts, why: "review-person", request: null };
    case "unavailable":
      return { kind: "signing", facts, why: "review-unavailable", request: null };
  }
}

function afterPass(state: TaskState, facts: VerifyFacts, reviewed: boolean): VerificationState {
  if (needsSignOff(state, facts)) return { kind: "signing", facts, why: "changed-script", request: null };
  return { kind: "confirming", facts, by: facts.by, reviewed };
}

/**
 * The worker changed what the verification itself runs: its pass says little until a person has looked. A person who was
 * asked about this very tree and verifies it once more has looked.
 */
function needsSignOff(state: TaskState, facts: VerifyFacts): boolean {
  return changedScripts(facts).length > 0 && !isSecondLook(state, facts);
}

/** A person verifies the very tree that they were asked about: whoever held it back is overruled. */
function isSecondLook(state: TaskState, facts: VerifyFacts): boolean {
  return facts.by === "person" && state.askedTree === facts.treeId;
}

/**
 * Harmless to what the verdict is bound to, and so never a reason to park: the worker gets one round to put it right while
 * there are rounds, time and money for it. What it leaves as it is after that is a finding, and the task completes.
 */
function mayRepair(state: TaskState, facts: VerifyFacts): boolean {
  const { spec, budgets } = state;
  if (state.repairTold || facts.by !== "auto" || spec?.mode !== "auto" || repairs(facts).length === 0) return false;
  const able = isAutomatic(state) && state.worker.kind === "live" && spec.transport === "claude-jsonl";
  return (
    able && state.closing.kind === "open" && !isOverBudget(state) && budgets.failedRounds + 1 < spec.limits.maxRounds
  );
}

/** Findings about git's history that the worker can mend. */
export function repairs(facts: VerifyFacts): VerifyFacts["findings"] {
  return facts.findings.filter(({ code }) => code !== undefined);
}

export function changedScripts(facts: VerifyFacts): string[] {
  return facts.findings
    .filter((finding) => finding.kind === "changed-script")
    .map((finding) => finding.path ?? finding.detail);
}

/** Wanted, running or waiting for the last look at the tree: the worker gets no message meanwhile. */
export function isActive(present: VerificationState): boolean {
  switch (present.kind) {
    case "wanted":
    case "running":
    case "reviewing":
    case "confirming":
      return true;
    case "signing":
      return present.request === null;
    default:
      return false;
  }
}

/** What a person is asked to sign, or null. It needs no worker and outlives every process. */
export function openSignOff(state: TaskState): SignOffRequest | null {
  return state.verification.kind === "signing" ? state.verification.request : null;
}

/** What a new owner finds of a verdict: what was under way is gone, and the reviewer has to be asked anew. */
export function afterOwner(present: VerificationState): VerificationState {
  switch (present.kind) {
    case "reviewing":
      return { ...present, begun: false };
    case "passed":
    case "failed":
    case "error":
      return present;
    default:
      return outlivesProcess(present) ? present : { kind: "none" };
  }
}

/** This is the word of the reviewer that the present owner asked about this very candidate. */
export function isAwaited(present: VerificationState, { treeId }: Pick<ReviewFacts, "treeId">): boolean {
  return present.kind === "reviewing" && present.begun && present.facts.treeId === treeId;
}

/** A candidate that waits for a person, and a person's word about one, are kept when the worker or its owner goes. */
export function outlivesProcess(present: VerificationState): boolean {
  return present.kind === "denied" || (present.kind === "signing" && present.request !== null);
}

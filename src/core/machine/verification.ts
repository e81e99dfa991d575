/**
 * The verification: none → wanted → running → confirming → passed, or failed, or error. A verdict carries its tree;
 * a new turn of the worker makes every verdict void.
 */
import type { TaskEvent } from "../events.ts";
import type { TaskState, VerificationState, VerifyFacts } from "./state.ts";

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
    case "verify.finished": {
      if (present.kind !== "running") return state;
      const next: VerificationState =
        event.data.outcome === "pass" && !needsSignOff(event.data)
          ? { kind: "confirming", facts: event.data }
          : { kind: event.data.outcome === "fail" ? "failed" : "error", facts: event.data };
      return { ...to(next), lastVerification: event.data };
    }
    case "verify.stale":
      return present.kind === "confirming" ? to({ kind: "none" }) : state;
    case "task.completed":
      return present.kind === "confirming" && present.facts.treeId === event.data.treeId
        ? to({ kind: "passed", facts: present.facts })
        : state;
    case "prompt.intent":
    case "worker.init":
    case "task.recovering":
    case "pause.requested":
    case "stop.requested":
      return present.kind === "none" || present.kind === "passed" ? state : to({ kind: "none" });
    default:
      return state;
  }
}

/**
 * The worker changed what the verification itself runs: its pass says little until a person has looked. A person's own
 * `verify`, with the findings before them, is that look.
 */
export function needsSignOff(facts: VerifyFacts): boolean {
  return facts.outcome === "pass" && facts.by === "auto" && changedScripts(facts).length > 0;
}

export function changedScripts(facts: VerifyFacts): string[] {
  return facts.findings
    .filter((finding) => finding.kind === "changed-script")
    .map((finding) => finding.path ?? finding.detail);
}

/** Wanted, running or waiting for the last look at the tree: the worker gets no message meanwhile. */
export function isActive(present: VerificationState): boolean {
  return present.kind === "wanted" || present.kind === "running" || present.kind === "confirming";
}

/** The fault switch: what turns it, and the report that a person reads before it is turned back. */
import { join } from "node:path";
import type { EventDraft, StoredEvent } from "../core/events.ts";
import type { Effect } from "../core/machine/effects.ts";
import { FAULTS, isFault } from "../core/machine/hold-reasons.ts";
import type { TaskState } from "../core/machine/state.ts";
import type { TaskPaths } from "../store/layout.ts";

export function faultReportPath(paths: Pick<TaskPaths, "folder">, fault: string): string {
  return join(paths.folder, `fault-${fault}.md`);
}

/** What is left of the effects of a step that broke an invariant: nothing is sent, spawned or allowed by it. */
export function harmless(effects: readonly Effect[]): Effect[] {
  const reason = "The supervisor found a fault of its own; end your turn.";
  return effects.flatMap((effect): Effect[] => {
    if (effect.kind === "send" || effect.kind === "spawn") return [];
    if (effect.kind !== "reply" || effect.reply.decision === "deny") return [effect];
    return [{ ...effect, reply: { decision: "deny", reason } }];
  });
}

/** `broken`: sentences of `violations`, each with the number of its invariant. */
export function faultOf(broken: readonly string[], { seq, type }: Pick<StoredEvent, "seq" | "type">): EventDraft {
  const fault = broken.every((sentence) => sentence.startsWith("9:")) ? "duplicate-send" : "inconsistent-state";
  return { type: "gate.incident", data: { fault, detail: `Event ${seq} (${type}): ${broken.join("; ")}` } };
}

/** The verification that threw has said nothing: its state is closed, and automation goes off. */
export function verifierFailed(state: TaskState, message: string): EventDraft[] {
  const by = "by" in state.verification ? state.verification.by : "auto";
  const finished: EventDraft = {
    type: "verify.finished",
    data: {
      outcome: "error",
      exitCode: null,
      treeId: "",
      reason: "internal-error",
      message,
      by,
      round: state.budgets.rounds,
      where: state.spec?.verify.where ?? "workspace",
      durationMs: 0,
      commands: [],
      findings: [],
    },
  };
  return [finished, { type: "gate.incident", data: { fault: "verifier-unavailable", detail: message.slice(0, 500) } }];
}

/** Markdown. Everything in it comes from the log, and so is redacted. */
export function faultReport(state: TaskState, event: Pick<StoredEvent, "seq" | "type">, resume: string): string {
  const { taskId, hold, spec, worker, executable, sessionId, verification, budgets } = state;
  if (hold === null) return "";
  const means = isFault(hold.reason) ? FAULTS[hold.reason] : hold.reason;
  const facts: [string, string][] = [
    ["Task", taskId],
    ["Goal", (spec?.goal ?? "").slice(0, 500).replace(/\s+/g, " ")],
    ["Folder", spec?.cwd ?? ""],
    ["Claude session", sessionId ?? "none"],
    ["Claude program", executable === null ? "unknown" : `${executable.version}, ${executable.realPath}`],
    ["Worker then", worker.kind],
    ["Verification then", verification.kind],
    ["Spent", `${budgets.turns} turns, ${budgets.rounds} verifications`],
    ["Record", `event ${event.seq} (${event.type}) of events.jsonl`],
  ];
  return `# Fault: ${hold.reason}

${means} Since ${hold.since} nothing is sent, approved or verified by itself; the worker was ended, its session and your folder are as they were.

## What was seen

${hold.message}

${facts.map(([name, value]) => `- ${name}: ${value}`).join("\n")}

The events around it: \`/supervise log ${taskId} --since ${Math.max(1, event.seq - 20)}\`. The whole story: \`/supervise report ${taskId}\`.

## Go on

1. Look at what the worker did: \`git status\` and \`git diff\` in the folder above, and the events.
2. With the cause understood: \`/supervise resume ${taskId} --fault ${hold.reason}\`. Answering a request or sending a message does not clear a fault.
3. Or end it: \`/supervise stop ${taskId}\`. The folder stays as it is.

Without this extension, in a Claude of your own, ungated by us:

    ${resume}
`;
}

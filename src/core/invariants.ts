/**
 * The invariants of docs/architecture.md as one check over a single step. Tests run it over random event sequences;
 * the supervisor's own tests run it over real logs.
 */
import type { TaskEvent } from "./events.ts";
import { costUsd } from "./machine/budgets.ts";
import { isTakenOver } from "./machine/control.ts";
import { decisionIdOf, isAwaited, isOpen, mayDecide, waitsForPerson } from "./machine/decider.ts";
import { isDeferred } from "./machine/deferral.ts";
import { isTerminal, stateName } from "./machine/project.ts";
import type { TaskState } from "./machine/state.ts";
import type { Step } from "./machine/step.ts";
import { ranUngated } from "./machine/tools.ts";
import { changedScripts } from "./machine/verification.ts";

/** Sentences about what this step broke; empty when it broke nothing. */
export function violations(before: TaskState, event: TaskEvent, { state: after, effects }: Step): string[] {
  const broken: string[] = [];
  const name = stateName(after);
  const sends = effects.filter((effect) => effect.kind === "send");
  const allows = effects.filter((effect) => effect.kind === "reply" && effect.reply.decision === "allow");

  if (after.ended.kind === "completed" && before.ended.kind !== "completed") {
    const verdict = before.verification;
    const proven =
      event.type === "task.completed" && verdict.kind === "confirming" && verdict.facts.treeId === event.data.treeId;
    if (proven && verdict.kind === "confirming" && verdict.by === "auto" && before.spec?.review && !verdict.reviewed)
      broken.push("1: completed by itself without the review that was asked for");
    const unsigned =
      proven && verdict.kind === "confirming" && verdict.by !== "person" && changedScripts(verdict.facts).length > 0;
    if (unsigned) broken.push("1: completed with a changed verification script that no person signed");
    if (!proven) broken.push("1: completed without a passing verification of that tree");
  }
  const held = after.owner.kind === "held" && after.control.kind === "supervised";
  const barred = !held || after.stop.kind !== "none" || after.ended.kind !== "no";
  if (isTakenOver(before) && !isTakenOver(after)) {
    const givenBack = event.type === "task.recovering" && event.data.handback !== undefined;
    if (!givenBack && event.type !== "stop.proven") broken.push(`2: ${event.type} took the wheel from a person`);
  }
  if (barred && sends.length > 0) broken.push("2: a message after a stop, a pause or an end");
  if (barred && effects.some((effect) => effect.kind === "spawn"))
    broken.push("2: a spawn after a stop, a pause or an end");
  if (barred && allows.length > 0) broken.push("2: an allow after a stop, a pause or an end");
  if (after.hold !== null && sends.some((send) => send.kind === "send" && send.source !== "person"))
    broken.push("2: an automatic message while a person is needed");
  const asked = new Set(["person", "handback"]);
  if (after.automation.kind === "off" && sends.some((send) => send.kind === "send" && !asked.has(send.source)))
    broken.push("2: an automatic message while automation is off");
  if (before.stop.kind !== "none" && event.type !== "task.recovering") {
    if (after.stop.kind === "none") broken.push("3: a stop was forgotten");
    if (name === "completed" && before.ended.kind !== "completed") broken.push("3: completed after a stop");
  }
  if (isTerminal(stateName(before)) && !isTerminal(name) && !LEAVES_AN_END.has(event.type))
    broken.push(`3: ${event.type} revived a task that was ${stateName(before)}`);
  if (
    event.type === "gate.verdict" &&
    event.data.verdict !== "allow" &&
    allows.length > 0 &&
    !isAskedAgain(before, event)
  )
    broken.push(`4: a ${event.data.verdict} was answered with allow`);
  if (event.type !== "gate.verdict" && event.type !== "request.answered" && allows.length > 0)
    broken.push(`4: ${event.type} caused an allow`);
  if (event.type === "request.answered" && event.data.decision === "deny" && allows.length > 0)
    broken.push("4: a denial was answered with allow");
  if (event.type === "tool.result" && !barred && event.data.late !== true && ranUngated(before, event.data)) {
    const named = effects.some((effect) => effect.kind === "record" && effect.event.type === "gate.incident");
    if (!named) broken.push("5: an ungated call is no incident");
  }
  if (after.seq !== event.seq) broken.push("7: the position does not follow the log");
  if (
    sends.some((send) => send.kind === "send" && send.source === "goal") &&
    before.prompts.goalGiven &&
    event.type !== "task.recovering"
  )
    broken.push("9: the goal a second time");
  if (sends.length > 1) broken.push("9: two messages at once");
  broken.push(...decidersViolations(before, event, { state: after, effects }));
  const reported = costUsd(after);
  if (reported !== undefined && costUsd(before) === undefined && event.type !== "turn.result")
    broken.push("10: a cost that nobody reported");
  return broken;
}

/** What the decider is asked and what follows from its word (invariants 2 and 4). */
function decidersViolations(before: TaskState, event: TaskEvent, { state: after, effects }: Step): string[] {
  const broken: string[] = [];
  const asks = effects.filter((effect) => effect.kind === "decide");
  if (asks.length > 1) broken.push("2: two questions to the decider at once");
  if (asks.length > 0 && !mayDecide(after)) broken.push("2: the decider is asked although it may not decide");
  const open = Object.values(after.requests).filter((one) => one.askedOf === "decider" && !waitsForPerson(one));
  if (open.some((one) => one.phase === "pending") && !mayDecide(after))
    broken.push("2: the decider is still asked about a call although it may not decide");
  if (isOpen(after) && !mayDecide(after)) broken.push("2: the decider is still asked how to go on although it may not");
  if (event.type === "gate.verdict" && (event.data.verdict === "person" || event.data.loss === "lost")) {
    const request = event.data.requestId === undefined ? undefined : after.requests[event.data.requestId];
    if (request?.question?.decisionId === decisionIdOf(event.seq))
      broken.push("4: the decider is asked about what only a person may answer");
  }
  const answers = effects.filter((effect) => effect.kind === "reply" && effect.requestId !== null);
  if (event.type === "request.answered" && event.data.by === "decider" && answers.length > 0) {
    const request = before.requests[event.data.requestId];
    if (request?.question?.phase !== "asked") broken.push("4: an answer of the decider to what it was not asked");
    if (!mayDecide(before)) broken.push("2: an answer of the decider although it may not decide");
  }
  for (const effect of effects) {
    if (effect.kind !== "record" || !("by" in effect.event.data) || effect.event.data.by !== "decider") continue;
    const said = event.type === "decision.made" && isAwaited(before, event.data.decisionId ?? "");
    if (!said) broken.push(`4: ${effect.event.type} in the name of a decider that was not asked`);
  }
  return broken;
}

/** A call that Claude kept and asks about anew after its resume: the answer that was given meanwhile is handed over. */
function isAskedAgain(before: TaskState, event: Extract<TaskEvent, { type: "gate.verdict" }>): boolean {
  const { verdict, requestId, toolUseId } = event.data;
  if (verdict === "deny" || requestId === undefined) return false;
  const request = before.requests[requestId];
  return (
    request !== undefined &&
    isDeferred(request) &&
    request.toolUseId === toolUseId &&
    request.answer?.decision !== "deny" &&
    request.phase === "answered"
  );
}

/** Acts that may lead out of an ended or stopped task. */
const LEAVES_AN_END: ReadonlySet<string> = new Set(["task.recovering", "stop.requested"]);

/** What people say to a worker: messages, and answers to what waits for them. */
import type { EventDraft, EventMap } from "../../core/events.ts";
import { refusal, requestRefusal } from "../../core/machine/admit.ts";
import type { RequestState, TaskState } from "../../core/machine/state.ts";
import { openSignOff } from "../../core/machine/verification.ts";
import { failure, type Result } from "../../core/result.ts";
import { answersOf } from "../answers.ts";
import type { Driver } from "../driver.ts";
import { type Claim, logFull, notOwned, type Scope } from "../scope.ts";
import { listRows, presentSnapshot, viewOfStored } from "../stored-task.ts";

export async function sendMessage(
  scope: Scope,
  taskId: string,
  text: string,
): Promise<Result<{ promptId: string; queued: boolean }>> {
  if (text.trim() === "") return failure("empty", "Say what the worker is to be told: `/supervise send <ID> <text>`.");
  const found = await scope.owned(taskId, "send");
  if (!found.ok) return found;
  const { driver } = found;
  const stored = driver.redactor.text(text);
  const promptId = scope.deps.ids.uuid();
  driver.raw.keepText(promptId, text);
  const { turn, requests } = driver.state;
  /* A call that was put off goes before it, though the turn in which it was asked is over. */
  const queued = turn.kind !== "idle" || Object.keys(requests).length > 0;
  const data = { promptId, source: "person", text: stored, redacted: stored !== text } as const;
  if (driver.record({ type: "prompt.queued", data }) !== "written") return logFull();
  const synced = await driver.synced();
  return synced.ok ? { ok: true, promptId, queued } : synced;
}

export type PersonsAnswer = { via: "command" | "dialog" } & (
  | { decision: "approve" | "deny"; note: string | undefined }
  | { decision: "answer"; text: string }
);

/** Durable when it resolves. Reasons: `no-request`, `request-lost`, `already-answered`, `needs-answer`, `live`, … */
export async function answerRequest(
  scope: Scope,
  requestId: string,
  given: PersonsAnswer,
): Promise<Result<{ taskId: string }>> {
  const owned = [...scope.drivers.values()].find(
    ({ state }) => state.requests[requestId] || isSignOff(state, requestId),
  );
  if (owned) return answerIn(owned, requestId, given, []);
  const found = await deferredElsewhere(scope, requestId);
  if (!found.ok) return found;
  const { driver, claim } = found;
  const answer = await answerIn(driver, requestId, given, [claim]);
  if (!answer.ok && driver.state.owner.kind === "none") await driver.release("failed");
  /* Nothing follows from a refused signature: whoever goes on with the task becomes its owner then. */ else if (
    driver.state.verification.kind === "denied"
  )
    await driver.release("ended");
  return answer;
}

function isSignOff(state: TaskState, requestId: string): boolean {
  return openSignOff(state)?.requestId === requestId;
}

async function answerIn(
  driver: Driver,
  requestId: string,
  given: PersonsAnswer,
  claim: EventDraft[],
): Promise<Result<{ taskId: string }>> {
  const request = driver.state.requests[requestId];
  const signOff = isSignOff(driver.state, requestId);
  if (!request && !signOff) return failure("request-lost", `Request ${requestId} is gone.`);
  const { taskId } = driver.state;
  const held = driver.estop.held();
  if (held) return held;
  const revived = request ? keptOverStop(driver.state, request) : null;
  const refused =
    (revived ? null : refusal(driver.state, given.decision)) ??
    requestRefusal(request ?? { requestId, kind: "sign-off", phase: "pending" }, given.decision);
  if (refused) return refused;
  const data: EventMap["request.answered"] = { requestId, decision: given.decision, by: "person", via: given.via };
  if (given.decision === "answer") {
    if (!request) return failure("no-question", `Request ${requestId} is not a question.`);
    const answers = answersOf(driver.raw.input(request.callId) ?? request.input, given.text);
    if (!answers.ok) return answers;
    driver.raw.keepAnswers(requestId, answers.answers);
    data.answers = driver.redactor.data(answers.answers);
  } else if (given.note !== undefined) {
    data.note = driver.redactor.text(given.note);
  }
  const again: EventDraft[] = revived ? [{ type: "task.recovering", data: revived }] : [];
  if (driver.record(...claim, ...again, { type: "request.answered", data }) !== "written") return logFull();
  const synced = await driver.synced();
  return synced.ok ? { ok: true, taskId } : synced;
}

/** An answer to what waited through an emergency stop takes the task up again: it is a person's explicit act. */
function keptOverStop({ stop, spec, sessionId }: TaskState, request: RequestState): EventMap["task.recovering"] | null {
  if (stop.kind !== "proven" || stop.by !== "estop" || request.deferral !== "deferred" || !spec) return null;
  return { fresh: false, resume: true, sessionId: sessionId ?? spec.sessionId };
}

/** A request that no driver of this process has open: a deferred one is claimed, everything else is refused by name. */
async function deferredElsewhere(scope: Scope, requestId: string): Promise<Result<{ driver: Driver; claim: Claim }>> {
  for (const { taskId, requests } of await listRows(scope.deps.layout)) {
    if (requests === 0 || scope.drivers.has(taskId)) continue;
    const read = await presentSnapshot(scope.deps.layout, taskId);
    const request = read.ok ? read.record.view.requests.find((one) => one.requestId === requestId) : undefined;
    if (!read.ok || !request) continue;
    const view = viewOfStored(read.record);
    if (view.owner?.alive) return notOwned(view);
    if (request.deferred) return scope.claim(taskId, "answer");
    return failure(
      "request-lost",
      `Request ${requestId} was lost with the worker of task ${taskId}; after \`/supervise recover ${taskId}\` Claude asks anew.`,
    );
  }
  return failure(
    "no-request",
    `There is no open request ${requestId.slice(0, 40)}; \`/supervise approvals\` lists them.`,
  );
}

/**
 * Making waiting requests durable: Claude keeps exactly one deferred call of an assistant message (the last one), and none
 * of a subagent's (2.1.268). So the last waiting call of the main loop is deferred, the others are refused with the word
 * that they may be asked again.
 */
import type { EventDraft } from "../events.ts";
import { pendingRequests } from "./requests.ts";
import type { RequestState, TaskState } from "./state.ts";

export const ASKED_AGAIN = "Another call of yours waits for a person's approval; ask for this one again after it.";
export const NEEDS_PERSON = "This call needs a person, who is not there; finish without it.";

/** Requests that still hold a call of the present worker open, for a person. */
export function heldRequests(state: TaskState): RequestState[] {
  return pendingRequests(state).filter((request) => request.deferral === "none" && request.askedOf === "person");
}

/**
 * The records that put all waiting requests off; empty when nothing waits. Claude asks about the calls of one message one
 * after the other, so that the last one may not have been asked about yet: then this one is refused, and that one waits.
 */
export function deferralPlan(state: TaskState): EventDraft[] {
  const held = pendingRequests(state).filter((request) => request.deferral === "none");
  const ofMain = Object.entries(state.tools).filter(([, tool]) => !tool.nested && !tool.allowed);
  const lastCall = ofMain.at(-1)?.[0];
  return held.map((request): EventDraft => {
    const { requestId, agentId, toolUseId } = request;
    if (agentId === null && toolUseId === lastCall) return { type: "request.deferring", data: { requestId } };
    const note = agentId === null ? ASKED_AGAIN : NEEDS_PERSON;
    return { type: "request.answered", data: { requestId, decision: "deny", by: "supervisor", via: "policy", note } };
  });
}

/** A call that Claude keeps over the end of its process. */
export function isDeferred(request: RequestState): boolean {
  return request.deferral === "deferred";
}

/** A deferred call whose answer is there: the session is resumed to hand it over. */
export function answeredWhileDeferred(state: TaskState): boolean {
  return Object.values(state.requests).some((request) => isDeferred(request) && request.phase === "answered");
}

export function deferredFor(state: TaskState, toolUseId: string): RequestState | undefined {
  return Object.values(state.requests).find((request) => isDeferred(request) && request.toolUseId === toolUseId);
}

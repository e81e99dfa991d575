/**
 * Questions that wait for someone: pending → answered → (replied) gone. Several can be open at once. A request leaves
 * the map when its answer has reached the worker, or when nobody can be answered any more.
 */
import type { EventMap, TaskEvent } from "../events.ts";
import { decisionIdOf, mayAsk } from "./decider.ts";
import { withNewest } from "./newest.ts";
import type { RequestState, TaskState } from "./state.ts";

const MAX_REMEMBERED_ANSWERS = 100;

type VerdictEvent = Extract<TaskEvent, { type: "gate.verdict" }>;

export function requests(state: TaskState, event: TaskEvent): TaskState {
  switch (event.type) {
    case "gate.verdict": {
      const request = state.spec ? toRequest(state, event) : null;
      if (!request) return state;
      const before = state.requests[request.requestId];
      if (before?.deferral === "deferred" && before.phase === "answered") {
        const asked: RequestState = { ...before, callId: request.callId, mono: request.mono, deferral: "none" };
        return { ...state, requests: { ...state.requests, [request.requestId]: asked } };
      }
      return { ...state, requests: { ...state.requests, [request.requestId]: request } };
    }
    case "request.answered": {
      const request = state.requests[event.data.requestId];
      if (request?.phase !== "pending") return state;
      if (event.data.by === "decider" && request.question?.phase !== "asked") return state;
      const answered: RequestState = { ...request, phase: "answered", answer: event.data };
      return {
        ...state,
        requests: { ...state.requests, [request.requestId]: answered },
        answered: remember(state.answered, request.toolUseId, event.data.decision),
      };
    }
    case "request.deferring": {
      const request = state.requests[event.data.requestId];
      if (request?.phase !== "pending" || request.deferral !== "none") return state;
      return { ...state, requests: { ...state.requests, [request.requestId]: { ...request, deferral: "asked" } } };
    }
    case "turn.result": {
      const kept = event.data.deferred?.toolUseId;
      const settled = Object.values(state.requests).flatMap((request) => {
        if (request.deferral !== "asked") return [request];
        return request.toolUseId === kept ? [{ ...request, deferral: "deferred" as const }] : [];
      });
      return { ...state, requests: Object.fromEntries(settled.map((request) => [request.requestId, request])) };
    }
    case "request.replied":
    case "request.cancelled": {
      const { [event.data.requestId]: _gone, ...rest } = state.requests;
      return { ...state, requests: rest };
    }
    case "worker.exited":
    case "worker.start-failed":
    case "owner.claimed":
      return { ...state, requests: deferredOnly(state.requests) };
    case "worker.swept":
      /* A stop that is not proven, by whatever way it came: nobody is answered any more. */
      if (state.stop.kind !== "unproven") return state;
      return { ...state, requests: state.stop.by === "estop" ? deferredOnly(state.requests) : {} };
    case "estop.requested":
    case "stop.requested":
    case "stop.proven": {
      /* What waits for a person outlives the emergency stop: it is lifted, and the person still decides. */
      const isKept = state.stop.kind !== "none" && state.stop.by === "estop";
      const kept = isKept ? deferredOnly(state.requests) : {};
      return state.stop.kind !== "none" && Object.keys(state.requests).length > 0
        ? { ...state, requests: kept }
        : state;
    }
    case "takeover.requested":
    case "task.completed":
    case "task.failed":
      return Object.keys(state.requests).length > 0 ? { ...state, requests: {} } : state;
    default:
      return state;
  }
}

/** What outlives a worker's process. */
export function deferredOnly(requests: TaskState["requests"]): TaskState["requests"] {
  return Object.fromEntries(Object.entries(requests).filter(([, request]) => request.deferral === "deferred"));
}

export function pendingRequests(state: TaskState): RequestState[] {
  return Object.values(state.requests).filter((request) => request.phase === "pending");
}

function toRequest(state: TaskState, event: VerdictEvent): RequestState | null {
  const { data, at, mono, seq } = event;
  if (data.requestId === undefined || data.verdict === "allow" || data.verdict === "deny") return null;
  return {
    requestId: data.requestId,
    callId: data.callId,
    toolUseId: data.toolUseId,
    toolName: data.toolName,
    kind: data.kind ?? "tool",
    input: data.input,
    cwd: data.cwd,
    ask: data.ask ?? null,
    rule: data.rule,
    reason: data.reason,
    loss: data.loss ?? null,
    agentId: data.agentId ?? null,
    ...whoAnswers(state, data, seq),
    passedOn: null,
    since: at,
    mono,
    phase: "pending",
    deferral: "none",
    answer: null,
  };
}

/**
 * Who is asked about a call that the gate does not answer: the decider about a `review` whose harm could be undone, and
 * only where it may decide; else a person, who stays the one for a call that was put off for them.
 */
function whoAnswers(
  state: TaskState,
  data: EventMap["gate.verdict"],
  seq: number,
): Pick<RequestState, "askedOf" | "question"> {
  const before = data.requestId === undefined ? undefined : state.requests[data.requestId];
  const others = { ...state, requests: without(state.requests, data.requestId) };
  const undoable = data.verdict === "review" && data.loss !== "lost";
  if (!undoable || before?.askedOf === "person" || !mayAsk(others)) return { askedOf: "person", question: null };
  return { askedOf: "decider", question: { decisionId: decisionIdOf(seq), phase: "wanted" } };
}

function without(requests: TaskState["requests"], requestId: string | undefined): TaskState["requests"] {
  return Object.fromEntries(Object.entries(requests).filter(([id]) => id !== requestId));
}

function remember(answers: TaskState["answered"], toolUseId: string, decision: "approve" | "deny" | "answer") {
  return withNewest(answers, toolUseId, decision, MAX_REMEMBERED_ANSWERS);
}

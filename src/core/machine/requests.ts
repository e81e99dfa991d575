/**
 * Questions that wait for someone: pending → answered → (replied) gone. Several can be open at once. A request leaves
 * the map when its answer has reached the worker, or when nobody can be answered any more.
 */
import type { EventMap, TaskEvent } from "../events.ts";
import type { AskedOf, RequestState, TaskSpec, TaskState } from "./state.ts";

const MAX_REMEMBERED_ANSWERS = 100;

export function requests(state: TaskState, event: TaskEvent): TaskState {
  switch (event.type) {
    case "gate.verdict": {
      const request = state.spec ? toRequest(state.spec, event.data, event.at, event.mono) : null;
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
      const answered: RequestState = { ...request, phase: "answered", answer: event.data };
      return {
        ...state,
        requests: { ...state.requests, [request.requestId]: answered },
        answered: remember(state.answered, request.toolUseId, event.data.decision),
      };
    }
    case "automation.changed":
      return event.data.to === "off" ? { ...state, requests: askedOfPeople(state.requests) } : state;
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
    case "stop.requested":
    case "takeover.requested":
    case "stop.proven":
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

/** What waits for the decider waits for a person from now on: its answer would not count any more. */
function askedOfPeople(requests: TaskState["requests"]): TaskState["requests"] {
  return Object.fromEntries(Object.entries(requests).map(([id, request]) => [id, { ...request, askedOf: "person" }]));
}

function toRequest(spec: TaskSpec, data: EventMap["gate.verdict"], at: string, mono: number): RequestState | null {
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
    askedOf: whoAnswers(spec),
    since: at,
    mono,
    phase: "pending",
    deferral: "none",
    answer: null,
  };
}

/** Who is asked about a call that the gate does not answer. Until a decider exists it is always the person. */
function whoAnswers(_spec: TaskSpec): AskedOf {
  return "person";
}

function remember(answers: TaskState["answered"], toolUseId: string, decision: "approve" | "deny" | "answer") {
  const kept = Object.entries(answers).slice(-(MAX_REMEMBERED_ANSWERS - 1));
  return { ...Object.fromEntries(kept), [toolUseId]: decision };
}

/**
 * What the Decision Worker is asked in automatic mode. A question is wanted, then asked (durable before its prompt leaves),
 * then gone: answered, or passed on to a person. About a waiting call it stands in the request itself; about the
 * conversation as a whole (a turn's end, an unexpected exit) there is one at a time:
 *
 *   none → wanted → asked → verify, or send (a message), or none
 *
 * Whatever takes the right to decide away (a stop, a hold, a person who has the wheel or is being asked) takes its open
 * questions back in the same step: an answer that still comes finds no question (invariants 2 and 3).
 */
import type { EventMap, TaskEvent } from "../events.ts";
import { isAutomatic } from "./automation.ts";
import { isOverBudget } from "./spending.ts";
import type { DeciderState, RequestState, TaskState } from "./state.ts";
import { isActive, openSignOff } from "./verification.ts";

/** Unexpected exits that the decider may have resumed until a person has to look. */
export const MAX_RESUMES = 3;
/** Turns' ends in a row that the decider may answer with `continue`; then the verification runs. */
export const MAX_CONTINUES = 5;
/** Where a task says nothing else (commands.md, Defaults). */
export const DEFAULT_MAX_DECISIONS = 200;

export function decider(state: TaskState, event: TaskEvent): TaskState {
  return takenBack(moved(state, event));
}

function moved(state: TaskState, event: TaskEvent): TaskState {
  const d = state.decider;
  const to = (next: Partial<DeciderState>): TaskState => ({ ...state, decider: { ...d, ...next } });
  const afresh = { about: { kind: "none" }, failed: null } as const;
  switch (event.type) {
    case "owner.claimed":
      return event.data.why === "start" ? state : to(afresh);
    case "task.recovering":
      return event.data.by === "decider"
        ? to({ ...afresh, resumes: d.resumes + 1 })
        : to({ ...afresh, resumes: 0, continues: 0, continuedTree: null });
    case "turn.result":
    case "prompt.intent":
    case "worker.init":
      return to(afresh);
    case "prompt.queued":
      return to({ ...afresh, resumes: 0, continues: 0, continuedTree: null });
    case "verify.started":
      return to({ continues: 0, continuedTree: null });
    case "decision.asked":
      return asked(state, event.data);
    /* The reviewer's model is paid from the same budget. */
    case "review.finished":
      return event.data.usd === undefined ? state : paid(state, event.data.usd);
    case "decision.made":
      return made(state, event.data);
    default:
      return state;
  }
}

function asked(state: TaskState, { decisionId, treeId }: EventMap["decision.asked"]): TaskState {
  const { about } = state.decider;
  if (about.kind === "wanted" && about.decisionId === decisionId) {
    return { ...state, decider: { ...state.decider, about: { ...about, kind: "asked", treeId: treeId ?? null } } };
  }
  const request = requestAsked(state, decisionId);
  if (request?.question?.phase !== "wanted") return state;
  return withRequest(state, { ...request, question: { decisionId, phase: "asked" } });
}

function made(before: TaskState, data: EventMap["decision.made"]): TaskState {
  const state = counted(before, data);
  const { about } = state.decider;
  const to = (next: Partial<DeciderState>): TaskState => ({ ...state, decider: { ...state.decider, ...next } });
  if (about.kind === "asked" && about.decisionId === data.decisionId) {
    if (about.about === "exit") return to({ about: { kind: "none" } });
    if (data.decision === "continue" && data.message !== undefined && !isOverBudget(state)) {
      const { continues, continuedTree } = state.decider;
      const unchanged = about.treeId !== null && about.treeId === continuedTree;
      if (!unchanged && continues < MAX_CONTINUES) {
        const sent = { continues: continues + 1, continuedTree: about.treeId };
        return to({ ...sent, about: { kind: "send", message: data.message } });
      }
    }
    const { code = "model-error", reason = "" } = data;
    /* Where Pi has no model for it there is no decider, and so none that failed. */
    const failed = data.decision === "unavailable" && code !== "no-model" ? { code, reason } : null;
    return to({ about: { kind: "verify" }, failed });
  }
  const request = requestAsked(state, data.decisionId);
  if (request?.question?.phase !== "asked" || answersRequest(request, data) !== null) return state;
  return withRequest(
    state,
    toPerson(request, state.mono, { why: data.code ?? data.decision, reason: data.reason ?? "" }),
  );
}

/** What the decider's word answers this request with; null when it is a person's. */
export function answersRequest(
  request: RequestState,
  { decision, answers }: EventMap["decision.made"],
): "approve" | "deny" | "answer" | null {
  if (decision === "deny") return "deny";
  if (decision === "approve" && request.kind !== "question") return "approve";
  return decision === "answer" && request.kind === "question" && answers !== undefined ? "answer" : null;
}

/** Questions that the model answered count, rightly or not; waits, errors and voided ones don't. */
const UNCOUNTED: ReadonlySet<string> = new Set(["timeout", "model-error", "aborted", "no-model"]);

function counted(state: TaskState, { code, usd }: EventMap["decision.made"]): TaskState {
  const d = state.decider;
  const decisions = d.decisions + (code !== undefined && UNCOUNTED.has(code) ? 0 : 1);
  return paid({ ...state, decider: { ...d, decisions } }, usd);
}

function paid(state: TaskState, usd: number | undefined): TaskState {
  if (usd === undefined || !Number.isFinite(usd) || usd < 0) return state;
  return { ...state, decider: { ...state.decider, usd: (state.decider.usd ?? 0) + usd } };
}

/** The decider may be asked, and its answers count. */
export function mayDecide(state: TaskState): boolean {
  const { spec, owner, control, stop, ended } = state;
  if (spec?.mode !== "auto" || spec.transport !== "claude-jsonl") return false;
  if (owner.kind !== "held" || control.kind !== "supervised" || stop.kind !== "none" || ended.kind !== "no")
    return false;
  const waits = openSignOff(state) !== null || Object.values(state.requests).some(waitsForPerson);
  return isAutomatic(state) && !waits;
}

/** One more question may be put. */
export function mayAsk(state: TaskState): boolean {
  return mayDecide(state) && decisionsLeft(state) > 0 && !isOverBudget(state);
}

export function decisionsLeft(state: TaskState): number {
  const open = Object.values(state.requests).filter((request) => isWithDecider(request)).length;
  const max = state.spec?.limits.maxDecisions ?? DEFAULT_MAX_DECISIONS;
  return max - state.decider.decisions - open - (isOpen(state) ? 1 : 0);
}

/** Pending, and nobody but a person answers it: also what was put off in a worker that has left. */
export function waitsForPerson(request: RequestState): boolean {
  return request.phase === "pending" && (request.askedOf === "person" || request.deferral !== "none");
}

/** A turn's end or an exit is being judged. */
export function isOpen({ decider: { about } }: TaskState): boolean {
  return about.kind === "wanted" || about.kind === "asked";
}

/** Whether an answer to this question would still be heard. */
export function isAwaited(state: TaskState, decisionId: string): boolean {
  const { about } = state.decider;
  if ((about.kind === "wanted" || about.kind === "asked") && about.decisionId === decisionId) return true;
  return requestAsked(state, decisionId) !== undefined;
}

export function requestAsked(state: TaskState, decisionId: string | undefined): RequestState | undefined {
  if (decisionId === undefined) return undefined;
  return Object.values(state.requests).find((one) => isWithDecider(one) && one.question?.decisionId === decisionId);
}

function isWithDecider(request: RequestState): boolean {
  return request.phase === "pending" && request.askedOf === "decider" && request.deferral === "none";
}

/** Unique in the log: there is one question at most for each event. */
export function decisionIdOf(seq: number): string {
  return `d${seq}`;
}

/** What nobody may decide any more is taken back: a call then waits for a person, a turn's end is judged anew. */
function takenBack(state: TaskState): TaskState {
  const mine = Object.values(state.requests).filter(isWithDecider);
  const allowed = mayDecide(state);
  const { about } = state.decider;
  const apt = about.kind === "none" || (allowed && isApt(state, about));
  if (apt && (allowed || mine.length === 0)) return state;
  const requests = allowed
    ? state.requests
    : Object.fromEntries(
        Object.entries(state.requests).map(([id, request]) => [
          id,
          isWithDecider(request) ? toPerson(request, state.mono, null) : request,
        ]),
      );
  return { ...state, requests, decider: apt ? state.decider : { ...state.decider, about: { kind: "none" } } };
}

function isApt(state: TaskState, about: Exclude<DeciderState["about"], { kind: "none" }>): boolean {
  const open = about.kind === "wanted" || about.kind === "asked";
  if (open && isActive(state.verification)) return false;
  if (open && about.about === "exit") return state.worker.kind === "gone";
  return state.turn.kind === "idle";
}

/** Patience runs from here on. */
function toPerson(request: RequestState, mono: number, passedOn: RequestState["passedOn"]): RequestState {
  return { ...request, askedOf: "person", question: null, passedOn, mono };
}

function withRequest(state: TaskState, request: RequestState): TaskState {
  return { ...state, requests: { ...state.requests, [request.requestId]: request } };
}

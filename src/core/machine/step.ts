/**
 * The one function that moves a task: `step(state, event) -> { state, effects }`.
 *
 * An event passes the small machines in a fixed order; each reads what the earlier ones already changed:
 *
 *   owner → budgets → stall → tools → stop → ended → verification → requests → prompts → control → worker → turn → hold → counters
 *
 * `control` stands before `worker`, whose process it asks about. `budgets` and `tools` stand before the machines whose old state they ask for; `ended` stands before `verification`
 * because `completed` needs the verdict that `verification` then closes. After that `answer` says what this very event
 * calls for, and `next` what the state as a whole wants now. Arbitration lives here and nowhere else: a stop wins over
 * everything, a person over automation, a verdict counts only for the present tree.
 */
import { classifyResult } from "../classify.ts";
import type { GateReply } from "../contracts/worker.ts";
import type { EventDraft, TaskEvent } from "../events.ts";
import { evidencePrompt, GO_ON } from "../prompts.ts";
import { budgets } from "./budgets.ts";
import { control, hasProcess } from "./control.ts";
import { counters } from "./counters.ts";
import { deadlines } from "./deadlines.ts";
import { answeredWhileDeferred, deferralPlan, isDeferred } from "./deferral.ts";
import type { Effect } from "./effects.ts";
import { ended } from "./ended.ts";
import { hasLostItsPipe, hold, roundsUsedUp } from "./hold.ts";
import { arrivesLate } from "./late.ts";
import { owner } from "./owner.ts";
import { prompts } from "./prompts.ts";
import { requests } from "./requests.ts";
import { denialsOf, MAX_EQUAL_DENIALS, stall } from "./stall.ts";
import type { ResultFacts, TaskState } from "./state.ts";
import { stop } from "./stop.ts";
import { ranUngated, tools } from "./tools.ts";
import { turn } from "./turn.ts";
import { isActive, verification } from "./verification.ts";
import { worker } from "./worker.ts";

export interface Step {
  state: TaskState;
  effects: Effect[];
}

const MACHINES = [
  owner,
  budgets,
  stall,
  tools,
  stop,
  ended,
  verification,
  requests,
  prompts,
  control,
  worker,
  turn,
  hold,
  counters,
];

/** Milliseconds between stdin EOF and TERM, by the reason of the end (commands.md, Defaults). */
const EXIT_MS = { completed: 2_000, deferral: 10_000, other: 30_000 } as const;
const QUIT_EXIT_MS = 500;

/** After these ends of a process the conversation may go on in a new one by itself. */
const RESUMABLE: ReadonlySet<string> = new Set(["unexpected", "completed", "exhausted"]);

const PERMITTED_MODES: ReadonlySet<string> = new Set(["default", "plan"]);

export function step(before: TaskState, event: TaskEvent): Step {
  const stamped = stamp(before, event);
  if (arrivesLate(before, event)) {
    const late = { ...stamped.counters, lateEvents: stamped.counters.lateEvents + 1 };
    return { state: { ...stamped, counters: late }, effects: answerLate(event) };
  }
  const moved = MACHINES.reduce((state, machine) => machine(state, event), stamped);
  const effects = answer(before, moved, event);
  return next(moved, effects);
}

function stamp(state: TaskState, event: TaskEvent): TaskState {
  const stamped: TaskState = { ...state, seq: event.seq, at: event.at, mono: event.mono };
  switch (event.type) {
    case "task.created":
      return { ...stamped, spec: event.data, createdAt: event.at, sessionId: event.data.sessionId };
    case "worker.heartbeat":
    case "timer.fired":
    case "rejected":
    case "notice":
      return stamped;
    case "worker.init":
      return { ...stamped, progressMono: event.mono, model: event.data.model ?? state.model };
    case "worker.started":
      return { ...stamped, progressMono: event.mono, executable: event.data.executable };
    case "worker.rate-limit":
      return {
        ...stamped,
        progressMono: event.mono,
        limitEndsAt: event.data.status === "rejected" ? (event.data.resetsAt ?? null) : null,
      };
    case "turn.result": {
      const lastResult = { facts: event.data, at: event.at };
      return { ...stamped, progressMono: event.mono, lastResult, serviceFailures: serviceFailures(state, event.data) };
    }
    case "worker.conversation-reset":
      return { ...stamped, progressMono: event.mono, sessionId: event.data.sessionId ?? state.sessionId };
    default:
      return { ...stamped, progressMono: event.mono };
  }
}

function serviceFailures(state: TaskState, result: ResultFacts): number {
  const judged = classifyResult(result);
  if (judged.ok) return 0;
  return judged.reason === "rate-limited" || judged.reason === "overloaded"
    ? state.serviceFailures + 1
    : state.serviceFailures;
}

/** A call that comes after a stop or an end is denied; everything else late is only noted. */
function answerLate(event: TaskEvent): Effect[] {
  if (event.type !== "gate.verdict") return [];
  const { callId, toolUseId } = event.data;
  const reply = {
    decision: "deny",
    reason: "The supervisor has stopped this task; end your turn.",
    endTurn: true,
  } as const;
  return [{ kind: "reply", callId, toolUseId, requestId: null, reply }];
}

/** What this event calls for, once. */
function answer(before: TaskState, after: TaskState, event: TaskEvent): Effect[] {
  switch (event.type) {
    case "gate.verdict": {
      const { callId, toolUseId, verdict, reason } = event.data;
      const request = event.data.requestId === undefined ? undefined : after.requests[event.data.requestId];
      if (request?.phase === "answered" && request.answer) {
        return [{ kind: "reply", callId, toolUseId, requestId: request.requestId, reply: toReply(request.answer) }];
      }
      if (request) return [];
      const allowed = verdict === "allow";
      const reply = allowed ? ({ decision: "allow" } as const) : denied(after, event.data.ask, denial(reason));
      return [{ kind: "reply", callId, toolUseId, requestId: null, reply }];
    }
    case "request.deferring": {
      const request = after.requests[event.data.requestId];
      if (request?.deferral !== "asked") return [];
      const { callId, toolUseId } = request;
      return [
        {
          kind: "reply",
          callId,
          toolUseId,
          requestId: null,
          reply: { decision: "defer", reason: "A person is asked." },
        },
      ];
    }
    case "turn.result":
      return Object.values(after.requests).some(isDeferred) && hasProcess(after)
        ? [{ kind: "end-worker", why: "deferral", exitMs: EXIT_MS.deferral }]
        : [];
    case "request.answered": {
      const request = before.requests[event.data.requestId];
      if (request?.phase !== "pending" || request.deferral !== "none") return [];
      const { callId, toolUseId, requestId } = request;
      const reply = toReply(event.data);
      const final = reply.decision === "deny" ? denied(after, request.ask ?? undefined, reply.reason) : reply;
      return [{ kind: "reply", callId, toolUseId, requestId, reply: final }];
    }
    case "tool.result":
      if (!ranUngated(before, event.data)) return [];
      return [
        incident(
          "ungated-call",
          `A tool call ran without a gate event (${event.data.toolUseId}).`,
          event.data.toolUseId,
        ),
      ];
    case "worker.init":
      if (PERMITTED_MODES.has(event.data.permissionMode)) return [];
      return [
        incident(
          "permission-mode",
          `Claude reports the permission mode "${event.data.permissionMode}", which is wider than asked for.`,
        ),
      ];
    case "gate.incident":
      return [{ kind: "end-worker", why: "incident", exitMs: QUIT_EXIT_MS }];
    case "verify.finished":
      if (after.verification.kind !== "confirming") return [];
      return [{ kind: "confirm-tree", treeId: event.data.treeId, by: event.data.by, round: event.data.round }];
    case "task.completed":
      if (after.ended.kind !== "completed" || before.ended.kind !== "no") return [];
      return hasProcess(after) ? [{ kind: "end-worker", why: "completed", exitMs: EXIT_MS.completed }] : [];
    case "worker.exited":
    case "worker.start-failed":
      if (after.stop.kind !== "none" || after.resources.length === 0) return [];
      return [{ kind: "sweep" }];
    case "worker.spawned":
      /* A stop overtook the spawn: what has just appeared must go too. */
      return after.stop.kind === "requested" ? [teardown(after)] : [];
    case "stop.requested":
      return after.stop.kind === "requested" ? [teardown(after)] : [];
    case "owner.claimed":
      /* Nothing else follows for such a task that would look after what the old worker left. */
      return event.data.why === "recover" && hasLostItsPipe(after) && after.resources.length > 0
        ? [{ kind: "sweep" }]
        : [];
    case "task.recovering":
      return after.stop.kind === "none" && after.resources.length > 0 ? [{ kind: "sweep" }] : [];
    case "pause.requested":
      return after.control.kind === "pausing" ? [{ kind: "end-worker", why: "pause", exitMs: EXIT_MS.other }] : [];
    case "timer.fired":
      return watchdog(after, event.data.name);
    default:
      return [];
  }
}

/** What the state as a whole wants now; wanting is marked, so that it is asked for once. */
function next(state: TaskState, effects: Effect[]): Step {
  const { worker: w, verification: v, spec } = state;
  const ours = state.owner.kind === "held" && state.control.kind === "supervised";
  const free = ours && state.stop.kind === "none" && state.ended.kind === "no";
  if (!free || spec === null) return { state, effects };

  if (w.kind === "wanted") {
    if (state.resources.length > 0) return { state, effects };
    const { resume, sessionId } = w;
    const spawning: TaskState = {
      ...state,
      worker: { kind: "spawning", workerId: "", sessionId, resume, mono: state.mono },
    };
    return { state: spawning, effects: [...effects, { kind: "spawn", resume, sessionId }] };
  }
  const resting = isIdle(state);
  if (v.kind === "wanted" && resting) {
    const round = state.budgets.rounds + 1;
    const running: TaskState = { ...state, verification: { kind: "running", by: v.by, mono: state.mono } };
    return { state: running, effects: [...effects, { kind: "verify", by: v.by, round }] };
  }
  if (isActive(v)) return { state, effects };
  const rests = (w.kind === "gone" && w.why === "deferral") || w.kind === "none";
  if (rests && state.resources.length === 0 && answeredWhileDeferred(state)) {
    const sessionId = state.sessionId ?? spec.sessionId;
    return next({ ...state, worker: { kind: "wanted", resume: true, sessionId } }, effects);
  }
  if (w.kind === "gone" && state.resources.length === 0 && state.hold?.fault !== true) {
    const asked = state.hold !== null && w.reason?.startsWith("worker-exit") === false;
    if ((w.why === "unexpected" && !asked) || w.why === "start-failed")
      return { state, effects: [...effects, failed(w)] };
  }
  if (spec.mode === "auto" && wantsVerification(state)) {
    return { state, effects: [...effects, record({ type: "verify.requested", data: { by: "auto" } })] };
  }
  const message = nextMessage(state);
  if (message === null) return { state, effects };
  if (w.kind === "gone" && state.resources.length === 0 && RESUMABLE.has(w.why)) {
    const sessionId = state.sessionId ?? spec.sessionId;
    return next({ ...state, worker: { kind: "wanted", resume: true, sessionId } }, effects);
  }
  if (w.kind !== "live" || !resting) return { state, effects };
  const sending: TaskState = {
    ...state,
    turn: { kind: "sending", source: message.source, promptId: message.promptId, mono: state.mono },
  };
  return { state: sending, effects: [...effects, { kind: "send", ...message }] };
}

/** Nothing of the conversation is under way and nobody is being asked. */
export function isIdle(state: TaskState): boolean {
  const { worker: w, turn: t } = state;
  const still = t.kind === "none" || t.kind === "idle";
  const quiet = w.kind === "live" || w.kind === "gone" || w.kind === "none";
  return still && quiet && Object.keys(state.requests).length === 0;
}

/** An automatic task verifies each good result, once. */
function wantsVerification(state: TaskState): boolean {
  if (state.turn.kind !== "idle" || state.hold !== null || !isIdle(state)) return false;
  if (state.prompts.queue.length > 0 || state.prompts.goOn) return false;
  const { verification: v } = state;
  return v.kind === "none" || (v.kind === "error" && v.facts.reason === "tree-changed");
}

interface Message {
  source: "goal" | "person" | "verifier" | "recover";
  promptId: string | null;
  text: string;
  redacted: boolean;
}

/** The one message to send next. A hold stops all but a person's. */
function nextMessage(state: TaskState): Message | null {
  const { spec, prompts: p, verification: v } = state;
  if (!spec) return null;
  const started = state.worker.kind === "live" && state.turn.kind === "none";
  const automatic = state.hold === null;
  if (started && automatic && !p.goalGiven) {
    return { source: "goal", promptId: null, text: spec.goal, redacted: spec.goalRedacted };
  }
  if (automatic && p.goOn && state.turn.kind !== "waiting")
    return { source: "recover", promptId: null, text: GO_ON, redacted: false };
  const queued = p.queue[0];
  if (queued && state.hold?.fault !== true) return { ...queued, source: "person" };
  if (automatic && spec.mode === "auto" && v.kind === "failed" && !roundsUsedUp(state)) {
    const text = evidencePrompt(v.facts, spec.limits.maxRounds, state.budgets.failedRounds);
    return { source: "verifier", promptId: null, text, redacted: false };
  }
  return null;
}

function watchdog(state: TaskState, name: string): Effect[] {
  const stopBy = (cause: string, reason: string): Effect[] => {
    if (state.stop.kind !== "none" || state.ended.kind !== "no") return [];
    return [
      record({ type: "stop.requested", data: { by: "watchdog", kind: "graceful", reason, end: "failed", cause } }),
    ];
  };
  const { what, length = 0 } = deadlines(state).find((deadline) => deadline.name === name) ?? {};
  const spent = duration(length);
  switch (name) {
    case "patience":
      return deferralPlan(state).map(record);
    case "quiet":
      return stopBy("stalled-no-result", `For ${spent} there was no ${what ?? "output"}, and no result.`);
    case "tool-cap":
      return stopBy("tool-cap", `${capital(what ?? "a tool call")} ran longer than the ${spent} that any may.`);
    case "wall":
      return stopBy("wall-clock", `The task used up its time (${spent}).`);
    default:
      return [];
  }
}

function failed(gone: { reason: string | null; message: string | null }): Effect {
  const reason = gone.reason ?? "worker-exit unknown";
  const said = gone.message === null || gone.message.trim() === "" ? "" : ` It said: ${gone.message.trim()}`;
  /* A start that failed (`worker-exit` alone) says itself what happened. */
  const message = reason.startsWith("worker-exit ")
    ? `Claude ended by itself (${reason.slice("worker-exit ".length)}) in the middle of the task.${said}`
    : (gone.message ?? reason);
  return record({ type: "task.failed", data: { reason, message } });
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function duration(ms: number): string {
  if (ms < 1_000) return `${ms} ms`;
  if (ms < 120_000) return `${Math.round(ms / 1_000)} s`;
  const minutes = Math.round(ms / 60_000);
  return minutes < 120 ? `${minutes} minutes` : `${Math.round(minutes / 60)} hours`;
}

function incident(fault: string, detail: string, toolUseId?: string): Effect {
  return record({ type: "gate.incident", data: { fault, detail, ...(toolUseId === undefined ? {} : { toolUseId }) } });
}

function teardown(state: TaskState): Effect {
  const how = state.stop.kind === "requested" ? state.stop.how : "now";
  return { kind: "teardown", how, graceMs: state.spec?.limits.stopGraceMs ?? 5_000 };
}

function record(event: EventDraft): Effect {
  return { kind: "record", event };
}

/** The denial that makes an ask one too many ends the turn as well. */
function denied(state: TaskState, ask: string | undefined, reason: string): GateReply {
  const endTurn = denialsOf(state, ask) >= MAX_EQUAL_DENIALS;
  return { decision: "deny", reason, ...(endTurn ? { endTurn } : {}) };
}

function denial(reason: string): string {
  return `Denied by the supervisor's policy: ${reason}`;
}

function toReply(answered: Extract<TaskEvent, { type: "request.answered" }>["data"]) {
  switch (answered.decision) {
    case "deny": {
      const note = answered.note?.trim() ?? "";
      if (answered.by === "supervisor" && note !== "") return { decision: "deny", reason: note } as const;
      return {
        decision: "deny",
        reason: note === "" ? "A person denied this call." : `A person denied this call: ${note}`,
      } as const;
    }
    case "answer":
      return { decision: "allow", updatedInput: { answers: answered.answers ?? {} } } as const;
    case "approve":
      return { decision: "allow" } as const;
  }
}

/** What one event calls for, once: replies, teardowns, records. The state has already moved. */
import type { EventDraft, EventMap, TaskEvent } from "../events.ts";
import { wallLength } from "./budgets.ts";
import { closeOutMs } from "./closing.ts";
import { hasProcess, isTakenOver } from "./control.ts";
import { deadlines } from "./deadlines.ts";
import { answersRequest, decisionIdOf, requestAsked } from "./decider.ts";
import { deferralPlan, isDeferred } from "./deferral.ts";
import { type Effect, record } from "./effects.ts";
import { hasLostItsPipe } from "./hold.ts";
import { denial, denied, toReply } from "./replies.ts";
import type { TaskState } from "./state.ts";
import { ranUngated } from "./tools.ts";
import { budgetWarnings } from "./warnings.ts";

/** Milliseconds between stdin EOF and TERM, by the reason of the end (commands.md, Defaults). */
const EXIT_MS = { completed: 2_000, deferral: 10_000, other: 30_000 } as const;
const QUIT_EXIT_MS = 500;
/** A person waits for the terminal; TERM saves the session too (2.1.268). */
const TAKEOVER_EXIT_MS = 2_000;

/** The rule by which the gate denies what it failed on. */
const INTERNAL_ERROR = "policy.internal-error";
/** Complaints of the worker's adapter that mean a call nobody could look at; it has denied it. */
const UNREADABLE_CALL: ReadonlySet<string> = new Set(["gate-unreadable", "bad-control", "listener-failed"]);

const PERMITTED_MODES: ReadonlySet<string> = new Set(["default", "plan"]);

/** A call that comes after a stop or an end is denied; everything else late is only noted. */
export function answerLate(state: TaskState, event: TaskEvent): Effect[] {
  if (event.type !== "gate.verdict") return [];
  const { callId, toolUseId } = event.data;
  const reply = { decision: "deny", reason: lateReason(state), endTurn: true } as const;
  return [{ kind: "reply", callId, toolUseId, requestId: null, reply }];
}

/** Why a call that comes too late does not run. */
export function lateReason(state: TaskState): string {
  if (state.control.kind === "pausing") return "A person pauses this task; end your turn.";
  return isTakenOver(state)
    ? "A person takes this session over; end your turn."
    : "The supervisor has stopped this task; end your turn.";
}

/** What this event calls for, once. */
export function answer(before: TaskState, after: TaskState, event: TaskEvent): Effect[] {
  return [...budgetWarnings(before, after, event).map(record), ...follows(before, after, event)];
}

function follows(before: TaskState, after: TaskState, event: TaskEvent): Effect[] {
  switch (event.type) {
    case "gate.verdict": {
      const { callId, toolUseId, verdict, reason, requestId } = event.data;
      /* A verdict of the gate itself is the last word, whatever else was answered before. */
      const asks = verdict === "review" || verdict === "person";
      const request = asks && requestId !== undefined ? after.requests[requestId] : undefined;
      if (request?.phase === "answered" && request.answer) {
        return [
          {
            kind: "reply",
            callId,
            toolUseId,
            requestId: request.requestId,
            reply: toReply(request.answer, request.kind),
          },
        ];
      }
      if (request?.question?.decisionId === decisionIdOf(event.seq)) {
        const { kind, requestId } = request;
        return [{ kind: "decide", decisionId: decisionIdOf(event.seq), about: kind, requestId }];
      }
      if (request) return [];
      const allowed = verdict === "allow";
      const failed = event.data.rule === INTERNAL_ERROR ? [incident("gate-failure", reason, toolUseId)] : [];
      const reply = allowed ? ({ decision: "allow" } as const) : denied(after, event.data.ask, denial(reason));
      return [{ kind: "reply", callId, toolUseId, requestId: null, reply }, ...failed];
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
        ? [...leftBehind(after), { kind: "end-worker", why: "deferral", exitMs: EXIT_MS.deferral }]
        : [];
    case "decision.made":
      return decided(before, event.data).map(record);
    case "request.answered": {
      if (before.verification.kind === "signing") return confirmTree(before, after);
      const request = before.requests[event.data.requestId];
      if (request?.phase !== "pending" || request.deferral !== "none") return [];
      if (event.data.by === "decider" && request.question?.phase !== "asked") return [];
      const { callId, toolUseId, requestId } = request;
      if (after.control.kind !== "supervised" || after.owner.kind !== "held") {
        const reply = { decision: "deny", reason: lateReason(after), endTurn: true } as const;
        return [{ kind: "reply", callId, toolUseId, requestId, reply }];
      }
      const reply = toReply(event.data, request.kind);
      const final = reply.decision === "deny" ? denied(after, request.ask ?? undefined, reply.reason ?? "") : reply;
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
    case "worker.protocol-error":
      return UNREADABLE_CALL.has(event.data.code) ? [incident("gate-failure", event.data.detail)] : [];
    case "prompt.failed":
      return event.data.reason === "key-conflict" ? [incident("duplicate-send", event.data.message)] : [];
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
    case "review.finished": {
      const { kind } = after.verification;
      if (after.closing.kind === "close-out" && (kind === "failed" || kind === "revise") && after.hold === null)
        return watchdog(after, "close-out");
      return afterVerdict(before, after);
    }
    case "task.completed":
      if (after.ended.kind !== "completed" || before.ended.kind !== "no") return [];
      if (hasProcess(after)) return [{ kind: "end-worker", why: "completed", exitMs: EXIT_MS.completed }];
      /* Signed after its worker's Pi was killed: nobody has looked after what that worker left. */
      return after.resources.length > 0 ? [{ kind: "sweep" }] : [];
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
      return claimedAlone(after, event.data.why) ? [...sweep(after), ...reviewAnew(after)] : [];
    case "task.recovering":
      return after.stop.kind === "none" ? [...sweep(after), ...reviewAnew(after)] : [];
    case "pause.requested":
      return after.control.kind === "pausing" ? [{ kind: "end-worker", why: "pause", exitMs: EXIT_MS.other }] : [];
    case "takeover.requested":
      return takeover(before, after);
    case "timer.fired":
      return watchdog(after, event.data.name);
    default:
      return [];
  }
}

function sweep({ resources }: TaskState): Effect[] {
  return resources.length > 0 ? [{ kind: "sweep" }] : [];
}

/** The Pi that asked the reviewer about this candidate is gone, and the verdict of the commands is not. */
function reviewAnew({ verification: v }: TaskState): Effect[] {
  return v.kind === "reviewing" && !v.begun ? [{ kind: "review" }] : [];
}

/** What a pass, or a reviewer's word about it, leads to. */
function afterVerdict(before: TaskState, after: TaskState): Effect[] {
  const { kind } = after.verification;
  if (kind === before.verification.kind) return [];
  if (kind === "reviewing") return [{ kind: "review" }];
  return kind === "signing" ? [{ kind: "ask-sign-off" }] : confirmTree(before, after);
}

/** Goes on, if at all, without a `task.recovering`: a pipe without its worker, and an answer to a call that was put off. */
function claimedAlone(state: TaskState, why: EventMap["owner.claimed"]["why"]): boolean {
  if (why === "recover") return hasLostItsPipe(state);
  return why === "answer" && state.stop.kind === "none" && Object.values(state.requests).some(isDeferred);
}

/** A pass that counts from now on: the workspace is looked at once more. */
function confirmTree(before: TaskState, { verification }: TaskState): Effect[] {
  if (verification.kind !== "confirming" || before.verification.kind === "confirming") return [];
  const { facts, by } = verification;
  return [{ kind: "confirm-tree", treeId: facts.treeId, by, round: facts.round }];
}

/** From here on the person's own Claude decides about its calls: nothing of it passes the gate. */
function takeover(before: TaskState, after: TaskState): Effect[] {
  if (!isTakenOver(after)) return [];
  const again = isTakenOver(before);
  const said = again ? [] : [record({ type: "ungated", data: { why: "takeover", confirmedBy: "command" } })];
  if (hasProcess(after)) {
    return again ? [] : [...said, { kind: "end-worker", why: "takeover", exitMs: TAKEOVER_EXIT_MS }];
  }
  return after.resources.length > 0 ? [...said, { kind: "sweep" }] : said;
}

/** Background tasks die with the process that a deferral ends: a person hears which. */
function leftBehind({ background, taskId }: TaskState): Effect[] {
  if (background.length === 0) return [];
  const names = background.slice(0, 5).map((task) => task.description || task.kind);
  const text = `While ${taskId} waits for your answer its worker is gone, and with it what ran in the background: ${names.join("; ")}`;
  return [record({ type: "notice", data: { level: "warning", text } })];
}

/** What a decision leads to at once; a turn's end that was judged is taken up by `next`. */
function decided(before: TaskState, data: EventMap["decision.made"]): EventDraft[] {
  const { about } = before.decider;
  if (about.kind === "asked" && about.decisionId === data.decisionId) {
    if (about.about !== "exit" || data.decision !== "continue") return [];
    const sessionId = before.sessionId ?? before.spec?.sessionId ?? "";
    const { goalGiven } = before.prompts;
    return [{ type: "task.recovering", data: { fresh: false, resume: goalGiven, sessionId, by: "decider" } }];
  }
  const request = requestAsked(before, data.decisionId);
  const decision = request?.question?.phase === "asked" ? answersRequest(request, data) : null;
  if (!request || decision === null) return [];
  const { requestId } = request;
  const note = data.reason === undefined ? {} : { note: data.reason };
  const answers = decision === "answer" && data.answers !== undefined ? { answers: data.answers } : {};
  return [
    { type: "request.answered", data: { requestId, decision, by: "decider", via: "decider", ...note, ...answers } },
  ];
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
      /* Claude itself says that it is idle: then its work is looked at, not shot. */
      if (state.turn.kind === "idle") return [];
      return stopBy("stalled-no-result", `For ${spent} there was no ${what ?? "output"}, and no result.`);
    case "tool-cap":
      return stopBy("tool-cap", `${capital(what ?? "a tool call")} ran longer than the ${spent} that any may.`);
    case "wall":
      if (state.closing.kind === "close-out") return [];
      return stopBy("wall-clock", `The task used up its time (${spent}).`);
    case "close-out":
      return stopBy(
        "wall-clock",
        `The task used up its time (${duration(wallLength(state))}) and the ${duration(closeOutMs(state))} after it in which its work could still be verified.`,
      );
    default:
      return [];
  }
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

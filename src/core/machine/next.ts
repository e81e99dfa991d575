/** What the state as a whole wants now: a spawn, a message, a verification, an end. */
import {
  evidencePrompt,
  GO_ON,
  goalMessage,
  handbackPrompt,
  notSigned,
  repairPrompt,
  revisePrompt,
  wrapUpPrompt,
} from "../prompts.ts";
import { isAutomatic } from "./automation.ts";
import { wallLeft } from "./budgets.ts";
import { mayInterject, wantsWrapUp } from "./closing.ts";
import { decisionIdOf, isOpen, MAX_RESUMES, mayAsk } from "./decider.ts";
import { answeredWhileDeferred } from "./deferral.ts";
import { type Effect, record, type Step } from "./effects.ts";
import { isUnexpectedExit, roundsUsedUp } from "./hold.ts";
import type { TaskState } from "./state.ts";
import { isActive, openSignOff, repairs } from "./verification.ts";

/** After these ends of a process the conversation may go on in a new one by itself. */
const RESUMABLE: ReadonlySet<string> = new Set(["unexpected", "completed", "exhausted"]);

/** What the state as a whole wants now; wanting is marked, so that it is asked for once. */
export function next(state: TaskState, effects: Effect[]): Step {
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
    const judged = isUnexpectedExit(state) || openSignOff(state) !== null;
    if ((w.why === "unexpected" && !asked && !judged) || w.why === "start-failed")
      return { state, effects: [...effects, failed(w)] };
  }
  if (isOpen(state)) return { state, effects };
  const about = wantsDecision(state);
  if (about !== null) {
    const decisionId = decisionIdOf(state.seq);
    const wanted = { kind: "wanted", about, decisionId, treeId: null } as const;
    const asking: TaskState = { ...state, decider: { ...state.decider, about: wanted } };
    return { state: asking, effects: [...effects, { kind: "decide", decisionId, about, requestId: null }] };
  }
  if (spec.mode === "auto" && wantsVerification(state)) {
    return { state, effects: [...effects, record({ type: "verify.requested", data: { by: "auto" } })] };
  }
  if (isAutomatic(state) && mayInterject(state)) {
    const text = wrapUpPrompt(wallLeft(state));
    const sending: TaskState = {
      ...state,
      turn: { kind: "sending", source: "recover", promptId: null, mono: state.mono, interjected: true },
    };
    const send: Effect = {
      kind: "send",
      source: "recover",
      promptId: null,
      text,
      redacted: false,
      wrapUp: true,
      alone: true,
    };
    return { state: sending, effects: [...effects, send] };
  }
  const message = withWrapUp(state, nextMessage(state));
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

/** A good result of an automatic task, after which nothing of a person's is waiting. */
function isTurnsEnd(state: TaskState): boolean {
  if (state.turn.kind !== "idle" || !isAutomatic(state) || !isIdle(state)) return false;
  return state.prompts.queue.length === 0 && !state.prompts.goOn && !owesHandback(state);
}

/**
 * What a person said at a handback is still to be told. A call that was put off before the takeover comes first: Claude
 * asks for it again by itself (2.1.268). It is a person's own word: their switch holds back what nobody asked for.
 */
function owesHandback(state: TaskState): boolean {
  return state.prompts.handback !== null && state.hold === null && mayTell(state);
}

/** Nothing that only a person decides about the result is open, and there is time. */
function mayTell(state: TaskState): boolean {
  return openSignOff(state) === null && state.closing.kind !== "close-out";
}

/** What the decider is to be asked now: about a turn's end once, about an exit unless evidence goes out anyway. */
function wantsDecision(state: TaskState): "turn-end" | "exit" | null {
  const { verification: v, decider: d } = state;
  if (!mayAsk(state) || d.about.kind !== "none" || state.closing.kind === "close-out") return null;
  if (isTurnsEnd(state) && v.kind === "none" && state.worker.kind === "live") return "turn-end";
  const bare = state.resources.length === 0 && !["failed", "revise", "repair"].includes(v.kind);
  return isUnexpectedExit(state) && bare && d.resumes < MAX_RESUMES ? "exit" : null;
}

/** An automatic task verifies each good result, once, unless the decider has the worker go on. */
function wantsVerification(state: TaskState): boolean {
  const { verification: v, decider: d } = state;
  if (!isTurnsEnd(state) || d.about.kind === "send") return false;
  return v.kind === "none" || (v.kind === "error" && v.facts.reason === "tree-changed");
}

interface Message {
  source: "goal" | "person" | "decider" | "verifier" | "recover" | "handback";
  promptId: string | null;
  text: string;
  redacted: boolean;
  /** Our own words before a person's. */
  preface?: string;
  wrapUp?: true;
}

/** The one message to send next. A hold, and the person's switch, stop all but a person's. */
function nextMessage(state: TaskState): Message | null {
  const { spec, prompts: p, verification: v } = state;
  if (!spec) return null;
  const started = state.worker.kind === "live" && state.turn.kind === "none";
  const automatic = isAutomatic(state) && mayTell(state);
  const told = toldFirst(state);
  if (started && automatic && !p.goalGiven) {
    return { source: "goal", promptId: null, text: goalMessage(spec.goal, spec.brief), redacted: spec.goalRedacted };
  }
  if (owesHandback(state) && p.handback !== null && state.turn.kind !== "waiting") {
    const { promptId, redacted, note } = p.handback;
    return { source: "handback", promptId, text: handbackPrompt(note), redacted };
  }
  if (automatic && p.goOn && state.turn.kind !== "waiting")
    return { source: "recover", promptId: null, text: told === null ? GO_ON : `${told}\n\n${GO_ON}`, redacted: false };
  const queued = p.queue[0];
  if (queued && state.hold?.fault !== true) {
    return { ...queued, source: "person", ...(told === null ? {} : { preface: told }) };
  }
  const { about } = state.decider;
  if (automatic && about.kind === "send")
    return { source: "decider", promptId: null, text: about.message, redacted: false };
  if (automatic && spec.mode === "auto" && v.kind === "failed" && !roundsUsedUp(state)) {
    const text = evidencePrompt(v.facts, spec.limits.maxRounds, state.budgets.failedRounds);
    return { source: "verifier", promptId: null, text, redacted: false };
  }
  const evident = v.kind === "revise" || v.kind === "repair";
  if (automatic && spec.mode === "auto" && evident && told !== null && !roundsUsedUp(state)) {
    return { source: "verifier", promptId: null, text: told, redacted: false };
  }
  return null;
}

/** What the worker has to hear with the next message, whoever's it is. */
function toldFirst({ verification: v, spec }: TaskState): string | null {
  switch (v.kind) {
    case "denied":
      return notSigned(v.note);
    case "revise":
      return revisePrompt(v.review);
    case "repair":
      return repairPrompt(repairs(v.facts), spec?.startHead);
    default:
      return null;
  }
}

/** What goes out anyway says that time is short as well. */
function withWrapUp(state: TaskState, message: Message | null): Message | null {
  if (message === null || !wantsWrapUp(state)) return message;
  if (message.source !== "verifier" && message.source !== "recover") return message;
  return { ...message, text: `${message.text}\n\n${wrapUpPrompt(wallLeft(state))}`, wrapUp: true };
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

/**
 * The hold: automation is off until a person acts. A person's answer, message or verification lifts it; a fault is
 * only lifted by its own act.
 */
import { classifyResult } from "../classify.ts";
import type { EventMap, TaskEvent } from "../events.ts";
import { reviewSummary } from "../prompts.ts";
import { decisionsLeft, MAX_RESUMES } from "./decider.ts";
import { type HoldReason, holdReason } from "./hold-reasons.ts";
import { isOverBudget, spentUsd } from "./spending.ts";
import { denialsOf, MAX_EQUAL_DENIALS, MAX_EQUAL_RESULTS, MAX_EQUAL_ROUNDS } from "./stall.ts";
import type { Hold, TaskState } from "./state.ts";

/** Runs in a row that a changing tree may make void before a person is asked. */
export const MAX_VOID_RUNS = 2;

/** Reasons of a start at which Claude did not confirm the gate. */
const GATE_REFUSED: ReadonlySet<string> = new Set(["hooks-not-applied", "permission-mode", "handshake-refused"]);

export function hold(state: TaskState, event: TaskEvent): TaskState {
  return callsAtTurnsEnd(judged(state, event), event);
}

/** The worker was told to finish without the refused call: until it has, it is at work, under every clock. */
function callsAtTurnsEnd(state: TaskState, { at }: TaskEvent): TaskState {
  const { refusedUnasked: toolName, turn: t } = state;
  if (toolName === null || (t.kind !== "idle" && t.kind !== "none")) return state;
  const message = `A ${toolName} call of a subagent needed a person, and could not wait: it was refused.`;
  const needed: Hold = { reason: "needs-person", message, since: at, fault: false };
  return { ...state, refusedUnasked: null, hold: state.hold ?? needed };
}

function judged(state: TaskState, event: TaskEvent): TaskState {
  const put = (reason: HoldReason, message: string, fault = false): TaskState => {
    if (state.hold?.fault) return state;
    const next: Hold = { reason, message, since: event.at, fault };
    return { ...state, hold: next };
  };
  switch (event.type) {
    case "gate.verdict":
      return event.data.verdict === "deny" && denialsOf(state, event.data.ask) >= MAX_EQUAL_DENIALS
        ? put("stalled", repeated(event.data.toolName))
        : state;
    case "verify.finished": {
      if (event.data.outcome === "error") {
        const again = event.data.reason === "tree-changed" && state.budgets.voidRuns < MAX_VOID_RUNS;
        return again && state.spec?.mode === "auto"
          ? state
          : put(`verifier-${event.data.reason ?? "error"}`, event.data.message);
      }
      const fails = event.data.outcome === "fail" && event.data.by === "auto";
      if (fails && !roundsUsedUp(state) && state.decider.failed) {
        const { reason } = state.decider.failed;
        return put(
          "decider-unavailable",
          `The verification did not pass, and the decider could not be asked: ${reason}`,
        );
      }
      if (fails && !roundsUsedUp(state) && isOverBudget(state)) return put("budget-usd", budgetSpent(state));
      if (
        event.data.outcome === "fail" &&
        state.spec?.mode === "auto" &&
        state.stall.equalRounds >= MAX_EQUAL_ROUNDS &&
        !roundsUsedUp(state)
      ) {
        return put(
          "stalled",
          `The verification failed ${state.stall.equalRounds} times on the same tree: the worker changes nothing any more.`,
        );
      }
      if (fails && !roundsUsedUp(state) && (state.stall.results?.times ?? 0) >= MAX_EQUAL_RESULTS) {
        return put(
          "stalled",
          "The worker ended two turns with the same words and changed nothing between them, and the verification failed.",
        );
      }
      if (event.data.outcome === "fail" && state.spec?.mode === "auto" && roundsUsedUp(state)) {
        return put(
          "rounds-exhausted",
          `The verification failed in round ${state.budgets.failedRounds} of ${state.spec.limits.maxRounds}.`,
        );
      }
      return state;
    }
    case "review.finished": {
      if (state.verification.kind !== "revise") return state;
      const said = `The reviewer wants something changed: ${reviewSummary(event.data)}`;
      if (state.spec?.mode === "manual")
        return put(
          "review-revise",
          `${said} \`/supervise send ${state.taskId} <text>\` passes it on; \`/supervise verify ${state.taskId}\` accepts the result as it is.`,
        );
      return roundsUsedUp(state)
        ? put(
            "rounds-exhausted",
            `${said} That was round ${state.budgets.failedRounds} of ${state.spec?.limits.maxRounds}.`,
          )
        : state;
    }
    case "verify.stale":
      /* Without a turn that has just ended or is about to begin (a tree signed days later) nobody would verify it again by itself. */
      return state.budgets.voidRuns < MAX_VOID_RUNS &&
        state.spec?.mode === "auto" &&
        (state.turn.kind === "idle" || state.prompts.goOn)
        ? state
        : put("tree-changed", "The workspace changed after the verification passed; something still writes to it.");
    case "decision.made":
      return decided(state, event.data, put);
    case "worker.exited":
      return exitNobodyJudges(state, put);
    case "turn.result": {
      if (state.prompts.quarantined) {
        return put(
          "session-corrupt",
          "The resumed Claude session came back empty or broken; only a fresh one goes on.",
        );
      }
      const kind = classifyResult(event.data);
      if (kind.ok) return state.hold?.reason === "auth" ? { ...state, hold: null } : state;
      if (state.turn.kind === "waiting") return state;
      const everyMode = kind.reason === "auth" || kind.reason === "billing";
      return everyMode || state.spec?.mode === "auto"
        ? put(holdReason(kind.reason, "turn-error"), kind.message)
        : state;
    }
    case "budget.exhausted":
      return state.hold === null ? put(event.data.budget, event.data.text) : state;
    case "budget.renewed":
      return state.hold?.reason === event.data.budget ? { ...state, hold: null } : state;
    case "gate.incident":
      return put(holdReason(event.data.fault, "inconsistent-state"), event.data.detail, true);
    case "worker.start-failed":
      /* A first start that does not get the gate has failed; one after others that did is another Claude than before. */
      return state.executable !== null && GATE_REFUSED.has(event.data.reason)
        ? put("protocol-change", event.data.message, true)
        : state;
    case "prompt.failed":
      if (event.data.wrapUp === true) return state;
      return put(holdReason(event.data.reason, "message-not-sent"), event.data.message);
    case "worker.retry":
      /* Claude 2.1.268 retries a refused login without end and without a result. */
      return event.data.status === 401 || event.data.status === 403
        ? put("auth", "Claude's login is refused; log in again, and Claude goes on by itself.")
        : state;
    case "worker.drift":
      return put("claude-changed", event.data.message);
    case "fault.cleared":
      return state.hold?.fault && state.hold.reason === event.data.fault ? { ...state, hold: null } : state;
    case "owner.claimed":
      return event.data.why === "recover" && hasLostItsPipe(state)
        ? put(
            "no-capability",
            "Its process-pipe worker is gone, and its session can't be resumed. Verify it, or stop it.",
          )
        : state;
    case "prompt.queued":
    case "verify.requested":
    case "request.answered":
    case "task.recovering": {
      if (event.type === "task.recovering" && state.prompts.doubtful !== null)
        return put("message-doubtful", inDoubt(state.prompts.doubtful));
      if (event.type === "request.answered" && isRefusal(state, event.data.requestId))
        return put("sign-off-denied", refusedSignOff(state));
      const asked = event.type === "request.answered" ? state.requests[event.data.requestId] : undefined;
      if (event.type === "request.answered" && event.data.by === "supervisor" && asked && asked.agentId !== null) {
        return { ...state, refusedUnasked: asked.toolName };
      }
      if (
        event.type === "request.answered" &&
        event.data.decision === "deny" &&
        denialsOf(state, asked?.ask ?? undefined) >= MAX_EQUAL_DENIALS
      ) {
        return put("stalled", repeated(asked?.toolName ?? "a tool"));
      }
      const persons = !("by" in event.data) || event.data.by === "person";
      return persons && !state.hold?.fault ? { ...state, hold: null, refusedUnasked: null } : state;
    }
    default:
      return state;
  }
}

/** A question about the conversation that the decider gave to a person, or could not answer. */
function decided(
  state: TaskState,
  data: EventMap["decision.made"],
  put: (reason: HoldReason, message: string) => TaskState,
): TaskState {
  const { about } = state.decider;
  if (about.kind !== "asked" || about.decisionId !== data.decisionId) return state;
  const said = data.reason ?? "";
  const exit = about.about === "exit" ? `${exitSentence(state)} ` : "";
  if (data.decision === "escalate") return put("decider-escalated", `${exit}The decider leaves this to you: ${said}`);
  if (about.about === "exit" && data.decision !== "continue")
    return put("decider-unavailable", `${exit}The decider could not be asked whether to go on: ${said}`);
  return state;
}

/** An unexpected exit of an automatic task about which the decider is not asked any more. */
function exitNobodyJudges(state: TaskState, put: (reason: HoldReason, message: string) => TaskState): TaskState {
  if (!isUnexpectedExit(state) || state.hold !== null) return state;
  if (isOverBudget(state)) return put("budget-usd", `${exitSentence(state)} ${budgetSpent(state)}`);
  if (state.decider.resumes >= MAX_RESUMES)
    return put("worker-exit", `${exitSentence(state)} It was resumed ${MAX_RESUMES} times already.`);
  if (decisionsLeft(state) <= 0)
    return put("worker-exit", `${exitSentence(state)} The decider has no decisions left to resume it.`);
  return state;
}

/** An automatic task's worker has ended in the middle of it, by no act of ours and no refusal of the model service. */
export function isUnexpectedExit({ spec, worker: w, stop, ended }: TaskState): boolean {
  const parked = w.kind === "gone" && w.why === "unexpected" && w.reason?.startsWith("worker-exit") === true;
  return parked && spec?.mode === "auto" && stop.kind === "none" && ended.kind === "no";
}

function exitSentence({ worker: w, taskId }: TaskState): string {
  const code = w.kind === "gone" ? (w.reason ?? "").slice("worker-exit ".length) : "";
  const said = w.kind === "gone" && w.message?.trim() ? ` and said: ${w.message.trim()}` : "";
  return `Claude ended by itself (${code})${said}. \`/supervise recover ${taskId}\` goes on.`;
}

function budgetSpent(state: TaskState): string {
  return `About $${(spentUsd(state) ?? 0).toFixed(2)} of the budget of $${state.spec?.limits.budgetUsd} is spent.`;
}

/** A process-pipe worker takes one message: when it is gone with it, only a person can say what comes next. */
export function hasLostItsPipe({ spec, prompts, ended, stop }: TaskState): boolean {
  return spec?.transport === "process-pipe" && prompts.goalGiven && ended.kind === "no" && stop.kind === "none";
}

function isRefusal({ verification: v }: TaskState, requestId: string): boolean {
  return v.kind === "denied" && v.requestId === requestId;
}

function refusedSignOff({ taskId, verification: v }: TaskState): string {
  const why = v.kind === "denied" && v.note !== "" ? ` (${v.note})` : "";
  return `You did not sign this result${why}. \`/supervise send ${taskId} <text>\` or \`/supervise recover ${taskId}\` goes on; the worker is told.`;
}

function inDoubt(text: string): string {
  return `Your message ${JSON.stringify(text)} was under way when the worker was lost; Claude may have it or not. Send it again, or tell Claude to go on.`;
}

function repeated(toolName: string): string {
  return `Claude asked for the same ${toolName} call ${MAX_EQUAL_DENIALS} times and was denied each time; tell it another way, or stop it.`;
}

export function roundsUsedUp(state: TaskState): boolean {
  return state.spec !== null && state.budgets.failedRounds >= state.spec.limits.maxRounds;
}

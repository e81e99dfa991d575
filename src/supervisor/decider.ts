/**
 * The effect `decide`: puts a question of the machine to the task's Decision Worker and records what came of it. The worker
 * is made when it is first needed, goes on with its kept session, and is let go of when the task rests.
 *
 * Memory: one conversation of at most about 100,000 tokens for each task that is at work in automatic mode; none else.
 */

import type { DecisionOutcome, DecisionQuestion, DecisionWorker } from "../core/contracts/decision.ts";
import type { EventMap } from "../core/events.ts";
import { hasProcess } from "../core/machine/control.ts";
import { isAwaited, isOpen, MAX_RESUMES } from "../core/machine/decider.ts";
import type { Effect } from "../core/machine/effects.ts";
import type { RequestState, TaskState } from "../core/machine/state.ts";
import { briefLines } from "../core/prompts.ts";
import { createDecisionWorker, decisionSessionStore } from "../decision/index.ts";
import { treeId } from "../verifier/index.ts";
import { questionsOf } from "./answers.ts";
import { ending } from "./bounds.ts";
import type { DriverPort } from "./effect-port.ts";
import { LAST_WORDS } from "./raw.ts";
import { heldUp } from "./task-stop.ts";

type DecideEffect = Extract<Effect, { kind: "decide" }>;
type Said = Omit<EventMap["decision.made"], "decisionId" | "kind" | "requestId" | "late">;

/** Characters of a failing verification's output that the decider sees. */
const EVIDENCE_CHARS = 4_000;
/** Milliseconds that a worker's restart waits for the decider's history. */
const PREPARE_MS = 5_000;

export interface Decider {
  decide(effect: DecideEffect): Promise<void>;
  /** Restores the kept conversation, where there is one, so that a fault in it is told before the worker starts. */
  prepare(): Promise<void>;
  /** The state has moved: where no question can come any more, the conversation's memory is given back. */
  look(state: TaskState): void;
  dispose(): void;
}

export function createDecider(port: DriverPort): Decider {
  let worker: DecisionWorker | undefined;

  function made(): DecisionWorker | undefined {
    const { deps, state, redactor } = port;
    const { spec } = state;
    if (worker !== undefined || spec === null || deps.decisions === undefined) return worker;
    const folder = deps.layout.folder("decisions");
    if (!folder.ok) {
      note(folder.message);
      return undefined;
    }
    worker = createDecisionWorker({
      taskId: state.taskId,
      brief: {
        goal: spec.goal,
        rules: briefLines(spec.brief ?? {}),
        verification: spec.verify.commands.map((command) => command.text),
        workspace: spec.cwd,
      },
      ...(spec.decisionModel === undefined ? {} : { model: spec.decisionModel }),
      ...(deps.decisionTimeoutMs === undefined ? {} : { timeoutMs: deps.decisionTimeoutMs }),
      factory: deps.decisions,
      store: decisionSessionStore(folder.path),
      redactor,
      clock: deps.clock,
      onNote: note,
    });
    return worker;
  }

  function note(text: string): void {
    port.record({ type: "notice", data: { level: "warning", text: port.redactor.text(text) } });
  }

  function dispose(): void {
    worker?.dispose();
    worker = undefined;
  }

  return {
    async decide(effect) {
      const question = await questionFor(port, effect);
      if (question === null || (await heldUp(port)) === false || !isAwaited(port.state, effect.decisionId)) return;
      const { decisionId, about: kind, requestId } = effect;
      const named = { decisionId, kind, ...(requestId === null ? {} : { requestId }) };
      const tree = question.treeId === undefined ? {} : { treeId: question.treeId };
      const recorded = port.record({ type: "decision.asked", data: { ...named, ...tree } });
      const synced = recorded === "written" && (await port.synced()).ok;
      const outcome = synced && port.estop.held() === null ? await ask(made(), question.text, decisionId) : UNLOGGED;
      /* A stop that stands by now wins: the decision is only noted. */
      port.estop.held();
      const late = isAwaited(port.state, decisionId) ? {} : { late: true as const };
      const request = requestId === null ? undefined : port.state.requests[requestId];
      if (outcome.decision === "answer" && request && !late.late) {
        port.raw.keepAnswers(request.requestId, asTyped(outcome.answers, port, request));
      }
      port.record({ type: "decision.made", data: { ...named, ...said(outcome, port), ...late } });
      await port.synced();
    },
    async prepare() {
      const mine = made();
      if (mine === undefined) return;
      let cancel = (): void => undefined;
      const late = new Promise<void>((resolve) => {
        cancel = port.deps.clock.setTimer(PREPARE_MS, resolve, { background: true });
      });
      await Promise.race([mine.prepare(), late]);
      cancel();
    },
    look(state) {
      const ours = state.owner.kind === "held" && state.control.kind === "supervised";
      const goesOn = ours && state.stop.kind === "none" && state.ended.kind === "no";
      if (!goesOn || !(hasProcess(state) || state.worker.kind === "wanted" || isOpen(state))) dispose();
    },
    dispose,
  };

  async function ask(
    mine: DecisionWorker | undefined,
    question: DecisionQuestion,
    decisionId: string,
  ): Promise<DecisionOutcome> {
    if (mine === undefined) return NOBODY;
    const void_ = new AbortController();
    const over = new AbortController();
    void port
      .until((state) => !isAwaited(state, decisionId), over.signal)
      .then((gone) => (gone ? void_.abort() : undefined));
    try {
      return await mine.ask(question, { signal: void_.signal });
    } finally {
      over.abort();
    }
  }
}

const NOBODY: DecisionOutcome = {
  decision: "unavailable",
  code: "no-model",
  reason: "There is no Pi here whose model could decide.",
  durationMs: 0,
};

const UNLOGGED: DecisionOutcome = {
  decision: "unavailable",
  code: "model-error",
  reason: "The question could not be written to the log, so it was not asked.",
  durationMs: 0,
};

/** The outcome as the log holds it. The worker has redacted what the model said; once more costs nothing. */
function said(outcome: DecisionOutcome, { redactor }: DriverPort): Said {
  const { decision, durationMs } = outcome;
  const common = {
    decision,
    reason: redactor.text(outcome.reason),
    durationMs,
    ...(outcome.usd === undefined ? {} : { usd: outcome.usd }),
  };
  switch (outcome.decision) {
    case "unavailable":
      return { ...common, code: outcome.code };
    case "answer":
      return { ...common, answers: redactor.data(outcome.answers) };
    case "continue":
      return { ...common, ...(outcome.message === undefined ? {} : { message: redactor.text(outcome.message) }) };
    case "escalate": {
      const { category, meant } = outcome;
      return { ...common, ...(category === undefined ? {} : { category }), ...(meant === undefined ? {} : { meant }) };
    }
    default:
      return common;
  }
}

interface Question {
  text: DecisionQuestion;
  /** Of the workspace, at a turn's end. */
  treeId?: string;
}

/** Null when there is nothing left to ask about. */
async function questionFor(port: DriverPort, { about, requestId }: DecideEffect): Promise<Question | null> {
  const request = requestId === null ? undefined : port.state.requests[requestId];
  switch (about) {
    case "tool":
      return request ? { text: { kind: "tool", ...callOf(port, request) } } : null;
    case "question":
      return request ? { text: { kind: "question", input: inputOf(port, request).input } } : null;
    case "plan":
      return request ? { text: { kind: "plan", ...inputOf(port, request) } } : null;
    case "turn-end":
      return turnsEnd(port);
    case "exit":
      return { text: exitOf(port.state) };
  }
}

/** The whole input, redacted; the log's own copy is bounded. */
function inputOf(port: DriverPort, request: RequestState): { input: unknown; inputCut?: true } {
  const raw = port.raw.input(request.callId);
  return raw === undefined ? { input: request.input, inputCut: true } : { input: port.redactor.data(raw) };
}

function callOf(port: DriverPort, request: RequestState) {
  const { toolName, cwd, rule, reason, agentId } = request;
  return { toolName, ...inputOf(port, request), cwd, rule, reason, ...(agentId === null ? {} : { subagent: true }) };
}

async function turnsEnd(port: DriverPort): Promise<Question> {
  const { state } = port;
  const tree = await presentTree(port);
  const { continuedTree } = state.decider;
  const failing = state.lastVerification?.outcome === "fail" ? state.lastVerification : null;
  const output = failing?.commands.find((command) => command.outcome !== "pass")?.outputTail;
  const text: DecisionQuestion = {
    kind: "turn-end",
    result: port.raw.text(LAST_WORDS) ?? state.lastResult?.facts.preview ?? "",
    failedRounds: state.budgets.failedRounds,
    maxRounds: state.spec?.limits.maxRounds ?? 0,
    ...(tree.ok && continuedTree !== null ? { treeChanged: tree.id !== continuedTree } : {}),
    ...(output === undefined ? {} : { evidence: ending(output, EVIDENCE_CHARS) }),
  };
  return tree.ok ? { text, treeId: tree.id } : { text };
}

/** The question can be put without it; whether the verification can run is the verifier's to find out. */
async function presentTree({ state, deps, stopSignal }: DriverPort): Promise<{ ok: true; id: string } | { ok: false }> {
  try {
    const scratch = deps.layout.folder("scratch");
    return await treeId(state.spec?.cwd ?? "", {
      signal: stopSignal,
      hostEnv: deps.env,
      ...(scratch.ok ? { scratchDir: scratch.path } : {}),
    });
  } catch {
    return { ok: false };
  }
}

function exitOf(state: TaskState): DecisionQuestion {
  const { worker: w, lastResult, decider } = state;
  const reason = w.kind === "gone" ? (w.reason ?? "") : "";
  const code = reason.slice("worker-exit ".length);
  const exitCode = /^\d+$/.test(code) ? Number(code) : null;
  const last = lastResult?.facts.preview ?? "";
  return {
    kind: "exit",
    exitReason: "unexpected",
    exitCode,
    signal: exitCode === null && code !== "unknown" ? code : null,
    ...(w.kind === "gone" && w.message ? { stderrTail: w.message } : {}),
    ...(last === "" ? {} : { lastText: last }),
    resumes: decider.resumes,
    maxResumes: MAX_RESUMES,
  };
}

/** The decider saw redacted questions and labels: Claude gets back what it asked, word for word. */
function asTyped(
  answers: Readonly<Record<string, string>>,
  port: DriverPort,
  request: RequestState,
): Record<string, string> {
  const raw = port.raw.input(request.callId) ?? request.input;
  const shown = questionsOf(inputOf(port, request).input);
  const typed = questionsOf(raw).map(({ question, labels }, index) => {
    const seen = shown[index];
    const answer = answers[seen?.question ?? question] ?? answers[question] ?? "";
    const parts = answer.split(", ").map((part) => {
      const at = seen?.labels.indexOf(part) ?? -1;
      return at < 0 ? part : (labels[at] ?? part);
    });
    const whole = seen?.labels.indexOf(answer) ?? -1;
    return [question, whole < 0 ? parts.join(", ") : (labels[whole] ?? answer)] as const;
  });
  return Object.fromEntries(typed);
}

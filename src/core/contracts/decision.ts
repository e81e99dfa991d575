/**
 * The Decision Worker: a model that answers what the gate may leave to judgement, out of a small set for each kind of
 * question. It can be wrong without harm: whatever is not one clear, allowed answer is `unavailable`, and the caller
 * then asks a person (on `turn-end` the verifier runs anyway).
 */
import type { Result } from "../result.ts";

/** What the decider is told once at the beginning of each of its sessions. Redacted by the worker again. */
export interface DecisionBrief {
  goal: string;
  /** What the person said beside the goal: scope, constraints, what is forbidden. One paragraph each. */
  rules?: readonly string[];
  /** The frozen verification commands, as given. */
  verification: readonly string[];
  /** Real path of the workspace. */
  workspace: string;
}

export type DecisionKind = "tool" | "question" | "plan" | "turn-end" | "exit";

/** One question. Every text in it is data: a worker, a repository or a tool may have written it. */
export type DecisionQuestion =
  /** A call that the gate calls `review` with `loss: recoverable`; never a `person` one. */
  | {
      kind: "tool";
      toolName: string;
      /** The whole input, redacted. */
      input: unknown;
      /** The input was shortened before it came here: then an approval is an escalation. */
      inputCut?: boolean;
      cwd: string;
      /** Of the gate. */
      rule: string;
      reason: string;
      /** The call comes from a subagent. */
      subagent?: boolean;
    }
  /** AskUserQuestion; `input` as Claude sent it, redacted. */
  | { kind: "question"; input: unknown }
  /** ExitPlanMode; `input` as Claude sent it, redacted. */
  | { kind: "plan"; input: unknown; inputCut?: boolean }
  | {
      kind: "turn-end";
      /** The worker's last words. */
      result: string;
      /** Failing verifications so far, and how many end the task. */
      failedRounds: number;
      maxRounds: number;
      /** Whether the workspace's tree differs from the one at the last turn's end; absent when not known. */
      treeChanged?: boolean;
      /** End of the last failing verification's output. */
      evidence?: string;
    }
  | {
      kind: "exit";
      /** Kebab-case code of the worker room. */
      exitReason: string;
      exitCode: number | null;
      signal: string | null;
      stderrTail?: string;
      /** The worker's last words before it. */
      lastText?: string;
      /** How often this task was resumed after an unexpected exit, and how often it may be. */
      resumes: number;
      maxResumes: number;
    };

export type DecisionCategory = "detail" | "architecture" | "scope" | "risk";

export type Decision =
  | { decision: "approve"; reason: string }
  /** For a question: the worker is told to choose and to say so in text. */
  | { decision: "deny"; reason: string }
  /** By question text, every question of the request: a label that exists (labels joined by `, `) or free text. */
  | { decision: "answer"; reason: string; answers: Record<string, string> }
  /** `turn-end`: `message` is the next prompt. `exit`: resume; no message. */
  | { decision: "continue"; reason: string; message?: string }
  | { decision: "verify"; reason: string }
  /** A person decides. `meant` is what the decider said when its category or a shortened input made it an escalation. */
  | { decision: "escalate"; reason: string; category?: DecisionCategory; meant?: "approve" | "answer" };

export type UnavailableCode =
  /** The model answered without a call of `decide`. */
  | "no-call"
  | "two-calls"
  /** One call, but not one that this kind of question allows. */
  | "wrong-decision"
  /** No answer in time; waits for a rate limit or an overload count. */
  | "timeout"
  /** The model, its provider or the session failed. */
  | "model-error"
  /** Stop, takeover or dispose: the decision is void. */
  | "aborted"
  /** Pi has no such model or no login for it: asking again does not help. */
  | "no-model";

export interface Unavailable {
  decision: "unavailable";
  code: UnavailableCode;
  /** One sentence for people, without secrets, at most 500 characters. */
  reason: string;
}

/** `usd` is what this question cost by Pi's price list; absent when the price is not known. */
export type DecisionOutcome = (Decision | Unavailable) & { durationMs: number; usd?: number };

export interface DecisionCost {
  /** Estimate over all answers of this worker since it was made; absent when a price is not known. */
  usd?: number;
  /** Questions that the model answered, rightly or not. Waits, errors and voided questions don't count. */
  decisions: number;
}

export interface DecisionWorker {
  /**
   * Never rejects and never approves on a fault. Questions are put one after the other; the time limit of each starts
   * when it is its turn. `signal` voids the question at once, also one that waits for its turn.
   */
  ask(question: DecisionQuestion, options: { signal: AbortSignal }): Promise<DecisionOutcome>;
  /** Opens the kept session, so that what is wrong with it is told now. Never rejects; nothing is asked. */
  prepare(): Promise<void>;
  cost(): DecisionCost;
  /** Voids what is open and lets go of the session; its file stays. Can be called twice. */
  dispose(): void;
}

/** The one tool of the session, as plain JSON schema. */
export interface DecideTool {
  name: string;
  description: string;
  parameters: object;
}

/** A tool that shows something and changes nothing; the model may call it before it answers. */
export interface HelperTool extends DecideTool {
  /** `args` as the model gave them: nothing was checked. Never rejects; what it answers is redacted and bounded. */
  run(args: unknown, signal: AbortSignal): Promise<string>;
}

export interface DecisionSessionOptions {
  /** Folder of the session files (0700, real path); also the session's own cwd, so that no project speaks to it. */
  folder: string;
  /** File to go on with; absent = a new session. */
  file?: string;
  /** `provider/id`; absent = Pi's current model. */
  model?: string;
  systemPrompt: string;
  tool: DecideTool;
  /** Absent: the first thing that the model says is its answer. */
  helpers?: readonly HelperTool[];
  /** Default true: the conversation is written to `folder`. */
  isKept?: boolean;
}

export interface DecisionCall {
  name: string;
  /** As the model gave them: nothing was checked. */
  arguments: unknown;
}

/** What one prompt led to. */
export interface DecisionTurn {
  /** Every tool call of the answer (the first message that calls no helper alone), in order, without those of helpers. */
  calls: readonly DecisionCall[];
  /** The model's or provider's own words when the last try failed; may hold anything, redact before showing. */
  error?: string;
  /** Pi's price list times reported tokens; absent when the model has no price. */
  usd?: number;
  /** Tokens of the conversation after it, as reported. */
  contextTokens?: number;
}

export interface DecisionSession {
  /** Where the conversation is kept. Pi 0.73.1 writes it only once the model has answered. */
  readonly file: string | undefined;
  /** The conversation had messages when it was opened. */
  readonly resumed: boolean;
  /** `provider/id`. */
  readonly model: string;
  /** Tokens; absent when Pi does not know. */
  readonly contextWindow?: number;
  /**
   * One user message and the model's answer to it. Rate limits and overload are waited out until `signal` aborts;
   * other passing errors are tried again twice. Rejects only when Pi itself throws.
   */
  prompt(text: string, signal: AbortSignal): Promise<DecisionTurn>;
  dispose(): void;
}

/** How the extension room lends Pi's SDK to the decision room. Reasons: `no-model`, `session`. */
export interface DecisionSessionFactory {
  open(options: DecisionSessionOptions): Promise<Result<{ session: DecisionSession }>>;
  /** Whether Pi has that model (absent: a current one) and a login for it, as far as can be told without asking it. */
  usable(model?: string): Result;
}

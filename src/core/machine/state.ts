/**
 * The state of one task: a record of small machines, one file each beside this one. It is computed by folding the
 * log and by nothing else; `project.ts` turns it into the state names that people see.
 */
import type { ContainmentRecord, RemainingResource } from "../contracts/worker.ts";
import type { EventMap } from "../events.ts";
import type { HoldReason } from "./hold-reasons.ts";

export type TaskSpec = EventMap["task.created"];
export type OwnerIdentity = EventMap["owner.claimed"]["owner"];
export type EndWhy = EventMap["worker.ending"]["why"];
export type PromptSource = EventMap["prompt.intent"]["source"];
export type VerifyFacts = EventMap["verify.finished"];
export type ReviewFacts = EventMap["review.finished"];
export type ResultFacts = EventMap["turn.result"];

export type OwnerState = { kind: "none" } | { kind: "held"; owner: OwnerIdentity; since: string };

/** The worker process, from the wish for one to the proof that nothing of it is left. */
export type WorkerState =
  | { kind: "none" }
  | { kind: "wanted"; resume: boolean; sessionId: string }
  | { kind: "spawning"; workerId: string; sessionId: string; resume: boolean; mono: number }
  | { kind: "handshake"; workerId: string; sessionId: string; containment: ContainmentRecord; mono: number }
  | { kind: "live"; workerId: string; sessionId: string; containment: ContainmentRecord; mono: number }
  | {
      kind: "ending";
      workerId: string;
      sessionId: string;
      containment: ContainmentRecord | null;
      why: EndWhy;
      mono: number;
    }
  | {
      kind: "gone";
      workerId: string;
      why: EndWhy | "stop" | "unexpected" | "start-failed";
      /** Kebab-case code and sentence, when the end was not wanted. */
      reason: string | null;
      message: string | null;
    };

/** What the worker's conversation is doing. */
export type TurnState =
  /** No message was written to this worker yet. */
  | { kind: "none" }
  /** A message is on its way: wanted, then durable, then written. */
  | {
      kind: "sending";
      source: PromptSource;
      promptId: string | null;
      mono: number;
      /** It goes into a turn that is under way. */
      interjected?: true;
    }
  /** `saysIdle`: Claude says that it has nothing to do, although no result came (newer than 2.1.268). */
  | { kind: "busy"; promptId: string | null; mono: number; saysIdle?: boolean }
  /** A result came while background tasks were alive. */
  | { kind: "background"; mono: number }
  /** The model service refused for a while: the supervisor waits, then tells the worker to go on. */
  | { kind: "waiting"; why: "rate-limited" | "overloaded"; attempt: number; mono: number; due: number }
  /** Background tasks just ended: the worker may begin another turn by itself. */
  | { kind: "settling"; mono: number }
  | { kind: "idle"; mono: number };

export interface QueuedPrompt {
  promptId: string;
  source: PromptSource;
  text: string;
  redacted: boolean;
}

/** How far a message got that nobody may send twice. */
export interface OpenPrompt {
  promptId: string;
  source: PromptSource;
  /** Its beginning, redacted, for whoever has to be asked about it. */
  text: string;
  phase: "intent" | "written" | "acknowledged";
}

/** What the worker is told when a person gives the wheel back. */
export interface Handback {
  promptId: string;
  /** The person's note, redacted; null where there is none. */
  note: string | null;
  redacted: boolean;
  /** Turns that the session got meanwhile; null where nobody could count them. */
  turns: number | null;
}

export interface PromptsState {
  /** The goal was handed to some process of the present session. */
  goalGiven: boolean;
  /** A resumed session is told to go on before anything else. */
  goOn: boolean;
  /** Set until it was said: a person worked in the session meanwhile. */
  handback: Handback | null;
  queue: QueuedPrompt[];
  open: OpenPrompt | null;
  /** A person's message of which nobody knows whether Claude got it: the worker was gone before it said so. */
  doubtful: string | null;
  sent: number;
  /** Results since the session was last resumed; null in a session that never was. */
  sinceResume: number | null;
  /** The session came back empty or broken: it is not resumed again. */
  quarantined: boolean;
}

export type RequestKind = "tool" | "question" | "plan";
export type AskedOf = "person" | "decider";

/** The decider's question about a waiting call: wanted, then asked (it stands in the log). */
export interface CallQuestion {
  decisionId: string;
  phase: "wanted" | "asked";
}

export interface RequestState {
  requestId: string;
  callId: string;
  toolUseId: string;
  toolName: string;
  kind: RequestKind;
  input: unknown;
  cwd: string;
  /** Hash of the normalized call. */
  ask: string | null;
  rule: string;
  reason: string;
  loss: "recoverable" | "lost" | null;
  agentId: string | null;
  askedOf: AskedOf;
  /** Set while the decider is asked. */
  question: CallQuestion | null;
  /** Why a person is asked after the decider was: its code or decision, and its words. */
  passedOn: { why: string; reason: string } | null;
  since: string;
  mono: number;
  phase: "pending" | "answered";
  /** none → asked (the hook was told to defer) → deferred (Claude confirmed, and keeps the call). */
  deferral: "none" | "asked" | "deferred";
  answer: EventMap["request.answered"] | null;
}

/** Who has the wheel. */
export type ControlState =
  | { kind: "supervised" }
  | { kind: "pausing" | "paused"; reason: string; since: string }
  /** A person takes it, or has it: automation is off from the first of the two on. */
  | { kind: "taking-over" | "taken-over"; since: string };

export type SignOffRequest = EventMap["signoff.requested"] & { since: string };
export type SignOffWhy = SignOffRequest["why"];

export type VerificationState =
  | { kind: "none" }
  | { kind: "wanted"; by: "person" | "auto"; mono: number }
  | { kind: "running"; by: "person" | "auto"; mono: number }
  /** Passed; the reviewer looks at it. */
  | {
      kind: "reviewing";
      facts: VerifyFacts;
      /** The reviewer was asked by the present owner. */
      begun: boolean;
    }
  /** Passed, but git's history is not as it was given: the worker is told once, and then it is as it is. */
  | { kind: "repair"; facts: VerifyFacts }
  /** Passed, and the reviewer wants something changed. */
  | { kind: "revise"; facts: VerifyFacts; review: ReviewFacts }
  /** Passed, and completed only when a person signs it: first without the request (it is being recorded), then with it. */
  | { kind: "signing"; facts: VerifyFacts; why: SignOffWhy; request: SignOffRequest | null }
  /** A person refused to sign; the worker hears of it with its next message. */
  | { kind: "denied"; facts: VerifyFacts; requestId: string; note: string }
  /** Passed; the workspace must still be that tree before the task is called completed. `by`: who lets it be so. */
  | { kind: "confirming"; facts: VerifyFacts; by: "person" | "auto"; reviewed: boolean }
  | { kind: "passed"; facts: VerifyFacts }
  | { kind: "failed"; facts: VerifyFacts }
  | { kind: "error"; facts: VerifyFacts };

export type StopBy = EventMap["stop.requested"]["by"];

export type StopState =
  | { kind: "none" }
  | {
      kind: "requested";
      by: StopBy;
      how: "graceful" | "now";
      reason: string;
      end: "stopped" | "failed";
      cause: string | null;
      mono: number;
    }
  | { kind: "proven"; by: StopBy; reason: string; end: "stopped" | "failed"; cause: string | null }
  | {
      kind: "unproven";
      by: StopBy;
      reason: string;
      end: "stopped" | "failed";
      cause: string | null;
      remaining: RemainingResource[];
    };

/** Why nothing is sent or approved by itself until a person acts. */
export interface Hold {
  reason: HoldReason;
  message: string;
  since: string;
  /** Set for the fault switch: an act of a person does not clear it. */
  fault: boolean;
}

export interface BudgetState {
  /** Results of turns. */
  turns: number;
  /** Failing verifications since the task began. */
  failedRounds: number;
  /** Verifications begun. */
  rounds: number;
  /** Runs in a row that a changing tree made void. */
  voidRuns: number;
  /** Cost of finished processes (USD, Claude's estimate) and the last value of the present one; null: not reported. */
  costBase: number;
  costLast: number | null;
  /** Milliseconds that people added to the wall clock at recover. */
  extraMs: number;
  /** Milliseconds that earlier owners spent, and the present owner's start on its own clock. */
  usedMs: number;
  ownerMono: number;
  /** The task waits for a person: its clock stands still. */
  resting: boolean;
  /** A person was told that most of the time is used up. */
  wallWarned: boolean;
}

/** What the decider is asked about the conversation as a whole, and what its answers add up to. */
export interface DeciderState {
  about:
    | { kind: "none" }
    | {
        kind: "wanted" | "asked";
        about: "turn-end" | "exit";
        decisionId: string;
        /** Tree of the workspace when it was asked; null when not known. */
        treeId: string | null;
      }
    /** This turn's end is judged. */
    | { kind: "verify" }
    | { kind: "send"; message: string };
  /** Questions that the model answered. */
  decisions: number;
  /** Their cost (USD, an estimate by Pi's price list); null: no price was known. */
  usd: number | null;
  /** Turns' ends in a row that were answered with `continue`, and the tree at the last one. */
  continues: number;
  continuedTree: string | null;
  /** Unexpected exits that were resumed since a person last acted. */
  resumes: number;
  /** At this turn's end it gave no valid answer: the verification has to pass, else a person is asked. */
  failed: { code: string; reason: string } | null;
}

/** What tells work from repetition. */
export interface StallState {
  /** Denials of equal asks, by the hash of their normalized form (at most 100). */
  denials: Record<string, number>;
  /** Tree of the newest failing round, and how many in a row failed on it. */
  failedTree: string | null;
  equalRounds: number;
  /** The newest turn's end that somebody looked at: its words (a hash), its tree, and how many in a row were equal. */
  results: { said: string; tree: string; turn: number; times: number } | null;
}

export interface OpenTool {
  toolName: string;
  gated: boolean;
  /** A subagent's. */
  nested: boolean;
  /** The gate let it through. */
  allowed: boolean;
  mono: number;
  at: string;
}

export interface Counters {
  toolCalls: number;
  verdicts: Record<"allow" | "review" | "person" | "deny", number>;
  /** Review, person and deny verdicts by rule: at most 200 rules, the rest under `other`. */
  byRule: Record<string, number>;
  lateEvents: number;
  incidents: number;
  protocolErrors: number;
  /** Deny verdicts by rule, bounded like `byRule`, which has them too. */
  deniedByRule: Record<string, number>;
  /** What the decider said, by its decision (`unavailable` included). */
  decisions: Record<string, number>;
  /** Words of the decider about open requests, by request (at most 100); and those that a person decided otherwise. */
  opinions: Record<string, string>;
  overridden: number;
}

/** How far the end of the task's time has come. */
export type ClosingState =
  | { kind: "open" }
  /** `later`: it could not be said by itself, and goes out with the next message. */
  | { kind: "wrap-up"; told: "no" | "later" | "yes" }
  | { kind: "close-out"; since: number };

/** The person's switch in `supervisor.json`, as it was last seen. */
export type AutomationState = { kind: "on" } | { kind: "off"; why: string; since: string };

export type EndedState =
  | { kind: "no" }
  | { kind: "completed"; treeId: string; at: string }
  | { kind: "failed"; reason: string; message: string; at: string };

export interface TaskState {
  taskId: string;
  seq: number;
  /** Time of the newest event: wall (ISO) and the owner's monotonic clock (ms). */
  at: string;
  mono: number;
  createdAt: string;
  spec: TaskSpec | null;
  owner: OwnerState;
  worker: WorkerState;
  /** Containments whose absence is not proven yet, the present worker's first. */
  resources: ContainmentRecord[];
  turn: TurnState;
  background: { id: string; kind: string; description: string }[];
  prompts: PromptsState;
  requests: Record<string, RequestState>;
  tools: Record<string, OpenTool>;
  /** Owner's clock at the newest sign of progress (anything but a heartbeat). */
  progressMono: number;
  /** Answers that people gave, by tool_use_id: a can_use_tool that still follows gets the same (bounded to 100). */
  answered: Record<string, "approve" | "deny" | "answer">;
  verification: VerificationState;
  /** The newest verification that ran, kept for reports while the machine moves on. */
  lastVerification: VerifyFacts | null;
  /** The newest review, for reports and for whoever is asked to sign. */
  lastReview: ReviewFacts | null;
  /** The newest tree that a person was asked to sign, or that the reviewer held back: their own verification of the same one is the signature. */
  askedTree: string | null;
  /** The worker was told what it did to git's history. */
  repairTold: boolean;
  stop: StopState;
  control: ControlState;
  automation: AutomationState;
  closing: ClosingState;
  hold: Hold | null;
  /** The tool of a subagent's call that was refused for want of a person, who is called at the turn's end. */
  refusedUnasked: string | null;
  ended: EndedState;
  budgets: BudgetState;
  counters: Counters;
  lastResult: { facts: ResultFacts; at: string } | null;
  /** The newest usage limit that Claude reported with a time at which it ends (ISO). */
  limitEndsAt: string | null;
  /** Failures of the model service in a row, for the growing wait. */
  serviceFailures: number;
  /** The Claude program of the newest worker. */
  executable: EventMap["worker.started"]["executable"] | null;
  /** SHA-256 of a changed Claude program that a person was asked about. */
  driftSeen: string | null;
  stall: StallState;
  decider: DeciderState;
  /** Model that Claude reported, null until known. */
  model: string | null;
  sessionId: string | null;
}

export function initialState(taskId: string): TaskState {
  return {
    taskId,
    seq: 0,
    at: "",
    mono: 0,
    createdAt: "",
    spec: null,
    owner: { kind: "none" },
    worker: { kind: "none" },
    resources: [],
    turn: { kind: "none" },
    background: [],
    prompts: {
      goalGiven: false,
      goOn: false,
      handback: null,
      queue: [],
      open: null,
      doubtful: null,
      sent: 0,
      sinceResume: null,
      quarantined: false,
    },
    requests: {},
    tools: {},
    progressMono: 0,
    answered: {},
    verification: { kind: "none" },
    lastVerification: null,
    lastReview: null,
    askedTree: null,
    repairTold: false,
    stop: { kind: "none" },
    control: { kind: "supervised" },
    automation: { kind: "on" },
    closing: { kind: "open" },
    hold: null,
    refusedUnasked: null,
    ended: { kind: "no" },
    budgets: {
      turns: 0,
      failedRounds: 0,
      rounds: 0,
      voidRuns: 0,
      costBase: 0,
      costLast: null,
      extraMs: 0,
      usedMs: 0,
      ownerMono: 0,
      resting: false,
      wallWarned: false,
    },
    counters: {
      toolCalls: 0,
      verdicts: { allow: 0, review: 0, person: 0, deny: 0 },
      byRule: {},
      lateEvents: 0,
      incidents: 0,
      protocolErrors: 0,
      deniedByRule: {},
      decisions: {},
      opinions: {},
      overridden: 0,
    },
    lastResult: null,
    limitEndsAt: null,
    serviceFailures: 0,
    executable: null,
    driftSeen: null,
    stall: { denials: {}, failedTree: null, equalRounds: 0, results: null },
    decider: {
      about: { kind: "none" },
      decisions: 0,
      usd: null,
      continues: 0,
      continuedTree: null,
      resumes: 0,
      failed: null,
    },
    model: null,
    sessionId: null,
  };
}

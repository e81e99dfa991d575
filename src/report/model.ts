/** What a report tells, collected from the events of one task. Every list is bounded; what was left out is counted. */
import type { EventMap } from "../core/events.ts";
import type { PromptSource, TaskState } from "../core/machine/state.ts";
import type { ReportView } from "./history.ts";

export type Verdict = EventMap["gate.verdict"]["verdict"];
export type Tone = "good" | "bad" | "warn";

/** How a question of the gate was answered. */
export interface CallAnswer {
  at: string;
  decision: string;
  by: string;
  via: string;
  note?: string;
}

/** One tool call, from the gate to its result. */
export interface Call {
  tool: string;
  /** The command, file or address: one line. */
  subject: string;
  /** The whole input, bounded. */
  input: string;
  verdict: Verdict;
  rule: string;
  reason: string;
  nested: boolean;
  late: boolean;
  requestId?: string;
  answer?: CallAnswer;
  /** It did not run, and why. */
  notRun?: string;
  result?: { at: string; isError: boolean; preview: string; chars: number };
}

export type EntryKind = "call" | "claude" | "worker" | "answer" | "verification" | "end" | "trouble";

/** One line of the timeline. */
export interface Entry {
  seq: number;
  at: string;
  kind: EntryKind;
  title: string;
  tone?: Tone;
  /** More text, as it came; data from outside. */
  detail?: string;
  call?: Call;
}

/** What happened from one message to Claude to the next. */
export interface Chapter {
  seq: number;
  at: string;
  /** Null: before the first message. */
  source: PromptSource | null;
  text: string;
  /** Entries that are always kept, and those that give way in a long log; each in order. */
  telling: Entry[];
  ordinary: Entry[];
  calls: number;
  refused: number;
  asked: number;
  errors: number;
  /** Entries that were let go, by what they were. */
  dropped: { calls: number; texts: number; others: number };
  costUsd: number | null;
  tokens: number | null;
  endedAt: string;
}

/** Chapters that were too many: their sums. */
export interface EarlierChapters {
  chapters: number;
  calls: number;
  refused: number;
  entries: number;
  fromSeq: number;
  toSeq: number;
}

/** A question that the gate did not answer itself, or one of the Decision Worker's own. */
export interface Question {
  seq: number;
  at: string;
  requestId: string | null;
  what: string;
  rule: string;
  askedOf: string;
  /** Approving it signs a passed verification off. */
  signs?: true;
  steps: CallAnswer[];
  open: boolean;
}

export interface Refusal {
  seq: number;
  at: string;
  tool: string;
  subject: string;
  rule: string;
  reason: string;
  by: string;
}

export interface Round {
  seq: number;
  at: string;
  facts: EventMap["verify.finished"];
  /** What a reviewer said about it last. */
  review?: { seq: number; at: string; facts: EventMap["review.finished"] };
}

export interface UsagePoint {
  at: string;
  /** Results that this point stands for; more than one in a long log. */
  turns: number;
  /** Cost of the task so far (USD, Claude's estimate), null while none was reported. */
  costUsd: number | null;
  input: number;
  output: number;
  cacheRead: number;
  cacheCreation: number;
  reported: boolean;
}

/** What a stretch of time went into. */
export type Doing = "working" | "deciding" | "verifying" | "waiting" | "paused" | "service" | "nobody";

export interface Span {
  doing: Doing;
  from: number;
  to: number;
}

export interface FileChange {
  path: string;
  status: string;
  /** Lines; absent for what has none. */
  added?: number;
  deleted?: number;
  note?: string;
}

export interface Changes {
  files: FileChange[];
  more: number;
  /** Lines over all files. */
  added: number;
  deleted: number;
  /** Where they were seen: the round. */
  round: number;
}

export interface Report {
  view: ReportView;
  state: TaskState;
  /** Records read, the last one's number, and why reading ended early. */
  records: number;
  lastSeq: number;
  damage: string | null;
  chapters: Chapter[];
  earlier: EarlierChapters | null;
  calls: {
    byTool: Record<string, Record<Verdict, number>>;
    errors: number;
    notRun: number;
    nested: number;
  };
  refusals: Refusal[];
  refusalsByRule: Record<string, number>;
  moreRefusals: number;
  questions: Question[];
  moreQuestions: number;
  rounds: Round[];
  moreRounds: number;
  usage: UsagePoint[];
  changes: Changes | null;
  time: { spans: Span[]; byDoing: Record<Doing, number> };
  notices: Entry[];
  moreNotices: number;
}

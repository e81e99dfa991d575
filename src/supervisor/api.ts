/**
 * What the supervisor offers to whoever drives it (the Pi extension, tests, embedders). Every call answers with a
 * result union; nothing throws for an expected failure. Texts in answers are redacted.
 */
import type { PersonCalled } from "../core/contracts/notice.ts";
import type { PolicyDecision, Profile, Trust } from "../core/contracts/policy.ts";
import type { StoredEvent } from "../core/events.ts";
import type { Deadline } from "../core/machine/deadlines.ts";
import type { StateName, WaitsFor } from "../core/machine/project.ts";
import type { RequestState, TaskState } from "../core/machine/state.ts";
import type { Result } from "../core/result.ts";
import type { EffectivePolicy } from "../policy/index.ts";

export interface StartInput {
  goal: string;
  /** Folder to work in; relative to `from`. */
  cwd?: string;
  /** The caller's own folder (Pi's cwd). */
  from: string;
  mode?: "manual" | "auto";
  verify: string[];
  transport?: "claude-jsonl" | "process-pipe";
  /** The person knows that process-pipe has no gate: how they said so. */
  ungated?: "flag" | "dialog";
  trust?: Trust;
  profile?: Profile;
  model?: string;
  maxRounds?: number;
  maxTurns?: number;
  timeoutMs?: number;
  quietTimeoutMs?: number;
  patienceMs?: number;
  /** USD for worker and decider together, an estimate. */
  budgetUsd?: number;
  maxDecisions?: number;
  /** `provider/id` of the decider's model. */
  decisionModel?: string;
  verifyIn?: "clean" | "workspace";
  verifySetup?: string;
  verifyRuns?: number;
  /** A reviewer looks at what passed. */
  review?: boolean;
  /** Root of the project whose `.pi/supervisor.json` counts, because Pi trusts it. */
  trustedProject?: string;
  /** A task file (docs/task.schema.json), relative to `from`; everything else here stands above it. */
  taskFile?: string;
  /** Work in a git worktree of the task's own; a name, or true for the task's id. */
  worktree?: string | true;
}

export interface StartAnswer {
  taskId: string;
  /** Real path. */
  cwd: string;
  mode: "manual" | "auto";
  stopCommand: string;
  /** What the person should know: a newer Claude, what the repository's settings run, an unusual cwd. */
  notices: string[];
}

/** One pending request, as `approvals` shows it. */
export interface RequestView {
  requestId: string;
  taskId: string;
  kind: RequestState["kind"] | "sign-off";
  toolName: string;
  toolUseId: string;
  /** Redacted. */
  input: unknown;
  cwd: string;
  rule: string;
  reason: string;
  loss: "recoverable" | "lost" | null;
  askedOf: "person" | "decider";
  /** Why the decider passed it on to a person, and its words; null where it did not. */
  passedOn: { why: string; reason: string } | null;
  since: string;
  deferred: boolean;
}

export interface TaskView {
  taskId: string;
  state: StateName;
  waitsFor: WaitsFor;
  /** Why it stands where it stands, one sentence, or null. */
  why: string | null;
  /** Kebab-case code of the hold or the failure, or null. */
  reason: string | null;
  recoverable: boolean;
  goal: string;
  cwd: string;
  mode: "manual" | "auto";
  /** The person's switch as an automatic task last saw it; null for a manual one. */
  automation: "on" | "off" | null;
  createdAt: string;
  /** Time of the newest event. */
  lastEventAt: string;
  claudeSessionId: string | null;
  model: string | null;
  currentTool: { toolName: string; since: string } | null;
  background: { id: string; kind: string; description: string }[];
  requests: RequestView[];
  rounds: { used: number; failed: number; max: number };
  turns: number;
  costUsd: number | null;
  /** Automatic tasks: questions that the decider answered, how many it may, what they cost (USD, an estimate), by outcome. */
  decisions: {
    used: number;
    max: number;
    costUsd: number | null;
    byOutcome: Record<string, number>;
    overridden: number;
  } | null;
  /** The task's budget and what is known to be spent of it, worker and decider together (USD, an estimate). */
  budget: { usd: number; spentUsd: number } | null;
  verdicts: Record<"allow" | "review" | "person" | "deny", number>;
  /** Calls that were not allowed at once (asked about or denied), by rule; and those of them that were denied. */
  asksByRule: Record<string, number>;
  /** Calls that somebody was asked about, of a hundred; null before the first call. */
  asksPer100Calls: number | null;
  deniedByRule: Record<string, number>;
  lastVerification: { outcome: string; treeId: string; message: string } | null;
  deadlines: (Pick<Deadline, "name" | "length" | "what"> & { leftMs: number })[];
  remaining: { kind: string; id: string; detail: string }[];
  owner: { pid: number; host: string; since: string; alive: boolean; mine: boolean } | null;
  /** The report that stands beside the log while a fault keeps automation off, else null. */
  faultReport: string | null;
  stopCommand: string;
  logPath: string;
}

export interface TaskRow {
  taskId: string;
  state: StateName | "unreadable";
  recoverable: boolean;
  goal: string;
  cwd: string;
  createdAt: string;
  costUsd: number | null;
  /** Set for a record that could not be read. */
  problem: string | null;
}

/** An event just recorded, with the states around it: what the UI and followers are made from. */
export interface TaskUpdate {
  taskId: string;
  event: StoredEvent;
  before: TaskState;
  after: TaskState;
}

/** What dropping a record removes, or would remove. */
export interface RemovalView {
  taskId: string;
  folder: string;
  files: number;
  bytes: number;
  removed: boolean;
}

/** One setting as it holds, and which of default, person, project, environment said so. Secrets are only `set`. */
export interface SettingView {
  name: string;
  value: unknown;
  origin: string;
}

export interface TakenOver {
  state: StateName;
  /** One line for a shell: folder, session, the same isolation flags. */
  resumeCommand: string;
  /** The same for a program; `without` names variables of this process that it must not get. */
  launch: { file: string; args: string[]; cwd: string; without: string[] };
}

export interface Supervisor {
  start(input: StartInput): Promise<Result<StartAnswer>>;
  status(taskId: string): Promise<Result<{ task: TaskView }>>;
  /** The task that `status` without an id means: the newest live one of this process, else the newest of the store. */
  defaultTask(): Promise<string | null>;
  sessions(all: boolean): Promise<Result<{ tasks: TaskRow[] }>>;
  send(taskId: string, text: string): Promise<Result<{ promptId: string; queued: boolean }>>;
  /** What waits for a person; what the decider is asked about stands in the task's `status`. */
  approvals(): Promise<Result<{ requests: RequestView[] }>>;
  approve(requestId: string, note: string | undefined, via: "command" | "dialog"): Promise<Result<{ taskId: string }>>;
  deny(requestId: string, reason: string | undefined, via: "command" | "dialog"): Promise<Result<{ taskId: string }>>;
  /** `text` is a label, several labels separated by `, `, or free text; with several questions `Question=answer; …`. */
  answer(requestId: string, text: string, via: "command" | "dialog"): Promise<Result<{ taskId: string }>>;
  /** Answers when it has run and was reviewed; it waits for a reviewer alone no longer than `reviewWaitMs`. */
  verify(
    taskId: string,
    options?: { reviewWaitMs?: number },
  ): Promise<Result<{ outcome: "pass" | "fail" | "error"; state: StateName; message: string; treeId: string }>>;
  stop(taskId: string, reason: string | undefined): Promise<Result<{ state: StateName }> | StopFailure>;
  /** Ends the worker gracefully and keeps its session. */
  pause(taskId: string, reason: string | undefined): Promise<Result<{ state: StateName }>>;
  /**
   * Goes on with a task whose worker is gone: in its session, or in a new one when `fresh` was asked for. `fault` clears the
   * fault switch. Answers after the new worker's handshake.
   */
  recover(
    taskId: string,
    options: { fresh: boolean; fault?: string; extendMs?: number },
  ): Promise<Result<{ state: StateName }>>;
  /**
   * Ends the worker so that a person may drive its session themselves. From the answer on nothing is sent before
   * `handback`. A state that can't be taken over now is refused with `busy` or `starting` and works soon after.
   */
  takeover(taskId: string): Promise<Result<TakenOver>>;
  /** Goes on in the session after a person had it; the worker is told so, and the note. */
  handback(taskId: string, note: string | undefined): Promise<Result<{ state: StateName; turns: number | null }>>;
  /** Drops the record of an ended or recoverable task; without `apply` only says what would go. */
  discard(taskId: string, apply: boolean): Promise<Result<{ removal: RemovalView }>>;
  /** Drops the records of tasks that ended longer ago than that. */
  prune(
    olderThanMs: number,
    apply: boolean,
  ): Promise<Result<{ removals: RemovalView[]; kept: { taskId: string; message: string }[] }>>;
  kill(taskId: string): Promise<Result<{ state: StateName }> | StopFailure>;
  /** Whole records from `since` on, oldest first, at most `limit`. */
  log(
    taskId: string,
    options: { since?: number; limit: number },
  ): Promise<Result<{ events: StoredEvent[]; path: string; lastSeq: number }>>;
  /** Calls `onEvent` for each record from `since` on until the signal fires. */
  follow(taskId: string, since: number, onEvent: (event: StoredEvent) => void, signal: AbortSignal): Promise<Result>;
  /** Checks the whole hash chain. */
  verifyLog(taskId: string): Promise<Result<{ records: number; bytes: number }>>;
  replay(
    taskId: string,
    to?: number,
  ): Promise<Result<{ state: StateName; matches: boolean; seq: number; differences: string[] }>>;
  /**
   * Everything that a report is made from: each record of the log goes through `onEvent`, oldest first, and nothing is
   * kept. `damage` says why the log could be read only up to the last one given.
   */
  history(
    taskId: string,
    onEvent: (event: StoredEvent) => void,
  ): Promise<Result<{ view: TaskView; damage: string | null }>>;
  /**
   * Every task as it stands, newest first, one at a time; memory does not grow with their number but for the list of
   * ids. Stops after `withinMs`: what was not looked at is counted, as is what can't be read.
   */
  survey(
    onTask: (task: TaskView) => void,
    withinMs: number,
  ): Promise<Result<{ unreadable: number; notLooked: number }>>;
  policyCheck(
    command: string,
    cwd: string,
    trustedProject?: string,
  ): Promise<Result<{ decision: PolicyDecision; explanation: string }>>;
  /** The policy in force for a new task in that folder, and where each setting comes from. */
  policyShow(
    cwd: string,
    trustedProject?: string,
  ): Promise<Result<{ policy: EffectivePolicy; settings: SettingView[]; notes: string[] }>>;
  /** Resolves when the task has ended or waits for a person (`-p` mode). */
  settled(taskId: string): Promise<TaskView>;
  /** Live tasks of this process. */
  live(): TaskView[];
  subscribe(listener: (update: TaskUpdate) => void): () => void;
  /** Tells when a task of this process needs a person, or is over: once a wait. Not where `terminalNotices` is off. */
  subscribeCalls(listener: (call: PersonCalled) => void): () => void;
  /** Pi quits: end the workers cleanly, leave the tasks recoverable. Bounded by `deadlineMs`. */
  shutdown(deadlineMs: number): Promise<void>;
  /** For completions, from memory and the last look at the disk; never slow. */
  known(): KnownTask[];
}

/** What completions offer of a task. */
export interface KnownTask {
  taskId: string;
  goal: string;
  state: TaskRow["state"];
  recoverable: boolean;
  /** The fault that keeps automation off, or null. */
  fault: string | null;
  requests: {
    requestId: string;
    kind: RequestView["kind"];
    toolName: string;
    /** Of a single question: what may be answered. */
    labels: string[];
  }[];
}

export interface StopFailure {
  ok: false;
  reason: string;
  message: string;
  state: StateName;
  remaining: { kind: string; id: string; detail: string }[];
}

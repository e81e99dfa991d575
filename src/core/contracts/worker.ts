/**
 * The worker adapter: one live agent process and its protocol, behind one interface. An adapter never decides
 * anything; it reports `WorkerEvent`s and does what it is told. Expected failures are result unions.
 */
import type { Result } from "../result.ts";

export type TransportName = "claude-jsonl" | "process-pipe";

export interface WorkerCapabilities {
  /** Every tool call is seen before it runs and waits for an answer. */
  permission: boolean;
  /** A waiting call can be put off beyond the life of the process. */
  defer: boolean;
  resumeSession: boolean;
  takeover: boolean;
  interrupt: boolean;
}

export interface ExecutableFacts {
  /** As configured or found on PATH. */
  path: string;
  realPath: string;
  version: string;
  /** Size in bytes and SHA-256 of the first MiB of the real file. */
  size: number;
  sha256: string;
}

export interface WorkerStartInput {
  taskId: string;
  workerId: string;
  executable: ExecutableFacts;
  /** Real path of the workspace. */
  cwd: string;
  /** Chosen by us before the spawn, so that it can be recorded first. */
  sessionId: string;
  /** Continue that session instead of starting it. */
  resume: boolean;
  trust: "none" | "user" | "project";
  model?: string;
  maxTurns?: number;
  /** Text appended to Claude's system prompt: the project's guidance, bounded, marked as data. */
  appendSystemPrompt?: string;
  /** The complete environment of the worker for embedders; default: the minimal set plus `workerEnvNames`. */
  env?: Readonly<Record<string, string>>;
  /** Names of host variables passed on beside the minimal set. */
  workerEnvNames: readonly string[];
  /** The worker's TMPDIR: a fresh 0700 folder made by the supervisor. */
  tmpDir: string;
  cgroup: "auto" | "required" | "off";
  /** Milliseconds from spawn to a passed handshake. */
  startupTimeoutMs: number;
  /** Where lines too long for memory and broken lines are kept (0700, owned by the supervisor). */
  artifactDir: string;
}

/** A process that is meant, not whoever has its number now. */
export interface ProcessIdentity {
  pid: number;
  /** Field 22 of /proc/<pid>/stat; on macOS the start time that `ps` prints. */
  startTicks: string;
  bootId: string;
}

/** What has to be gone before anyone may say "stopped". Written to the log before the process can do anything. */
export interface ContainmentRecord {
  kind: "cgroup" | "census";
  /** cgroup folder (absolute), with kind `cgroup`. */
  cgroup?: string;
  /** Inherited environment variable `NAME=value` by which descendants are found. */
  marker: string;
  leader: ProcessIdentity;
  guardian?: ProcessIdentity;
}

export interface GateReply {
  decision: "allow" | "deny" | "defer";
  /** Shown to the model; must not be empty with `deny`. */
  reason?: string;
  /** Complete replacement of the input (answers of AskUserQuestion). */
  updatedInput?: Readonly<Record<string, unknown>>;
  /** With `deny`: end the turn as well. */
  endTurn?: boolean;
}

/** Token counts as Claude reported them; absent means not reported, never 0. */
export interface Usage {
  inputTokens?: number;
  outputTokens?: number;
  cacheReadTokens?: number;
  cacheCreationTokens?: number;
}

export type WorkerEvent =
  /** The process exists and is contained; nothing was sent to it yet. */
  | { type: "spawned"; containment: ContainmentRecord; argv: string[]; envNames: string[] }
  /** The handshake passed: hooks applied, permission mode as asked. */
  | { type: "ready"; permissionMode: string }
  /** system/init, at the start of every turn. */
  | { type: "init"; permissionMode: string; sessionId: string; model?: string; tools: number }
  /** A PreToolUse hook callback: answer with `reply(callId, …)`. `callId` is the control request's id. */
  | {
      type: "hook";
      callId: string;
      toolUseId: string;
      toolName: string;
      input: unknown;
      cwd: string;
      permissionMode?: string;
      agentId?: string;
    }
  /** A can_use_tool: answer with `reply(callId, …)`. */
  | {
      type: "ask";
      callId: string;
      toolUseId?: string;
      toolName: string;
      input: unknown;
      suggestions: number;
    }
  /** Claude took a question back: never answer it any more. */
  | { type: "cancelled"; callId: string }
  /** A tool_use block in an assistant message. */
  | { type: "tool-use"; toolUseId: string; toolName: string; parentToolUseId?: string }
  /** A tool_result block; `wrapped` = `<tool_use_error>` text, i.e. refused before any hook. */
  | { type: "tool-result"; toolUseId: string; isError: boolean; wrapped: boolean; aborted: boolean; text: string }
  | { type: "text"; text: string; parentToolUseId?: string }
  | { type: "stderr"; text: string }
  | { type: "prompt-ack"; promptId: string; state: "queued" | "started" | "completed" | "discarded" }
  | { type: "background"; tasks: { id: string; kind: string; description: string }[] }
  | { type: "session-state"; state: "idle" | "busy" }
  | { type: "retry"; attempt: number; maxRetries?: number; delayMs?: number; status?: number }
  | { type: "rate-limit"; status: "allowed" | "warning" | "rejected"; resetsAt?: string }
  | { type: "conversation-reset"; sessionId?: string }
  | {
      type: "result";
      subtype: string;
      isError: boolean;
      terminalReason?: string;
      apiErrorStatus?: number;
      /** The kind of API failure that an assistant message of this turn named, e.g. `authentication_failed`. */
      apiError?: string;
      errors: string[];
      /** Final text of the turn, unbounded; the supervisor bounds it. */
      text: string;
      numTurns?: number;
      /** Cumulative estimate of this process, USD. */
      costUsd?: number;
      durationMs?: number;
      usage?: Usage;
      permissionDenials: number;
      deferred?: { toolUseId: string; toolName: string; input: unknown };
    }
  /** A line or message that broke the protocol; the run goes on unless `fatal`. */
  | { type: "protocol-error"; code: string; detail: string; artifact?: string; fatal: boolean }
  | { type: "unknown"; messageType: string; subtype?: string }
  /** Anything arrived: liveness, not progress. At most one a second. */
  | { type: "heartbeat" }
  /** The leader is gone and both pipes are read to their end. `stderrTail` was redacted before it was cut. */
  | { type: "exited"; code: number | null; signal: string | null; stderrTail: string };

export interface StopOptions {
  /** `graceful`: interrupt, EOF, TERM, grace, kill. `now`: kill at once. */
  kind: "graceful" | "now";
  /** Milliseconds between TERM and kill. */
  graceMs: number;
}

export interface RemainingResource {
  kind: "process" | "cgroup" | "unknown";
  id: string;
  /** Command or path for people. */
  detail: string;
}

/** `proven` only when the authority that lists it no longer lists anything. */
export type StopOutcome =
  | { proven: true; method: "cgroup" | "census"; killed: number; durationMs: number }
  | { proven: false; remaining: RemainingResource[]; durationMs: number };

export interface WorkerStatus {
  phase: "starting" | "ready" | "ending" | "gone";
  leader?: ProcessIdentity;
  containment?: ContainmentRecord;
  linesRead: number;
  bytesRead: number;
  noiseLines: number;
  lastLineAgeMs?: number;
}

export interface WorkerAdapter {
  readonly transport: TransportName;
  readonly capabilities: WorkerCapabilities;
  /** Resolves when the handshake passed, or with the reason why there is no worker (nothing is left running then). */
  start(): Promise<Result<{ permissionMode: string }>>;
  subscribe(listener: (event: WorkerEvent) => void): () => void;
  getStatus(): WorkerStatus;
  /** The last `maxBytes` of what the worker printed, redaction not applied. */
  readOutput(maxBytes: number): string;
  /** Writes one user message; `idempotencyKey` is its uuid. Resolves when the bytes are in the pipe. */
  send(text: string, idempotencyKey: string): Promise<Result>;
  /** Answers a `hook` or `ask` event. A second answer to one id, or one after `cancelled`, is refused. */
  reply(callId: string, reply: GateReply): Promise<Result>;
  interrupt(): Promise<Result>;
  /** Ends the worker gracefully at rest: stdin EOF, then after `exitMs` TERM, then kill. The session can be resumed. */
  pause(exitMs: number): Promise<StopOutcome>;
  /** Ends the process so that a person may drive its session. */
  takeover(exitMs: number): Promise<Result<{ resumeArgs: string[]; outcome: StopOutcome }>>;
  /** Joins a stop in progress; `now` speeds a graceful one up. */
  stop(options: StopOptions): Promise<StopOutcome>;
  killProcessGroup(): Promise<StopOutcome>;
}

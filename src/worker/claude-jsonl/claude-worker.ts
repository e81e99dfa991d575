/**
 * The default transport: a real Claude Code in stream-json mode, with every tool call held at our PreToolUse hook until
 * it is answered. Nothing on the way of an event waits for the disk or parses a line twice.
 *
 * Memory of one worker: an unfinished line (at most 24 MiB, usually 16 KiB), the last 256 KiB of output, 8 KiB of stderr,
 * at most 8 MiB of unread input, under 1 MiB of remembered ids, at most 1,000 open questions with their inputs, 32 MiB of
 * broken lines on their way to disk.
 */
import type {
  ContainmentRecord,
  GateReply,
  StopOptions,
  StopOutcome,
  WorkerAdapter,
  WorkerCapabilities,
  WorkerEvent,
  WorkerStartInput,
  WorkerStatus,
} from "../../core/contracts/worker.ts";
import { type Failure, failure, type Result } from "../../core/result.ts";
import { ArtifactKeeper } from "../artifact-keeper.ts";
import type { LeaderExit, WorkerDeps } from "../deps.ts";
import { workerEnvironment } from "../environment.ts";
import { EventHub, type WorkerListener } from "../event-hub.ts";
import type { FrameError } from "../framing/frame-reader.ts";
import { OutputRing } from "../output-ring.ts";
import { within } from "../within.ts";
import { stopped, WorkerProcess } from "../worker-process.ts";
import { streamArgs, takeoverArgs } from "./argv.ts";
import { ClaudeStream } from "./claude-stream.ts";
import { describeFrameError } from "./frame-error.ts";
import { checkHandshake, initializeRequest } from "./handshake.ts";
import { PromptLedger, userMessage } from "./prompts.ts";
import { startFailure } from "./start-failure.ts";

const INTERRUPT_TIMEOUT_MS = 10_000;
const HEARTBEAT_MS = 1000;
/** Between a handshake that failed and the kill: Claude then has nothing to save. */
const START_FAILURE_GRACE_MS = 1000;
/** How long a worker that broke its pipe may take to be seen gone, so that its last words stand in the message. */
const LAST_WORDS_MS = 2000;

export class ClaudeWorker implements WorkerAdapter {
  readonly transport = "claude-jsonl";
  readonly capabilities: WorkerCapabilities = {
    permission: true,
    defer: true,
    resumeSession: true,
    takeover: true,
    interrupt: true,
  };
  readonly #input: WorkerStartInput;
  readonly #deps: WorkerDeps;
  readonly #hub = new EventHub();
  readonly #ring = new OutputRing();
  readonly #stream: ClaudeStream;
  readonly #process: WorkerProcess;
  readonly #prompts = new PromptLedger();
  readonly #artifacts: ArtifactKeeper;
  #env: Readonly<Record<string, string>> = {};
  #bytesRead = 0;
  #lastReadMono: number | undefined;
  #lastHeartbeatMono = Number.NEGATIVE_INFINITY;
  /** The words of an error result that came before the handshake. */
  #earlyErrors: string[] = [];

  constructor(input: WorkerStartInput, deps: WorkerDeps) {
    this.#input = input;
    this.#deps = deps;
    this.#process = new WorkerProcess(deps, {
      spawned: (containment) => this.#spawned(containment),
      stdout: (chunk) => this.#read(chunk),
      stdoutEnd: () => this.#stream.end(),
      stderr: (text) => this.#stderr(text),
      gone: (exit) => this.#gone(exit),
      interrupt: (timeoutMs) => this.#stream.control.request({ subtype: "interrupt" }, timeoutMs),
    });
    this.#stream = new ClaudeStream({
      write: (message) => this.#write(message),
      publish: (event) => this.#publish(event),
      clock: deps.clock,
      frameError: (error) => this.#frameError(error),
    });
    this.#artifacts = new ArtifactKeeper({
      directory: input.artifactDir,
      prefix: input.workerId,
      redactor: deps.redactor,
      lost: (name, reason) => this.#protocolError("artifact-lost", `${name} could not be written: ${reason}`),
    });
  }

  /**
   * Reasons: `env-refused`, `session-id`, `stopped`, `already-started`, those of the containment, `startup-timeout`,
   * `no-session`, `worker-exit`, `hooks-not-applied`, `permission-mode`, `handshake-refused`. Nothing is left running.
   */
  async start(): Promise<Result<{ permissionMode: string }>> {
    const input = this.#input;
    if (!isUuid(input.sessionId)) return failure("session-id", `"${input.sessionId}" is no UUID.`);
    const environment = workerEnvironment({
      host: this.#deps.hostEnv,
      names: input.workerEnvNames,
      tmpDir: input.tmpDir,
      ...(input.env === undefined ? {} : { complete: input.env }),
    });
    if (!environment.ok) return environment;
    this.#env = environment.env;
    const started = this.#deps.clock.mono();
    const spawned = await this.#process.spawn({
      file: input.executable.realPath,
      args: streamArgs(input),
      cwd: input.cwd,
      env: environment.env,
      mode: input.cgroup,
      tmpDir: input.tmpDir,
    });
    if (!spawned.ok) return spawned.reason === "already-started" ? spawned : this.#abandon(spawned);
    const left = Math.max(0, input.startupTimeoutMs - (this.#deps.clock.mono() - started));
    const greeted = await this.#greet(left);
    if (greeted.ok && !this.#process.isEnding && this.#process.phase === "starting") {
      this.#process.phase = "ready";
      this.#hub.publish({ type: "ready", permissionMode: greeted.permissionMode });
      return greeted;
    }
    return this.#abandon(greeted.ok ? stopped() : greeted);
  }

  subscribe(listener: WorkerListener): () => void {
    return this.#hub.subscribe(listener);
  }

  getStatus(): WorkerStatus {
    const containment = this.#process.containment;
    const last = this.#lastReadMono;
    return {
      phase: this.#process.phase,
      ...(containment === undefined ? {} : { leader: containment.leader, containment }),
      linesRead: this.#stream.lines,
      bytesRead: this.#bytesRead,
      noiseLines: this.#stream.reader.noise,
      ...(last === undefined ? {} : { lastLineAgeMs: Math.round(this.#deps.clock.mono() - last) }),
    };
  }

  readOutput(maxBytes: number): string {
    return this.#ring.tail(maxBytes);
  }

  /**
   * Reasons: `not-ready`, `worker-gone`, `prompt-id` (the key is no UUID), `key-conflict` (the key belongs to another text),
   * `prompt-too-long`, and those of the writer. The same key and text again is the same send, not another one.
   */
  async send(text: string, idempotencyKey: string): Promise<Result> {
    const ready = this.#readiness();
    if (!ready.ok) return ready;
    return this.#prompts.once(idempotencyKey, text, () => this.#write(userMessage(text, idempotencyKey)));
  }

  reply(callId: string, reply: GateReply): Promise<Result> {
    return this.#stream.control.reply(callId, reply);
  }

  /** Resolves when Claude has acknowledged; the turn's error result follows as an event. */
  async interrupt(): Promise<Result> {
    const ready = this.#readiness();
    if (!ready.ok) return ready;
    return this.#stream.control.request({ subtype: "interrupt" }, INTERRUPT_TIMEOUT_MS);
  }

  pause(exitMs: number): Promise<StopOutcome> {
    return this.#process.pause({ interrupt: false, exitMs });
  }

  /** Also in the middle of a turn: it is interrupted first, because the end of input alone does not end a turn. */
  async takeover(exitMs: number): Promise<Result<{ resumeArgs: string[]; outcome: StopOutcome }>> {
    const ready = this.#readiness();
    if (!ready.ok) return ready;
    const outcome = await this.#process.pause({ interrupt: true, exitMs });
    return { ok: true, resumeArgs: takeoverArgs(this.#input), outcome };
  }

  stop(options: StopOptions): Promise<StopOutcome> {
    return this.#process.stop(options);
  }

  killProcessGroup(): Promise<StopOutcome> {
    return this.#process.stop({ kind: "now", graceMs: 0 });
  }

  async #greet(timeoutMs: number): Promise<Result<{ permissionMode: string }>> {
    const asked = await this.#stream.control.request(initializeRequest(this.#input.appendSystemPrompt), timeoutMs);
    if (asked.ok) return checkHandshake(asked.response);
    if (asked.reason === "worker-gone") await within(this.#deps.clock, LAST_WORDS_MS, this.#process.gone);
    return startFailure(asked, {
      input: this.#input,
      stderr: this.#process.stderr.lastWords,
      errors: this.#earlyErrors,
      exit: this.#process.exit,
      timeoutMs: this.#input.startupTimeoutMs,
    });
  }

  /** Leaves nothing running, and says so in the failure when that could not be proven. */
  async #abandon(reason: Failure): Promise<Failure> {
    const outcome = await this.#process.stop({ kind: "graceful", graceMs: START_FAILURE_GRACE_MS });
    if (outcome.proven) return reason;
    const rest = outcome.remaining.map((resource) => `${resource.kind} ${resource.id}`).join(", ");
    return failure(reason.reason, `${reason.message} Something of it may still run: ${rest}.`);
  }

  #readiness(): Result {
    switch (this.#process.phase) {
      case "ready":
        return { ok: true };
      case "starting":
        return failure("not-ready", "The worker has not passed its handshake yet.");
      case "ending":
      case "gone":
        return failure("worker-gone", "The worker is ending or gone.");
    }
  }

  #write(message: object): Promise<Result> {
    const writer = this.#process.writer;
    if (writer === undefined) return Promise.resolve(failure("not-ready", "The worker has not been started."));
    return writer.writeMessage(message);
  }

  #read(chunk: Buffer): void {
    this.#bytesRead += chunk.length;
    this.#ring.push(chunk);
    const mono = this.#deps.clock.mono();
    this.#lastReadMono = mono;
    if (mono - this.#lastHeartbeatMono >= HEARTBEAT_MS) {
      this.#lastHeartbeatMono = mono;
      this.#hub.publish({ type: "heartbeat" });
    }
    this.#stream.push(chunk);
  }

  #publish(event: WorkerEvent): boolean {
    if (event.type === "result" && this.#process.phase === "starting") this.#earlyErrors = event.errors;
    return this.#hub.publish(event);
  }

  /** A stream that can no longer be read is the end: tool calls could not be gated any more. */
  #frameError(error: FrameError): void {
    const fatal = error.code === "too-long";
    this.#protocolError(error.code, describeFrameError(error), { fatal, artifact: this.#artifacts.keep(error.line) });
    if (fatal) void this.#process.stop({ kind: "now", graceMs: 0 });
  }

  #protocolError(code: string, detail: string, more: { fatal?: boolean; artifact?: string | undefined } = {}): void {
    const { fatal = false, artifact } = more;
    this.#hub.publish({
      type: "protocol-error",
      code,
      detail,
      ...(artifact === undefined ? {} : { artifact }),
      fatal,
    });
  }

  #stderr(text: string): void {
    if (text !== "") this.#hub.publish({ type: "stderr", text });
  }

  #spawned(containment: ContainmentRecord): void {
    const argv = [this.#input.executable.realPath, ...streamArgs(this.#input)];
    this.#hub.publish({ type: "spawned", containment, argv, envNames: Object.keys(this.#env).sort() });
  }

  #gone(exit: LeaderExit): void {
    this.#stream.control.close("Claude has ended.");
    this.#hub.publish({ type: "exited", ...exit, stderrTail: this.#process.stderr.text });
  }
}

function isUuid(text: string): boolean {
  return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text);
}

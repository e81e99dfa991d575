/**
 * Manual compatibility: `claude -p` with plain text in and out. Tool decisions are Claude's own settings', nothing is
 * gated, held or resumed, and one process takes one prompt: Claude reads its input to the end before it begins
 * (2.1.268), and gives up when none comes within 3 s, so that the prompt has to follow the start at once. Plain text has
 * no result message: the exit is the turn's end, and its code is all that says how it went.
 *
 * Memory: the last 256 KiB of output, 8 KiB of stderr, at most 8 MiB of unread input.
 */
import { StringDecoder } from "node:string_decoder";
import type {
  ContainmentRecord,
  StopOptions,
  StopOutcome,
  WorkerAdapter,
  WorkerCapabilities,
  WorkerStartInput,
  WorkerStatus,
} from "../../core/contracts/worker.ts";
import { type Failure, failure, type Result } from "../../core/result.ts";
import { isolationArgs } from "../claude-jsonl/argv.ts";
import { PromptLedger } from "../claude-jsonl/prompts.ts";
import type { LeaderExit, WorkerDeps } from "../deps.ts";
import { workerEnvironment } from "../environment.ts";
import { EventHub, type WorkerListener } from "../event-hub.ts";
import { OutputRing } from "../output-ring.ts";
import { stopped, WorkerProcess } from "../worker-process.ts";

const HEARTBEAT_MS = 1000;

export class PipeWorker implements WorkerAdapter {
  readonly transport = "process-pipe";
  readonly capabilities: WorkerCapabilities = {
    permission: false,
    defer: false,
    resumeSession: false,
    takeover: false,
    interrupt: false,
  };
  readonly #input: WorkerStartInput;
  readonly #deps: WorkerDeps;
  readonly #hub = new EventHub();
  readonly #ring = new OutputRing();
  readonly #decoder = new StringDecoder("utf8");
  readonly #process: WorkerProcess;
  readonly #prompts = new PromptLedger();
  #env: Readonly<Record<string, string>> = {};
  #prompted = false;
  #bytesRead = 0;
  #linesRead = 0;
  #lastReadMono: number | undefined;
  #lastHeartbeatMono = Number.NEGATIVE_INFINITY;

  constructor(input: WorkerStartInput, deps: WorkerDeps) {
    this.#input = input;
    this.#deps = deps;
    this.#process = new WorkerProcess(deps, {
      spawned: (containment) => this.#spawned(containment),
      stdout: (chunk) => this.#read(chunk),
      stdoutEnd: () => this.#text(this.#decoder.end()),
      stderr: (text) => {
        if (text !== "") this.#hub.publish({ type: "stderr", text });
      },
      gone: (exit) => this.#gone(exit),
    });
  }

  /** There is no handshake: it is ready when the program runs. Reasons: `no-capability` (resume), and those of the spawn. */
  async start(): Promise<Result<{ permissionMode: string }>> {
    const input = this.#input;
    if (input.resume) return noCapability("resume a session");
    const environment = workerEnvironment({
      host: this.#deps.hostEnv,
      names: input.workerEnvNames,
      tmpDir: input.tmpDir,
      ...(input.env === undefined ? {} : { complete: input.env }),
    });
    if (!environment.ok) return environment;
    this.#env = environment.env;
    const spawned = await this.#process.spawn({
      file: input.executable.realPath,
      args: this.#args(),
      cwd: input.cwd,
      env: environment.env,
      mode: input.cgroup,
      tmpDir: input.tmpDir,
    });
    if (!spawned.ok && spawned.reason === "already-started") return spawned;
    if (!spawned.ok || this.#process.isEnding) {
      await this.#process.stop({ kind: "now", graceMs: 0 });
      return spawned.ok ? stopped() : spawned;
    }
    this.#process.phase = "ready";
    this.#hub.publish({ type: "ready", permissionMode: "ungated" });
    return { ok: true, permissionMode: "ungated" };
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
      linesRead: this.#linesRead,
      bytesRead: this.#bytesRead,
      noiseLines: 0,
      ...(last === undefined ? {} : { lastLineAgeMs: Math.round(this.#deps.clock.mono() - last) }),
    };
  }

  readOutput(maxBytes: number): string {
    return this.#ring.tail(maxBytes);
  }

  /** Reasons: those of the stream transport, and `one-prompt`: this process has its prompt already. */
  async send(text: string, idempotencyKey: string): Promise<Result> {
    if (this.#process.phase !== "ready") return failure("worker-gone", "The worker is not there to read a prompt.");
    return this.#prompts.once(idempotencyKey, text, () => this.#prompt(text));
  }

  async reply(): Promise<Result> {
    return noCapability("ask before a tool call");
  }

  async interrupt(): Promise<Result> {
    return noCapability("be interrupted; stop it instead");
  }

  pause(exitMs: number): Promise<StopOutcome> {
    return this.#process.pause({ interrupt: false, exitMs });
  }

  async takeover(): Promise<Result<{ resumeArgs: string[]; outcome: StopOutcome }>> {
    return noCapability("be taken over");
  }

  stop(options: StopOptions): Promise<StopOutcome> {
    return this.#process.stop(options);
  }

  killProcessGroup(): Promise<StopOutcome> {
    return this.#process.stop({ kind: "now", graceMs: 0 });
  }

  #args(): string[] {
    const { trust, model, maxTurns } = this.#input;
    return [
      "-p",
      ...isolationArgs(trust),
      ...(model === undefined ? [] : [`--model=${model}`]),
      ...(maxTurns === undefined ? [] : [`--max-turns=${maxTurns}`]),
    ];
  }

  async #prompt(text: string): Promise<Result> {
    const { writer } = this.#process;
    if (writer === undefined) return failure("worker-gone", "The worker is not there to read a prompt.");
    if (this.#prompted) {
      return failure("one-prompt", "A process-pipe worker takes one prompt; start another task for the next one.");
    }
    this.#prompted = true;
    const written = await writer.write(text);
    this.#process.endInput();
    return written;
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
    for (let at = chunk.indexOf(0x0a); at >= 0; at = chunk.indexOf(0x0a, at + 1)) this.#linesRead++;
    this.#text(this.#decoder.write(chunk));
  }

  #text(text: string): void {
    if (text !== "") this.#hub.publish({ type: "text", text });
  }

  #spawned(containment: ContainmentRecord): void {
    const argv = [this.#input.executable.realPath, ...this.#args()];
    this.#hub.publish({ type: "spawned", containment, argv, envNames: Object.keys(this.#env).sort() });
  }

  #gone(exit: LeaderExit): void {
    this.#hub.publish({ type: "exited", ...exit, stderrTail: this.#process.stderr.text });
  }
}

function noCapability(what: string): Failure {
  return failure("no-capability", `A process-pipe worker cannot ${what}. Use the claude-jsonl transport for that.`);
}

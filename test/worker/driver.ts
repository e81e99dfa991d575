/** Drives one worker adapter in a lab: records its events, waits for them, answers its hooks, ends it with the test. */
import { randomUUID } from "node:crypto";
import { mkdir, mkdtemp } from "node:fs/promises";
import { join } from "node:path";
import type {
  ExecutableFacts,
  GateReply,
  TransportName,
  WorkerAdapter,
  WorkerEvent,
  WorkerStartInput,
} from "../../src/core/contracts/worker.ts";
import { createWorker, systemDeps, type WorkerDeps } from "../../src/worker/index.ts";
import { until } from "../support/until.ts";
import type { Lab } from "../support/workspace.ts";

export type Hook = Extract<WorkerEvent, { type: "hook" }>;
export type EventOf<T extends WorkerEvent["type"]> = Extract<WorkerEvent, { type: T }>;

/** Keeps everything as it is. The stream holds nothing back. */
export const plainRedactor: WorkerDeps["redactor"] = {
  stream: () => ({ push: (chunk) => chunk, end: () => "" }),
};

export interface DriveOptions {
  lab: Lab;
  cwd: string;
  executable: ExecutableFacts;
  /** What the worker gets beside the lab's own environment. */
  env?: Readonly<Record<string, string>>;
  /** Instead of a complete environment: the host's, of which the adapter passes on what it should. */
  hostEnv?: Readonly<Record<string, string>>;
  transport?: TransportName;
  input?: Partial<WorkerStartInput>;
  deps?: Partial<WorkerDeps>;
  /** Answers hooks at once; without it they stay open. */
  onHook?: (hook: Hook) => GateReply | undefined;
}

export interface Driven {
  readonly worker: WorkerAdapter;
  readonly input: WorkerStartInput;
  readonly events: readonly WorkerEvent[];
  of<T extends WorkerEvent["type"]>(type: T): EventOf<T>[];
  /** The first event of this type, past or future, that `matches`. */
  next<T extends WorkerEvent["type"]>(
    type: T,
    matches?: (event: EventOf<T>) => boolean,
    deadlineMs?: number,
  ): Promise<EventOf<T>>;
  /** Sends a prompt under a new key and resolves with the key. */
  prompt(text: string): Promise<string>;
}

export async function drive(options: DriveOptions): Promise<Driven> {
  const { lab } = options;
  const artifactDir = join(lab.root, "artifacts");
  await mkdir(artifactDir, { recursive: true, mode: 0o700 });
  const input: WorkerStartInput = {
    taskId: "t-test",
    workerId: `w-${randomUUID().slice(0, 8)}`,
    executable: options.executable,
    cwd: options.cwd,
    sessionId: randomUUID(),
    resume: false,
    trust: "user",
    ...(options.hostEnv === undefined ? { env: { ...lab.env, ...options.env } } : {}),
    workerEnvNames: [],
    tmpDir: await mkdtemp(join(lab.tmp, "worker-")),
    cgroup: "auto",
    startupTimeoutMs: 30_000,
    artifactDir,
    ...options.input,
  };
  const worker = createWorker(
    options.transport ?? "claude-jsonl",
    input,
    systemDeps({
      redactor: plainRedactor,
      ...(options.hostEnv === undefined ? {} : { hostEnv: options.hostEnv }),
      ...options.deps,
    }),
  );
  const events: WorkerEvent[] = [];
  worker.subscribe((event) => {
    events.push(event);
    if (event.type !== "hook" || options.onHook === undefined) return;
    const reply = options.onHook(event);
    if (reply !== undefined) void worker.reply(event.callId, reply);
  });
  lab.defer(async () => {
    const outcome = await worker.stop({ kind: "now", graceMs: 0 });
    if (!outcome.proven) throw new Error(`The worker could not be stopped: ${JSON.stringify(outcome.remaining)}`);
  });

  const of = <T extends WorkerEvent["type"]>(type: T): EventOf<T>[] =>
    events.filter((event): event is EventOf<T> => event.type === type);
  return {
    worker,
    input,
    events,
    of,
    next: (type, matches = () => true, deadlineMs = 30_000) =>
      until(
        () => of(type).find(matches),
        deadlineMs,
        () => `a "${type}" event; got ${events.map((event) => event.type).join(" ")}`,
      ),
    async prompt(text) {
      const key = randomUUID();
      const sent = await worker.send(text, key);
      if (!sent.ok) throw new Error(`send: ${sent.reason} ${sent.message}`);
      return key;
    },
  };
}

export const allow: GateReply = { decision: "allow", reason: "test" };

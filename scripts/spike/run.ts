/**
 * What all spikes share: they run their checks one after another, print one line of metadata each, search for secrets,
 * clean up and write the evidence. Exit code 0 = every check held, 1 = one did not, 2 = refused to run.
 */
import { mkdtemp, readdir, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { WorkerAdapter, WorkerCapabilities, WorkerEvent } from "../../src/core/contracts/worker.ts";
import type { Driven } from "../../test/worker/driver.ts";
import { claudeFacts } from "./claude-facts.ts";
import {
  type Check,
  type Evidence,
  type Exit,
  type Fact,
  placesWithSecret,
  type SecretSearch,
  type Topic,
  topicsOf,
} from "./evidence.ts";
import { Refusal, readOptions, type SpikeOptions } from "./options.ts";
import { openRoom, type Room, type WorkerOptions } from "./room.ts";

/** Bytes of the worker's latest output that are looked at for the planted value. */
const OUTPUT_BYTES = 256 * 1024;

export interface Spike {
  readonly options: SpikeOptions;
  readonly room: Room;
  worker(cwd: string, options?: Omit<WorkerOptions, "onEvent">): Promise<Driven>;
  /** Counts the events of a worker that somebody else drives, and looks through its output for what was planted. */
  watch(worker: WorkerAdapter): void;
  /**
   * One check. `body` resolves with what it saw and whether that is right; what it throws makes it fail, and is told by its
   * name alone unless it is one of our own waits, because its text may quote the worker.
   */
  check(topic: Topic, name: string, body: (seen: Seen) => Promise<boolean>): Promise<boolean>;
}

export interface Seen {
  put(facts: Readonly<Record<string, Fact>>): void;
  exit(exit: { code: number | null; signal: string | null }): void;
}

export async function runSpike(name: string, body: (spike: Spike) => Promise<void>): Promise<void> {
  try {
    process.exitCode = (await attempt(name, body)) ? 0 : 1;
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    console.error(error.message);
    process.exitCode = 2;
  }
}

async function attempt(name: string, body: (spike: Spike) => Promise<void>): Promise<boolean> {
  const options = readOptions(process.argv.slice(2), process.env);
  const began = performance.now();
  const startedAt = new Date().toISOString();
  const room = await openRoom(options);
  const log = new Log(options, room);
  const ended = endOnSignal(log);
  let left: Evidence["left"];
  try {
    log.print(
      `${name}, ${room.mode}: Claude Code ${room.executable.version} (tested version 2.1.268), ${process.platform}`,
    );
    await body(log);
  } finally {
    log.keepArtifacts(await filesBelow(join(room.lab.root, "artifacts")));
    left = await room.close();
    ended();
  }
  const evidence: Evidence = {
    schema: 1,
    spike: name,
    mode: room.mode,
    startedAt,
    durationMs: Math.round(performance.now() - began),
    host: { platform: process.platform, arch: process.arch, node: process.version },
    claude: await claudeFacts(room.executable),
    ...log.evidence(),
    left,
    ok: false,
  };
  return publish(options, room, log, evidence);
}

/** Decides, searches what is about to leave this process, and writes it. */
async function publish(options: SpikeOptions, room: Room, log: Log, draft: Evidence): Promise<boolean> {
  const searched = { ...draft, secrets: log.search(room.secrets, JSON.stringify(draft)) };
  const { found, passedThrough } = searched.secrets;
  const ok =
    searched.checks.length > 0 &&
    searched.checks.every((check) => check.ok) &&
    found.length === 0 &&
    passedThrough &&
    searched.left.processes === 0;
  const path =
    options.out ?? join(await mkdtemp(join(tmpdir(), "pi-claude-supervisor-evidence-")), `${draft.spike}.json`);
  if (found.length > 0) {
    // The evidence itself may hold it: then there is none.
    console.error(`A secret was found in: ${found.join(", ")}. No evidence was written.`);
    return false;
  }
  await writeFile(path, `${JSON.stringify({ ...searched, ok }, null, 2)}\n`, { mode: 0o600 });
  console.log(
    `secrets: ${searched.secrets.values} values, ${Object.keys(searched.secrets.places).length} places, 0 found`,
  );
  console.log(
    `${ok ? "ok" : "NOT ok"}: ${searched.checks.filter((check) => check.ok).length} of ${searched.checks.length} checks`,
  );
  console.log(`evidence: ${path}`);
  return ok;
}

class Log implements Spike {
  readonly options: SpikeOptions;
  readonly room: Room;
  readonly #checks: Check[] = [];
  readonly #exits: Exit[] = [];
  readonly #events: Record<string, number> = {};
  readonly #workers: Pick<Driven, "worker">[] = [];
  #printed = "";
  #artifacts = "";
  #interrupted = false;
  #spawned: Extract<WorkerEvent, { type: "spawned" }> | undefined;

  constructor(options: SpikeOptions, room: Room) {
    this.options = options;
    this.room = room;
  }

  print(line: string): void {
    this.#printed += `${line}\n`;
    console.log(line);
  }

  /** Ends what runs and removes the folder. No check begins or is told any more. */
  interrupt(): Promise<unknown> {
    this.#interrupted = true;
    return this.room.close();
  }

  keepArtifacts(text: string): void {
    this.#artifacts = text;
  }

  async worker(cwd: string, options: Omit<WorkerOptions, "onEvent"> = {}): Promise<Driven> {
    const driven = await this.room.worker(cwd, { ...options, onEvent: (event) => this.#count(event) });
    this.#workers.push(driven);
    return driven;
  }

  watch(worker: WorkerAdapter): void {
    worker.subscribe((event) => this.#count(event));
    this.#workers.push({ worker });
  }

  async check(topic: Topic, name: string, body: (seen: Seen) => Promise<boolean>): Promise<boolean> {
    const began = performance.now();
    const observed: Record<string, Fact> = {};
    const seen: Seen = {
      put: (facts) => void Object.assign(observed, facts),
      exit: ({ code, signal }) => void this.#exits.push({ check: name, code, signal }),
    };
    const outcome = await body(seen).then(
      (ok) => ({ ok, ...(ok ? {} : { problem: "What was observed is not what has to be." }) }),
      (error: unknown) => ({ ok: false, problem: problemOf(error) }),
    );
    if (this.#interrupted) return new Promise(() => undefined);
    const ms = Math.round(performance.now() - began);
    this.#checks.push({ name, topic, ms, observed, ...outcome });
    const facts = Object.entries(observed).map(([key, value]) => `${key}=${String(value)}`);
    this.print(`${outcome.ok ? "ok  " : "FAIL"} ${topic}: ${name} (${ms} ms) ${facts.join(" ")}`);
    if (outcome.problem) this.print(`     ${outcome.problem}`);
    return outcome.ok;
  }

  evidence(): Pick<Evidence, "adapter" | "topics" | "checks" | "exits" | "events" | "secrets"> {
    const capabilities = this.#workers[0]?.worker.capabilities;
    return {
      adapter: {
        transport: this.#workers[0]?.worker.transport ?? "none",
        capabilities: capabilities ?? NO_CAPABILITIES,
        shell: false,
        envNames: this.#spawned?.envNames ?? [],
        flags: (this.#spawned?.argv ?? [])
          .filter((word) => /^--?[a-z]/.test(word))
          .map((word) => word.split("=")[0] ?? ""),
      },
      topics: topicsOf(this.#checks),
      checks: this.#checks,
      exits: this.#exits,
      events: this.#events,
      secrets: this.search([], ""),
    };
  }

  search(values: readonly string[], evidence: string): SecretSearch {
    const places = new Map([
      ["printed lines", this.#printed],
      ["kept artifacts", this.#artifacts],
      ["evidence", evidence],
    ]);
    return {
      values: values.length,
      places: Object.fromEntries([...places].map(([name, text]) => [name, Buffer.byteLength(text)])),
      passedThrough: this.#workers.some(({ worker }) => worker.readOutput(OUTPUT_BYTES).includes(this.room.planted)),
      found: placesWithSecret(values, places),
    };
  }

  #count(event: WorkerEvent): void {
    this.#events[event.type] = (this.#events[event.type] ?? 0) + 1;
    if (event.type === "spawned") this.#spawned ??= event;
  }
}

const NO_CAPABILITIES: WorkerCapabilities = {
  permission: false,
  defer: false,
  resumeSession: false,
  takeover: false,
  interrupt: false,
};

/** Our own waits name what they waited for up to the first semicolon; anything else could quote the worker. */
function problemOf(error: unknown): string {
  if (!(error instanceof Error)) return "It threw something that is no error.";
  const waited = /^Not within \d+ ms: [^;]*/.exec(error.message)?.[0];
  return waited ?? `It threw ${error.name}.`;
}

/** The texts of all files below a folder, one after another. */
async function filesBelow(folder: string): Promise<string> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return (await Promise.all(files.map((file) => readFile(file, "utf8")))).join("\n");
}

/** Ctrl-C ends the worker and removes the folder before this process goes. Returns what takes the listeners away again. */
function endOnSignal(log: Log): () => void {
  const listeners = (["SIGINT", "SIGTERM"] as const).map((signal) => {
    const listener = (): void => void log.interrupt().finally(() => process.exit(signal === "SIGINT" ? 130 : 143));
    process.once(signal, listener);
    return [signal, listener] as const;
  });
  return () => {
    for (const [signal, listener] of listeners) process.off(signal, listener);
  };
}

/** Our side of `launcher.sh`: the process that is to become the worker, waiting in its place. */
import type { Duplex, Readable, Writable } from "node:stream";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { execa as Execa } from "execa";
import type { ProcessIdentity } from "../../core/contracts/worker.ts";
import { failure, type Result } from "../../core/result.ts";
import { identify } from "../process/identity.ts";
import type { Mark } from "../process/mark.ts";
import { killSpawned } from "./kill-spawned.ts";
import { readLine } from "./read-line.ts";
import { LAUNCHER, SHELL } from "./scripts.ts";

export interface LauncherInput {
  file: string;
  args: readonly string[];
  cwd: string;
  env: Readonly<Record<string, string>>;
  stdin: "pipe" | "ignore";
  mark: Mark;
  /** RLIMIT_LOCKS to set, or `undefined` to leave it. */
  locks: number | undefined;
  /** The folder to join, or `undefined` for none. */
  cgroup: string | undefined;
  setupTimeoutMs: number;
}

export interface LeaderExit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

export interface Launcher {
  leader: ProcessIdentity;
  stdin: Writable | null;
  stdout: Readable;
  stderr: Readable;
  exited: Promise<LeaderExit>;
  /** Is it in the cgroup? `undefined` when it ended or did not answer. */
  joined: Promise<boolean | undefined>;
  /** Lets it become the program. */
  go(): Promise<Result>;
  /** Ends it while it is still the launcher, which has no children. */
  abort(): Promise<void>;
}

/** Starts it; on success the leader's identity is known and nothing of the program has run. Reason: `spawn-failed`. */
export async function startLauncher(
  execa: typeof Execa,
  input: LauncherInput,
): Promise<Result<{ launcher: Launcher }>> {
  const locks = input.locks === undefined ? "" : String(input.locks);
  const child = execa(SHELL, [LAUNCHER, input.cgroup ?? "", locks, input.file, ...input.args], {
    cwd: input.cwd,
    extendEnv: false,
    env: { ...input.env, [input.mark.name]: input.mark.value },
    // Its own session: a terminal's Ctrl-C and hang-up are ours to handle, and its group is its own.
    detached: true,
    cleanup: false,
    buffer: false,
    reject: false,
    encoding: "buffer",
    stdio: [input.stdin, "pipe", "pipe", "pipe"],
  });
  const letGo = [child.stdout, child.stderr].map(holdBack);
  const exited = new Promise<LeaderExit>((resolve) => {
    child.once("exit", (code, signal) => resolve({ code, signal }));
    child.once("error", () => resolve({ code: null, signal: null }));
  });
  const gate = child.stdio[3] as unknown as Duplex | null | undefined;
  gate?.on("error", () => undefined);
  const leader = child.pid === undefined ? undefined : identify(child.pid);
  if (leader === undefined || gate === null || gate === undefined) {
    killSpawned(child);
    const why = (await child).originalMessage ?? "it ended at once";
    return failure("spawn-failed", `${SHELL} could not be started for the worker in ${input.cwd}: ${why}.`);
  }
  const report = readLine(gate, input.setupTimeoutMs);
  return {
    ok: true,
    launcher: {
      leader,
      stdin: child.stdin,
      stdout: child.stdout,
      stderr: child.stderr,
      exited,
      joined: report.then(async (line) => {
        // execa's own look at the streams comes with the next turn of the loop at the latest.
        await nextTurn();
        for (const release of letGo) release();
        return line?.startsWith("inside");
      }),
      go: () => openGate(gate),
      abort: async () => {
        killSpawned(child);
        await exited;
      },
    },
  };
}

function openGate(gate: Duplex): Promise<Result> {
  const gone = failure("worker-gone", "The worker's launcher is gone; the worker was not started.");
  if (!gate.writable) return Promise.resolve(gone);
  return new Promise((resolve) => {
    gate.write("go\n", (error) => resolve(error === null || error === undefined ? { ok: true } : gone));
    gate.end();
  });
}

/**
 * Without buffering, execa 9 lets a stream flow that nobody reads one turn after the spawn, and what comes before a reader
 * is lost. A stream with a `readable` listener does not flow; when the last one is removed it is as new.
 */
function holdBack(stream: Readable): () => void {
  const hold = (): void => undefined;
  stream.on("readable", hold);
  return () => stream.off("readable", hold);
}

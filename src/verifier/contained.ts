/** A verification command inside `platform/containment`: own session, own cgroup or mark, a guardian, an end with proof. */
import type { Readable } from "node:stream";
import type { ContainmentRecord } from "../core/contracts/worker.ts";
import { failure, type Result } from "../core/result.ts";
import { type CgroupMode, type LeaderExit, spawnContained } from "../platform/containment/index.ts";

export interface ContainedOptions {
  argv: readonly string[];
  cwd: string;
  env: Readonly<Record<string, string>>;
  /** The command's own temporary folder: removed when its tree is gone, by the guardian if we are gone too. */
  tmpDir: string;
  cgroup: CgroupMode;
  /** Called before the command can do anything, so that a stop after our death knows what to look for. */
  onContained?: (record: ContainmentRecord) => void | Promise<void>;
  /** Aborted before the command was let go: nothing of it runs, failure `aborted`. */
  signal?: AbortSignal;
}

export interface StopProof {
  /** Nothing of the command's tree is left. */
  proven: boolean;
  /** What may still run, for people: `123 node server.js`. */
  remaining: string[];
}

/** stdin is /dev/null; stdout and stderr arrive on `output` in the order in which they were written. */
export interface ContainedCommand {
  output: Readable;
  /** When the command itself has ended; its children may live on. */
  exited: Promise<LeaderExit>;
  /** Ends everything that the command started, wherever it went. `graceMs` 0 kills at once. */
  stop(graceMs: number): Promise<StopProof>;
}

/** Failures are those of `spawnContained`, and `aborted`; nothing is left running then. */
export async function startContained(options: ContainedOptions): Promise<Result<{ command: ContainedCommand }>> {
  const spawned = await spawnContained({
    file: "/bin/sh",
    // One pipe for both streams; `exec` leaves no shell behind, and its 126 and 127 say why nothing started (POSIX.1).
    args: ["-c", 'exec "$0" "$@" 2>&1', ...options.argv],
    cwd: options.cwd,
    env: options.env,
    mode: options.cgroup,
    tmpDir: options.tmpDir,
    stdin: "ignore",
  });
  if (!spawned.ok) return spawned;
  const { process: contained } = spawned;
  const command: ContainedCommand = {
    output: contained.stdout,
    exited: contained.exited,
    stop: async (graceMs) => {
      const outcome = await contained.stop({ kind: graceMs > 0 ? "graceful" : "now", graceMs });
      if (outcome.proven) return { proven: true, remaining: [] };
      return { proven: false, remaining: outcome.remaining.map((one) => `${one.id} ${one.detail}`) };
    },
  };
  let isReleased = false;
  try {
    await options.onContained?.(contained.record);
    if (options.signal?.aborted) return failure("aborted", "A stop was asked for before the command ran.");
    const released = await contained.release();
    if (!released.ok) return released;
    isReleased = true;
    return { ok: true, command };
  } finally {
    if (!isReleased) await command.stop(0);
  }
}

/** The worker's own temporary folder: 0700, removed by the guardian when its tree is gone. */
import { createHash } from "node:crypto";
import { mkdtemp, readdir, rmdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { failure, type Result } from "../core/result.ts";
import { errnoOf } from "../platform/errno.ts";
import { identify } from "../platform/process/index.ts";

/** The process that made it, by its pid and a hash of its start and boot; the last part is mkdtemp's. */
const NAME = /^pi-claude-worker-(\d+)-([0-9a-f]{8})-[A-Za-z0-9]{6}$/;

/** Reasons: `tmp-dir`. */
export async function makeTmpDir(parent: string = tmpdir()): Promise<Result<{ path: string }>> {
  try {
    return {
      ok: true,
      path: await mkdtemp(join(parent, `pi-claude-worker-${process.pid}-${lifeOf(process.pid) ?? "00000000"}-`)),
    };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return failure("tmp-dir", `No temporary folder could be made for the worker: ${why}. Make room in ${parent}.`);
  }
}

/**
 * Removes what a Pi left that was killed after it had made the folder and before the guardian knew of it: its maker is gone
 * and nothing is in it. Returns how many.
 */
export async function sweepTmpDirs(parent: string = tmpdir()): Promise<number> {
  let removed = 0;
  for (const name of await readdir(parent)) {
    const [, pid, life] = NAME.exec(name) ?? [];
    if (pid === undefined || lifeOf(Number(pid)) === life) continue;
    removed += await rmdir(join(parent, name)).then(() => 1, nothingToRemove);
  }
  return removed;
}

/** Tells a process from a later one with the same pid; undefined when there is none. */
function lifeOf(pid: number): string | undefined {
  const found = identify(pid);
  if (found === undefined) return undefined;
  return createHash("sha256").update(`${found.bootId} ${found.startTicks}`).digest("hex").slice(0, 8);
}

/** A guardian is at it, it is another account's, or it is gone already. */
function nothingToRemove(error: unknown): number {
  if (["ENOTEMPTY", "EEXIST", "ENOENT", "ENOTDIR", "EACCES", "EPERM"].includes(errnoOf(error) ?? "")) return 0;
  throw error;
}

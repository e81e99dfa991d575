/**
 * Folders that live as long as their use: clean worktrees in `<scratchDir>/clean/<owner>/<name of the project>`, snapshots in
 * `<scratchDir>/now/<owner>/`. The owner's process identity is the folder's name, so that whoever comes next can tell a
 * folder in use from one that a crash left behind.
 */
import { randomBytes } from "node:crypto";
import { chmod, lstat, mkdir, readdir, realpath, rmdir, unlink } from "node:fs/promises";
import { join } from "node:path";
import { errnoOf } from "../platform/errno.ts";
import { identify, isAlive } from "../platform/process/index.ts";

const KINDS = ["clean", "now"] as const;

/** Makes an empty folder of our own (0700). */
export async function makeOwnFolder(scratchDir: string, kind: (typeof KINDS)[number]): Promise<string> {
  const own = identify(process.pid);
  if (own === undefined) throw new Error("This process does not find itself in the process table.");
  const name = [own.pid, encodeURIComponent(own.startTicks), own.bootId, randomBytes(4).toString("hex")].join("_");
  const folder = join(scratchDir, kind, name);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  // Tools compare paths: none of them may hold a link (macOS: /tmp).
  return realpath(folder);
}

/** Removes folders whose owner is gone. Returns how many. */
export async function sweepOwnFolders(scratchDir: string): Promise<number> {
  let removed = 0;
  for (const kind of KINDS) {
    for (const name of await readdir(join(scratchDir, kind)).catch(() => [])) {
      const [pid = "", startTicks = "", bootId = ""] = name.split("_");
      const owner = { pid: Number(pid), startTicks: decodeURIComponent(startTicks), bootId };
      if (!/^\d+$/.test(pid) || isAlive(owner)) continue;
      await removeFolder(join(scratchDir, kind, name));
      removed++;
    }
  }
  return removed;
}

/**
 * `rm -rf` that also gets through folders without write permission (Go's module cache, tests of permissions) and leaves
 * the event loop free: Node's own recursive `rm` blocks it for a second with 50,000 files (Node 20.20, measured).
 */
export async function removeFolder(folder: string): Promise<void> {
  const stat = await lstat(folder).catch(ignoring("ENOENT"));
  if (stat === undefined) return;
  if (!stat.isDirectory()) return void (await unlink(folder).catch(ignoring("ENOENT")));
  // Each step may find the work done: the guardian removes a command's temporary folder at the same time.
  if ((stat.mode & 0o700) !== 0o700) await chmod(folder, 0o700).catch(ignoring("ENOENT"));
  // What a process that is just being ended still writes needs another round.
  for (let left = 3; ; left--) {
    const entries = (await readdir(folder, { withFileTypes: true }).catch(ignoring("ENOENT"))) ?? [];
    const files = entries.filter((entry) => !entry.isDirectory());
    await Promise.all(files.map((entry) => unlink(join(folder, entry.name)).catch(ignoring("ENOENT"))));
    for (const entry of entries) if (entry.isDirectory()) await removeFolder(join(folder, entry.name));
    const gone = await rmdir(folder).then(
      () => true,
      (error) => {
        if (errnoOf(error) === "ENOENT") return true;
        if (left === 0 || !["ENOTEMPTY", "EEXIST"].includes(errnoOf(error) ?? "")) throw error;
        return false;
      },
    );
    if (gone) return;
  }
}

function ignoring(code: string): (error: unknown) => undefined {
  return (error) => {
    if (errnoOf(error) !== code) throw error;
  };
}

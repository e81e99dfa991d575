/**
 * The folders in which clean worktrees live: `<scratchDir>/clean/<owner>/<name of the project>`. The owner's process
 * identity is the folder's name, so that whoever comes next can tell a folder in use from one that a crash left behind.
 */
import { randomBytes } from "node:crypto";
import { chmod, lstat, mkdir, readdir, realpath, rm } from "node:fs/promises";
import { join } from "node:path";
import { identify, isAlive } from "../platform/process/index.ts";

/** Makes an empty folder of our own (0700). */
export async function makeCleanFolder(scratchDir: string): Promise<string> {
  const own = identify(process.pid);
  if (own === undefined) throw new Error("This process does not find itself in the process table.");
  const name = [own.pid, encodeURIComponent(own.startTicks), own.bootId, randomBytes(4).toString("hex")].join("_");
  const folder = join(scratchDir, "clean", name);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  // Tools compare paths: none of them may hold a link (macOS: /tmp).
  return realpath(folder);
}

/** Removes folders whose owner is gone. Returns how many. */
export async function sweepCleanFolders(scratchDir: string): Promise<number> {
  let removed = 0;
  for (const name of await readdir(join(scratchDir, "clean")).catch(() => [])) {
    const [pid = "", startTicks = "", bootId = ""] = name.split("_");
    const owner = { pid: Number(pid), startTicks: decodeURIComponent(startTicks), bootId };
    if (!/^\d+$/.test(pid) || isAlive(owner)) continue;
    await removeFolder(join(scratchDir, "clean", name));
    removed++;
  }
  return removed;
}

/** `rm -rf` that also gets through folders without write permission (Go's module cache, tests of permissions). */
export async function removeFolder(folder: string): Promise<void> {
  try {
    await rm(folder, { recursive: true, force: true, maxRetries: 3, retryDelay: 50 });
  } catch (error) {
    if (!["EACCES", "EPERM", "ENOTEMPTY"].includes((error as NodeJS.ErrnoException).code ?? "")) throw error;
    await openFolders(folder);
    await rm(folder, { recursive: true, force: true, maxRetries: 3, retryDelay: 50 });
  }
}

async function openFolders(folder: string): Promise<void> {
  const stat = await lstat(folder).catch(() => undefined);
  if (!stat?.isDirectory()) return;
  await chmod(folder, 0o700);
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    if (entry.isDirectory()) await openFolders(join(folder, entry.name));
  }
}

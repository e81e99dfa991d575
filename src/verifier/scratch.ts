/**
 * The scratch folder between uses: `<hash of a work tree>/` with trees and a scratch index; and, while they are in use, `now/`
 * with the contents of uncommitted files and `clean/` with clean worktrees.
 */
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { removeFolder, sweepOwnFolders } from "./own-folder.ts";

/** A month: `since` trees of tasks that wait longer are lost, which costs findings, never a verdict. */
const KEEP_MS = 30 * 24 * 3_600_000;

/**
 * Removes clean worktrees and snapshots whose process is gone, and stores that nobody used for `keepMs` (default 30 days). Safe beside
 * running verifications; meant for the supervisor's start.
 */
export async function sweepScratch(scratchDir: string, keepMs: number = KEEP_MS): Promise<{ removed: number }> {
  let removed = await sweepOwnFolders(scratchDir);
  for (const name of await readdir(scratchDir).catch(() => [])) {
    if (!/^[0-9a-f]{16}$/.test(name)) continue;
    const folder = join(scratchDir, name);
    // Written at every use; a store that is being made has only its folder.
    const used = await stat(join(folder, "trees", "info", "alternates")).catch(() => stat(folder));
    if (Date.now() - used.mtimeMs < keepMs) continue;
    await removeFolder(folder);
    removed++;
  }
  return { removed };
}

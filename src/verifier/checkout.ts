/** A clean worktree for someone else than the commands: a reviewer that may only read the verified tree. */
import { mkdir } from "node:fs/promises";
import type { VerifySpec } from "../core/contracts/verifier.ts";
import { failure, type Result } from "../core/result.ts";
import { type CleanTree, openCleanTree } from "./clean-tree.ts";
import { takeSnapshot } from "./snapshot.ts";
import type { TreeOptions } from "./tree-id.ts";

/**
 * Checks out the workspace as it is now, without dependencies. The caller compares `id` with the verified tree and calls
 * `remove()`. Failures: those of `treeId`, `clean-needs-git`, `submodule-changed`, `clean-failed`.
 */
export async function checkoutTree(
  spec: Pick<VerifySpec, "cwd">,
  options: TreeOptions & { scratchDir: string },
): Promise<Result<{ id: string; tree: Pick<CleanTree, "root" | "cwd" | "remove"> }>> {
  await mkdir(options.scratchDir, { recursive: true, mode: 0o700 });
  const taken = await takeSnapshot(spec.cwd, options);
  if (!taken.ok) return taken;
  const { workspace } = taken;
  try {
    if (workspace.git === undefined) {
      return failure("clean-needs-git", `${spec.cwd} is in no git repository, so there is no tree to check out.`);
    }
    const opened = await openCleanTree(workspace.git, { carry: [] }, options);
    return opened.ok ? { ok: true, id: workspace.id, tree: opened.tree } : opened;
  } finally {
    await workspace.release();
  }
}

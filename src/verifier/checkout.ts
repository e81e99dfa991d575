/** A clean worktree for someone else than the commands: a reviewer that may only read the verified tree. */
import { mkdir } from "node:fs/promises";
import type { VerifySpec } from "../core/contracts/verifier.ts";
import type { Result } from "../core/result.ts";
import { type CleanTree, openCleanTree } from "./clean-tree.ts";
import { copyContent } from "./copy-content.ts";
import { takeSnapshot } from "./snapshot.ts";
import type { TreeOptions } from "./tree-id.ts";

/**
 * Checks out the workspace as it is now, without dependencies; outside git it is copied. The caller compares `id` with the
 * verified tree and calls `remove()`. Failures: those of `treeId`, `submodule-changed`, `clean-failed` and of `copyContent`.
 */
export async function checkoutTree(
  spec: Pick<VerifySpec, "cwd">,
  options: TreeOptions & { scratchDir: string },
): Promise<Result<{ id: string; tree: Pick<CleanTree, "root" | "cwd" | "remove"> }>> {
  await mkdir(options.scratchDir, { recursive: true, mode: 0o700 });
  const taken = await takeSnapshot(spec.cwd, { ...options, contents: true });
  if (!taken.ok) return taken;
  const { workspace } = taken;
  const { git } = workspace;
  if (git === undefined) {
    const copied = await copyContent(spec.cwd, options);
    if (!copied.ok) return copied;
    const { after, tree } = copied;
    return { ok: true, id: after === workspace.id ? after : `${after} (it is changing)`, tree };
  }
  const opened = await openCleanTree(git, { carry: [] }, options).catch(async (error: unknown) => {
    await workspace.release();
    throw error;
  });
  if (!opened.ok) {
    await workspace.release();
    return opened;
  }
  const { root, cwd } = opened.tree;
  // Its objects are the snapshot's: they go together.
  const remove = async (): Promise<void> => {
    await opened.tree.remove();
    await workspace.release();
  };
  return { ok: true, id: workspace.id, tree: { root, cwd, remove } };
}

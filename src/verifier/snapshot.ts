/** The workspace at one moment, in or outside git, behind one small interface. */
import type { Result } from "../core/result.ts";
import { contentId } from "./content-id.ts";
import { findRepo } from "./repo.ts";
import type { GitSnapshot, SnapshotOptions, TreeNote } from "./tree-id.ts";
import { snapshotRepo } from "./tree-id.ts";

export interface Workspace {
  id: string;
  notes: TreeNote[];
  /** Absent outside git. */
  git?: GitSnapshot;
  /** Removes scratch index and contents. */
  release(): Promise<void>;
}

export async function takeSnapshot(cwd: string, options: SnapshotOptions): Promise<Result<{ workspace: Workspace }>> {
  const found = await findRepo(cwd, options);
  if (!found.ok) return found;
  if (found.repo === undefined) {
    const content = await contentId(cwd, options);
    if (!content.ok) return content;
    return { ok: true, workspace: { id: content.id, notes: content.notes, release: async () => undefined } };
  }
  const snapshot = await snapshotRepo(found.repo, options);
  if (!snapshot.ok) return snapshot;
  const { id, notes, release } = snapshot;
  return { ok: true, workspace: { id, notes, git: snapshot, release } };
}

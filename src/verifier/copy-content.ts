/** A copy of a folder that is in no git repository, for a reader: exactly the files that its content hash covers. */
import { constants } from "node:fs";
import { copyFile, mkdir, readlink, symlink } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { failure, type Result } from "../core/result.ts";
import type { CleanTree } from "./clean-tree.ts";
import { contentId, listFiles, MAX_BYTES } from "./content-id.ts";
import { makeOwnFolder, removeFolder } from "./own-folder.ts";
import type { TreeOptions } from "./tree-id.ts";

/**
 * Pipes and sockets are left out; files are reflinked where the file system can. `after` is the content hash once all is
 * copied: where it is another than before, the copy is of no one moment. Failures: those of `contentId`, `too-large` (1 GiB),
 * `copy-failed`, `aborted`. Nothing is left behind then.
 */
export async function copyContent(
  cwd: string,
  options: TreeOptions & { scratchDir: string },
): Promise<Result<{ after: string; tree: Pick<CleanTree, "root" | "cwd" | "remove"> }>> {
  const folder = await makeOwnFolder(options.scratchDir, "clean");
  const root = join(folder, basename(cwd) || "root");
  const remove = (): Promise<void> => removeFolder(folder);
  try {
    const copied = await copyInto(cwd, root, options.signal);
    const after = copied.ok ? await contentId(cwd, options) : copied;
    if (after.ok) return { ok: true, after: after.id, tree: { root, cwd: root, remove } };
    await remove();
    return after;
  } catch (error) {
    await remove();
    const message = error instanceof Error ? error.message : String(error);
    return failure("copy-failed", `The folder could not be copied: ${message}.`);
  }
}

async function copyInto(cwd: string, root: string, signal: AbortSignal | undefined): Promise<Result> {
  const listed = await listFiles(cwd, signal);
  if (!listed.ok) return listed;
  const bytes = listed.entries.reduce((sum, entry) => sum + entry.size, 0);
  if (bytes > MAX_BYTES)
    return failure("too-large", `${cwd} holds more than 1 GiB, too much to be copied for a reader.`);
  await mkdir(root, { recursive: true, mode: 0o700 });
  for (const { path, kind } of listed.entries) {
    if (signal?.aborted) return failure("aborted", "It was stopped while files were copied.");
    if (kind === "other") continue;
    const target = join(root, path);
    await mkdir(dirname(target), { recursive: true });
    if (kind === "link") await symlink(await readlink(join(cwd, path)), target);
    else await copyFile(join(cwd, path), target, constants.COPYFILE_FICLONE);
  }
  return { ok: true };
}

/** Scratch index and objects of a work tree, kept between tree ids. */
import { createHash } from "node:crypto";
import { copyFile, lstat, mkdir, readdir, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Repo } from "./repo.ts";

export interface Store {
  folder: string;
  objects: string;
}

/** One folder per work tree: `<scratchDir>/<hash>/{objects,kept.<hash>}`. */
export async function openStore(repo: Repo, scratchDir: string): Promise<Store> {
  const name = createHash("sha256").update(`${repo.root}\0${repo.gitDir}`).digest("hex").slice(0, 16);
  const folder = join(scratchDir, name);
  const objects = join(folder, "objects");
  await mkdir(join(objects, "info"), { recursive: true, mode: 0o700 });
  await writeFile(join(objects, "info", "alternates"), `${join(repo.commonDir, "objects")}\n`, { mode: 0o600 });
  return { folder, objects };
}

/** Starts from the last scratch index when the real index is still the one that it was made from. */
export async function reuseIndex(store: Store, key: string, indexFile: string): Promise<boolean> {
  return copyIndex(join(store.folder, `kept.${key}`), indexFile).then(
    () => true,
    () => false,
  );
}

/** The name says which real index it belongs to, so that two calls at once cannot mix theirs up. */
export async function keepIndex(store: Store, key: string, indexFile: string): Promise<void> {
  const name = `kept.${key}`;
  await copyIndex(indexFile, `${indexFile}.keep`);
  await rename(`${indexFile}.keep`, join(store.folder, name));
  for (const other of await readdir(store.folder)) {
    const path = join(store.folder, other);
    const old = /^kept\./.test(other) ? other !== name : /^index\./.test(other) && (await isOld(path));
    if (old) await rm(path, { force: true });
  }
}

/** A scratch index of a process that died: nobody works with one for an hour. */
async function isOld(path: string): Promise<boolean> {
  const stat = await lstat(path).catch(() => undefined);
  return stat !== undefined && Date.now() - stat.mtimeMs > 3_600_000;
}

/**
 * A copy that is never younger than its source. git takes an entry for changed when its file is as young as the index
 * ("racy git", git 2.39 Documentation/technical/racy-git.txt); a younger copy would lose that and miss a change that was
 * made in the same clock tick.
 */
export async function copyIndex(from: string, to: string): Promise<void> {
  const { mtimeMs } = await stat(from);
  await copyFile(from, to);
  const seconds = (Math.floor(mtimeMs) - 1) / 1000;
  await utimes(to, seconds, seconds);
}

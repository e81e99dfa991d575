/**
 * What is kept of a work tree between tree ids: its trees (names, modes and ids) and its last scratch index. The contents of
 * files that no commit holds, which may be anything, live in a folder of their own and only while they are looked at.
 */
import { createHash } from "node:crypto";
import { copyFile, mkdir, readdir, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { makeOwnFolder, removeFolder } from "./own-folder.ts";
import type { Repo } from "./repo.ts";

export interface Store {
  folder: string;
  /** Object folder that holds trees and nothing else. */
  trees: string;
}

/** One folder per work tree: `<scratchDir>/<hash>/{trees,kept.<hash>}`. */
export async function openStore(repo: Repo, scratchDir: string): Promise<Store> {
  const name = createHash("sha256").update(`${repo.root}\0${repo.gitDir}`).digest("hex").slice(0, 16);
  const folder = join(scratchDir, name);
  const trees = join(folder, "trees");
  await objectFolder(trees, [join(repo.commonDir, "objects")]);
  return { folder, trees };
}

/** What one look at a work tree needs until it is released. */
export interface Lookout {
  indexFile: string;
  /** Object folder for the contents of files that no commit holds; it reaches the store's trees and the repository. */
  objects: string;
  release(): Promise<void>;
}

export async function openLookout(repo: Repo, store: Store, scratchDir: string): Promise<Lookout> {
  const folder = await makeOwnFolder(scratchDir, "now");
  const objects = join(folder, "objects");
  // The repository first: git follows alternates of alternates only five deep, and it may have some itself.
  await objectFolder(objects, [join(repo.commonDir, "objects"), store.trees]);
  return { indexFile: join(folder, "index"), objects, release: () => removeFolder(folder) };
}

async function objectFolder(path: string, alternates: readonly string[]): Promise<void> {
  await mkdir(join(path, "info"), { recursive: true, mode: 0o700 });
  await writeFile(join(path, "info", "alternates"), `${alternates.join("\n")}\n`, { mode: 0o600 });
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
    if (other.startsWith("kept.") && other !== name) await rm(join(store.folder, other), { force: true });
  }
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

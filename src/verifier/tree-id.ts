/**
 * What a verdict is bound to: the git tree id of everything tracked and everything untracked that is not ignored, as
 * `git add -A && git write-tree` would give it, made with a scratch index and scratch object folders. The person's index,
 * refs and object database are not written to, and the contents that git makes objects of are gone with the snapshot. Outside git: a content hash (content-id.ts).
 */
import { createHash } from "node:crypto";
import { lstat, mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Result } from "../core/result.ts";
import { failure } from "../core/result.ts";
import { contentId } from "./content-id.ts";
import type { GitOptions } from "./git.ts";
import { callOptions, git, nulList } from "./git.ts";
import { clearHiddenBits, gitlinkUpdates } from "./index-honesty.ts";
import { readAgain } from "./lost-contents.ts";
import type { Repo } from "./repo.ts";
import { findRepo, repoOptions } from "./repo.ts";
import { copyIndex, keepIndex, type Lookout, openLookout, openStore, reuseIndex, type Store } from "./tree-store.ts";

export interface TreeOptions {
  /**
   * Folder (0700, the supervisor's) that keeps scratch index and trees between calls: repeats get cheap, and trees of
   * earlier calls stay comparable. Without it a temporary one is used and removed.
   */
  scratchDir?: string;
  signal?: AbortSignal;
  hostEnv?: Readonly<Record<string, string | undefined>>;
}

export interface TreeNote {
  kind: "nested-repository" | "unreadable" | "filter-off" | "hidden-change" | "bounded";
  path?: string;
  detail: string;
}

export interface TreeId {
  /** 40 (or 64) hex digits, or `sha256:…` outside git. */
  id: string;
  /** What the id does not cover, or covers in an unusual way. */
  notes: TreeNote[];
}

export type SnapshotOptions = TreeOptions & {
  scratchDir: string;
  /** The contents of all files are needed (a checkout, a diff), not only their ids. */
  contents?: boolean;
};

/** A tree in the scratch store, with what other modules need to go on from it. */
export interface GitSnapshot extends TreeId {
  repo: Repo;
  /** Scratch index that holds exactly this tree. */
  indexFile: string;
  /** Options for git commands that read this tree, until `release`. */
  options: GitOptions;
  /** Removes index and contents. */
  release(): Promise<void>;
}

/**
 * Failures: `no-git`, `git-refused`, `odd-worktree` (repo.ts), `git-failed`, `git-timeout`, `tree-too-large` (outside
 * git), `aborted`.
 */
export async function treeId(cwd: string, options: TreeOptions = {}): Promise<Result<TreeId>> {
  return withScratch(options, async (scratchDir) => {
    const found = await findRepo(cwd, options);
    if (!found.ok) return found;
    if (found.repo === undefined) return contentId(cwd, options);
    const snapshot = await snapshotRepo(found.repo, { ...options, scratchDir });
    if (!snapshot.ok) return snapshot;
    await snapshot.release();
    return { ok: true, id: snapshot.id, notes: snapshot.notes };
  });
}

/** Gives `work` the caller's scratch folder, or a temporary one for its time. */
export async function withScratch<T>(options: TreeOptions, work: (scratchDir: string) => Promise<T>): Promise<T> {
  if (options.scratchDir !== undefined) {
    await mkdir(options.scratchDir, { recursive: true, mode: 0o700 });
    return work(options.scratchDir);
  }
  const folder = await mkdtemp(join(tmpdir(), "pi-claude-supervisor-tree-"));
  try {
    return await work(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** The caller releases it when it is done with it; trees stay in the scratch folder. */
export async function snapshotRepo(repo: Repo, options: SnapshotOptions): Promise<Result<GitSnapshot>> {
  const store = await openStore(repo, options.scratchDir);
  // A file that vanishes while git looks at it makes git give up; the next look sees the tree without it.
  for (let left = 2; ; left--) {
    const lookout = await openLookout(repo, store, options.scratchDir);
    const result = await fillIndex(repo, store, lookout, options).catch(async (error: unknown) => {
      await lookout.release();
      throw error;
    });
    if (result.ok) return result;
    await lookout.release();
    if (result.reason !== "git-failed" || left === 0) return result;
  }
}

async function fillIndex(
  repo: Repo,
  store: Store,
  { indexFile, objects, release }: Lookout,
  options: SnapshotOptions,
): Promise<Result<GitSnapshot>> {
  // What lives for seconds is not worth compressing.
  const config = [...repo.filters, ["core.looseCompression", "0"] as const];
  const run: GitOptions = { ...repoOptions(repo), config, indexFile, objectDir: objects, ...callOptions(options) };
  const real = join(repo.gitDir, "index");
  // Copied first and hashed then, so that key and copy are of one moment.
  const hasIndex = await copyIndex(real, indexFile).then(
    () => true,
    () => false,
  );
  const key = createHash("sha256")
    .update(hasIndex ? await readFile(indexFile) : "")
    .digest("hex");
  const reused = await reuseIndex(store, key, indexFile);

  const notes: TreeNote[] = repo.disabledFilters.map((name) => ({
    kind: "filter-off",
    detail: `The filter "${name}" is defined in the repository's own configuration and was not run.`,
  }));
  const hidden = await clearHiddenBits(repo, run);
  if (!hidden.ok) return hidden;
  notes.push(...hidden.notes);

  if (options.contents === true) {
    const again = await readAgain(repo, run);
    if (!again.ok) return again;
  }
  const links = await gitlinkUpdates(repo, run);
  if (!links.ok) return links;
  const excluded = links.exclude.map((path) => `:(top,exclude,literal)${path}`);
  // --sparse: untracked files outside a sparse cone are content too. --ignore-errors: one unreadable file or a nested
  // repository without a commit must not hide the rest; each is named in a note.
  const added = await git(["add", "-A", "--sparse", "--ignore-errors", "--", ":(top)", ...excluded], {
    ...run,
    okCodes: [0, 1],
  });
  if (!added.ok) return added;
  if (added.code === 1) {
    const left = notAdded(added.stderr);
    if (left.length === 0) return failure("git-failed", `git add failed: ${added.stderr.trim().slice(0, 600)}`);
    notes.push(...left);
  }
  if (links.indexInfo !== "") {
    const update = await git(["update-index", "-z", "--index-info"], { ...run, input: links.indexInfo });
    if (!update.ok) return update;
  }
  if (reused) {
    const pruned = await dropNewlyIgnored(run, real);
    if (!pruned.ok) return pruned;
  }
  // --missing-ok: the store has no contents, a partial clone not every one, and nothing is fetched because we look.
  const written = await git(["write-tree", "--missing-ok"], { ...run, config: repo.filters, objectDir: store.trees });
  if (!written.ok) return written;
  await keepIndex(store, key, indexFile);
  const id = written.stdout.toString("utf8").trim();
  return { ok: true, id, notes: notes.slice(0, 50), repo, indexFile, options: run, release };
}

/** Turns git's "could not add" lines (seen with git 2.39, LC_ALL=C) into notes. */
function notAdded(stderr: string): TreeNote[] {
  const notes: TreeNote[] = [];
  for (const line of stderr.split("\n")) {
    const nested = /^error: '(.+?)\/?' does not have a commit checked out$/.exec(line);
    const unreadable = /^error: (?:open|readlink)\("(.+)"\): (.+)$/.exec(line);
    if (nested?.[1] !== undefined) {
      const detail = "A repository without a commit inside the workspace: its files are not covered by the tree id.";
      notes.push({ kind: "nested-repository", path: nested[1], detail });
    } else if (unreadable?.[1] !== undefined) {
      notes.push({ kind: "unreadable", path: unreadable[1], detail: `It cannot be read (${unreadable[2]}).` });
    }
  }
  return notes;
}

/**
 * A reused scratch index still holds files that were untracked before and are ignored now; a fresh one would not.
 */
async function dropNewlyIgnored(run: GitOptions, realIndex: string): Promise<Result> {
  const args = ["ls-files", "-c", "-i", "--exclude-standard", "-z"];
  const now = await git(args, run);
  if (!now.ok) return now;
  if (now.stdout.length === 0) return { ok: true };
  const tracked = new Set<string>();
  if ((await lstat(realIndex).catch(() => undefined)) !== undefined) {
    const real = await git(args, { ...run, indexFile: realIndex });
    if (!real.ok) return real;
    for (const path of nulList(real.stdout)) tracked.add(path);
  }
  const drop = nulList(now.stdout).filter((path) => !tracked.has(path));
  if (drop.length === 0) return { ok: true };
  const removed = await git(["update-index", "--force-remove", "-z", "--stdin"], {
    ...run,
    input: `${drop.join("\0")}\0`,
  });
  return removed.ok ? { ok: true } : removed;
}

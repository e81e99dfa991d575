/**
 * Index bits and gitlinks by which content could hide from `git add -A`: assume-unchanged and skip-worktree bits on
 * files that are there, and submodules, whose state git would ask by running git inside them.
 */
import { lstat } from "node:fs/promises";
import { join } from "node:path";
import type { Result } from "../core/result.ts";
import type { GitOptions } from "./git.ts";
import { callOptions, git, nulList } from "./git.ts";
import type { Repo } from "./repo.ts";
import type { TreeNote } from "./tree-id.ts";

/** Clears assume-unchanged everywhere, and skip-worktree where the file exists (a sparse checkout keeps its bits). */
export async function clearHiddenBits(repo: Repo, run: GitOptions): Promise<Result<{ notes: TreeNote[] }>> {
  const listed = await git(["ls-files", "-v", "-z"], run);
  if (!listed.ok) return listed;
  const assumed: string[] = [];
  const skipped: string[] = [];
  for (const entry of nulList(listed.stdout)) {
    const tag = entry[0] ?? "";
    const path = entry.slice(2);
    if (tag >= "a" && tag <= "z") assumed.push(path);
    if (tag === "S" || tag === "s") skipped.push(path);
  }
  const present: string[] = [];
  for (const path of skipped) {
    if ((await lstat(join(repo.root, path)).catch(() => undefined)) !== undefined) present.push(path);
  }
  for (const [flag, paths] of [
    ["--no-assume-unchanged", assumed],
    ["--no-skip-worktree", present],
  ] as const) {
    if (paths.length === 0) continue;
    const cleared = await git(["update-index", flag, "-z", "--stdin"], { ...run, input: `${paths.join("\0")}\0` });
    if (!cleared.ok) return cleared;
  }
  const notes = [...new Set([...assumed, ...present])].slice(0, 20).map(
    (path): TreeNote => ({
      kind: "hidden-change",
      path,
      detail: "git was told to look away from this file (assume-unchanged or skip-worktree); it was read all the same.",
    }),
  );
  return { ok: true, notes };
}

/**
 * Submodules and nested repositories in the index are recorded by hand (`rev-parse HEAD` inside them, which runs
 * nothing of theirs) and left out of `git add`.
 */
export async function gitlinkUpdates(
  repo: Repo,
  run: GitOptions,
): Promise<Result<{ exclude: string[]; indexInfo: string }>> {
  const staged = await git(["ls-files", "--stage", "-z"], run);
  if (!staged.ok) return staged;
  const exclude: string[] = [];
  let indexInfo = "";
  for (const entry of nulList(staged.stdout)) {
    if (!entry.startsWith("160000 ")) continue;
    const [meta = "", path = ""] = entry.split("\t", 2);
    const recorded = meta.split(" ")[1] ?? "";
    const stat = await lstat(join(repo.root, path)).catch(() => undefined);
    if (!stat?.isDirectory()) continue;
    exclude.push(path);
    if ((await lstat(join(repo.root, path, ".git")).catch(() => undefined)) === undefined) continue;
    const head = await submoduleHead(join(repo.root, path), run);
    if (head !== undefined && head !== recorded) indexInfo += `160000 ${head}\t${path}\0`;
  }
  return { ok: true, exclude, indexInfo };
}

/** The commit that is checked out in a submodule; undefined when it has none. */
export async function submoduleHead(folder: string, run: GitOptions): Promise<string | undefined> {
  const head = await git(["rev-parse", "--verify", "-q", "HEAD"], {
    cwd: folder,
    ...callOptions(run),
  });
  return head.ok ? head.stdout.toString("utf8").trim() : undefined;
}

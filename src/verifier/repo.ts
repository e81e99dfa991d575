/** Finds the repository of a folder without letting the repository's configuration say where its files are. */
import { lstat, readFile, realpath } from "node:fs/promises";
import { dirname, join, relative, sep } from "node:path";
import type { Result } from "../core/result.ts";
import { failure } from "../core/result.ts";
import type { CallOptions, GitOptions } from "./git.ts";
import { callOptions, git } from "./git.ts";
import { filterOverrides } from "./git-filters.ts";
import { gitVersion } from "./versions.ts";

export interface Repo {
  /** Real path of the top folder of the work tree. */
  root: string;
  /** Absolute: `.git`, or `.git/worktrees/<name>` in a linked worktree. */
  gitDir: string;
  /** Absolute: where objects and refs live. */
  commonDir: string;
  /** cwd relative to root, "" at the top. */
  prefix: string;
  objectFormat: "sha1" | "sha256";
  /** Switches off the filters that the repository itself defines. */
  filters: readonly (readonly [string, string])[];
  /** Names of the filters that were switched off. */
  disabledFilters: readonly string[];
  /** Names of all filters, the person's own included. */
  filterNames: readonly string[];
}

/**
 * `repo: undefined` when cwd is in no work tree, or ignored by the one around it (its content would not be in any tree).
 * Failures: `no-git` (there is a repository but no git), `git-too-old`, `git-refused` (owner, corrupt), `odd-worktree`
 * (the repository's `core.worktree` points elsewhere).
 */
export async function findRepo(cwd: string, options: CallOptions = {}): Promise<Result<{ repo: Repo | undefined }>> {
  const here = await realpath(cwd);
  const root = await discover(here);
  if (root === undefined) return { ok: true, repo: undefined };
  const version = await gitVersion(options);
  if (!version.ok) return version;
  const base = { ...callOptions(options), cwd: here };
  const dirs = await git(
    [
      "rev-parse",
      "--is-inside-work-tree",
      "--absolute-git-dir",
      "--git-common-dir",
      "--show-object-format",
      "--show-toplevel",
    ],
    base,
  );
  if (!dirs.ok) {
    if (dirs.reason !== "git-failed") return dirs;
    return failure("git-refused", `git does not accept the repository of ${root}. ${dirs.message}`);
  }
  const [inside, gitDir, common, format, top] = dirs.stdout.toString("utf8").split("\n");
  if (relative(root, here).split(sep)[0] === ".git") return { ok: true, repo: undefined };
  if (
    inside !== "true" ||
    gitDir === undefined ||
    common === undefined ||
    top === undefined ||
    (await realpath(top)) !== root
  ) {
    return failure(
      "odd-worktree",
      `The repository of ${here} says that its files are in ${top ?? "no folder"}; unset core.worktree in its configuration.`,
    );
  }
  const filters = await filterOverrides(base);
  if (!filters.ok) return filters;
  const prefix = relative(root, here).split(sep).join("/");
  const repo: Repo = {
    root,
    gitDir,
    commonDir: await realpath(join(here, common)).catch(() => realpath(common)),
    prefix,
    objectFormat: format === "sha256" ? "sha256" : "sha1",
    filters: filters.overrides,
    disabledFilters: filters.disabled,
    filterNames: filters.names,
  };
  if (prefix !== "") {
    const ignored = await git(["check-ignore", "-q", "--", here], {
      ...base,
      ...repoOptions(repo),
      okCodes: [0, 1, 128],
    });
    if (!ignored.ok) return ignored;
    if (ignored.code === 0) return { ok: true, repo: undefined };
  }
  return { ok: true, repo };
}

/** The options that pin git to this repository. */
export function repoOptions(repo: Repo): Pick<GitOptions, "cwd" | "gitDir" | "workTree" | "config"> {
  return { cwd: repo.root, gitDir: repo.gitDir, workTree: repo.root, config: repo.filters };
}

/** The nearest folder upward with a `.git` folder, or a `.git` file that points to one. */
async function discover(start: string): Promise<string | undefined> {
  for (let folder = start; ; folder = dirname(folder)) {
    const entry = join(folder, ".git");
    const stat = await lstat(entry).catch(() => undefined);
    if (stat?.isDirectory() && (await lstat(join(entry, "HEAD")).catch(() => undefined)) !== undefined) return folder;
    if (stat?.isFile() && (await readFile(entry, "utf8")).startsWith("gitdir:")) return folder;
    if (stat?.isSymbolicLink()) return folder;
    if (dirname(folder) === folder) return undefined;
  }
}

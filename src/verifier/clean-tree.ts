/**
 * A clean worktree: exactly the tree of a snapshot, in a private repository of its own. It borrows the objects of the
 * person's repository (alternates) and copies its refs, so that checks that use git work; it has no remotes, no hooks
 * and none of the repository's configuration but a few harmless keys. Whatever a check does with git in there (commit,
 * tag, gc, config) stays in there, and no trace of it is left in the person's repository even after a crash.
 */
import { constants } from "node:fs";
import { copyFile, lstat, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { VerifyFinding, VerifySpec } from "../core/contracts/verifier.ts";
import type { Result } from "../core/result.ts";
import { failure } from "../core/result.ts";
import { carryPath, ignoredPaths } from "./carry.ts";
import { rawChanges, summarize } from "./changed-files.ts";
import type { GitOptions } from "./git.ts";
import { callOptions, git, nulList } from "./git.ts";
import { withoutFilters } from "./git-filters.ts";
import { makeOwnFolder, removeFolder, sweepOwnFolders } from "./own-folder.ts";
import { findRepo } from "./repo.ts";
import type { GitSnapshot, TreeOptions } from "./tree-id.ts";
import { snapshotRepo } from "./tree-id.ts";

export interface CleanTree {
  /** Top of the worktree, real path. */
  root: string;
  /** Where the commands run: the counterpart of the spec's cwd. */
  cwd: string;
  findings: VerifyFinding[];
  /** Ignored paths of the workspace that are not in here. */
  leftBehind: string[];
  remove(): Promise<void>;
}

export type CleanOptions = TreeOptions & { scratchDir: string };

/** Keys of a repository's configuration that describe the file system or name a person; none of them starts anything. */
const HARMLESS =
  /^(?:core\.(?:autocrlf|eol|filemode|ignorecase|symlinks|precomposeunicode|protecthfs|protectntfs|quotepath|sparsecheckout|sparsecheckoutcone)|user\.(?:name|email)|index\.sparse)$/;

/**
 * Failures: `submodule-changed`, `clean-failed` and those of git.ts; each says to use `--verify-in workspace` where that
 * helps. Nothing is left behind then.
 */
export async function openCleanTree(
  snapshot: GitSnapshot,
  spec: Pick<VerifySpec, "carry" | "setup">,
  options: CleanOptions,
): Promise<Result<{ tree: CleanTree }>> {
  await sweepOwnFolders(options.scratchDir);
  const folder = await makeOwnFolder(options.scratchDir, "clean");
  const remove = () => removeFolder(folder);
  const target = join(folder, basename(snapshot.repo.root) || "root");
  const carry = spec.setup === undefined ? spec.carry : [];
  try {
    const made = await materialize(snapshot, target, carry, options, 0);
    if (!made.ok) {
      await remove();
      return made;
    }
    const cwd = join(target, snapshot.repo.prefix);
    await mkdir(cwd, { recursive: true });
    return { ok: true, tree: { root: target, cwd, findings: few(made.findings), leftBehind: made.leftBehind, remove } };
  } catch (error) {
    await remove();
    const message = error instanceof Error ? error.message : String(error);
    return failure("clean-failed", `The clean worktree could not be made: ${message}. Use --verify-in workspace.`);
  }
}

/** A monorepo has a dependency folder in each package: the first ones are named, the rest is counted. */
function few(findings: VerifyFinding[]): VerifyFinding[] {
  if (findings.length <= 20) return findings;
  const detail = `${findings.length - 20} more folders were carried; the tree id does not cover them.`;
  return [...findings.slice(0, 20), { kind: "not-covered", detail }];
}

type Made = Result<{ findings: VerifyFinding[]; leftBehind: string[] }>;

async function materialize(
  snapshot: GitSnapshot,
  target: string,
  carry: readonly string[],
  options: CleanOptions,
  depth: number,
): Promise<Made> {
  const { repo } = snapshot;
  const gitDir = join(target, ".git");
  const shared = callOptions(options);
  const created = await git(
    ["init", "-q", "--template=", `--object-format=${repo.objectFormat}`, "--initial-branch=main", target],
    { ...shared, cwd: dirname(target), config: [["init.defaultRefFormat", "files"]] },
  );
  if (!created.ok) return created;
  const inside: GitOptions = {
    ...shared,
    cwd: target,
    gitDir,
    workTree: target,
    // No filter writes files here, not even the person's own: filtered files are taken from the workspace below.
    config: withoutFilters(repo.filterNames),
  };
  const borrowed = await borrow(snapshot, gitDir, inside);
  if (!borrowed.ok) return borrowed;
  await copyFile(snapshot.indexFile, join(gitDir, "index"));
  const out = await git(["checkout-index", "-a", "-f", "-u", "-q"], { ...inside, timeoutMs: 15 * 60_000 });
  if (!out.ok)
    return failure("clean-failed", `The clean worktree could not be made. ${out.message} Use --verify-in workspace.`);
  const filtered = await takeFiltered(snapshot, target);
  if (!filtered.ok) return filtered;

  const { carried, left } = await ignoredPaths(snapshot.options, carry, repo.prefix);
  const findings: VerifyFinding[] = [];
  for (const path of carried) findings.push(...(await carryPath(repo.root, path, target, options.signal)));
  const submodules = await takeSubmodules(snapshot, target, carry, options, depth);
  if (!submodules.ok) return submodules;
  findings.push(...submodules.findings);
  if (options.signal?.aborted)
    return failure("aborted", "The verification was stopped while the clean worktree was made.");
  return { ok: true, findings, leftBehind: left };
}

/** Objects by alternates, refs by a packed file, HEAD detached at a commit of exactly this tree. */
async function borrow(snapshot: GitSnapshot, gitDir: string, inside: GitOptions): Promise<Result> {
  const { repo } = snapshot;
  const objects = [join(repo.commonDir, "objects"), snapshot.options.objectDir].filter((path) => path !== undefined);
  await mkdir(join(gitDir, "objects", "info"), { recursive: true });
  await writeFile(join(gitDir, "objects", "info", "alternates"), `${objects.join("\n")}\n`);
  await mkdir(join(gitDir, "info"), { recursive: true });
  for (const [from, name] of [
    [repo.commonDir, "shallow"],
    [repo.commonDir, "info/attributes"],
    [repo.commonDir, "info/exclude"],
    [repo.gitDir, "info/sparse-checkout"],
  ] as const) {
    const bytes = await readFile(join(from, name)).catch(() => undefined);
    if (bytes !== undefined) await writeFile(join(gitDir, name), bytes);
  }
  const refs = await git(["for-each-ref", "--format=%(objectname) %(refname)"], snapshot.options);
  if (!refs.ok) return refs;
  if (refs.stdout.length > 0) await writeFile(join(gitDir, "packed-refs"), refs.stdout);
  await writeFile(join(gitDir, "config"), await privateConfig(snapshot, gitDir), { mode: 0o600 });

  const commit = await commitOf(snapshot, inside);
  if (!commit.ok) return commit;
  await writeFile(join(gitDir, "HEAD"), `${commit.id}\n`);
  return { ok: true };
}

/** The configuration that `git init` wrote, and the harmless keys of the person's. */
async function privateConfig(snapshot: GitSnapshot, gitDir: string): Promise<string> {
  let text = `${await readFile(join(gitDir, "config"), "utf8")}\n[gc]\n\tauto = 0\n`;
  const listed = await git(["config", "--list", "--show-scope", "-z"], snapshot.options);
  if (!listed.ok) return text;
  const parts = nulList(listed.stdout);
  for (let at = 0; at + 1 < parts.length; at += 2) {
    const [key = "", value] = (parts[at + 1] ?? "").split("\n", 2);
    if ((parts[at] !== "local" && parts[at] !== "worktree") || value === undefined || !HARMLESS.test(key.toLowerCase()))
      continue;
    const [section = "", name = ""] = key.split(".");
    text += `[${section}]\n\t${name} = "${value.replace(/["\\]/g, "\\$&").replace(/\t/g, "\\t")}"\n`;
  }
  return text;
}

/** HEAD itself when it has this tree, else a commit on top of it that exists only in the private repository. */
async function commitOf(snapshot: GitSnapshot, inside: GitOptions): Promise<Result<{ id: string }>> {
  const head = await git(["rev-parse", "--verify", "-q", "HEAD^{commit}"], snapshot.options);
  const parent = head.ok ? head.stdout.toString("utf8").trim() : undefined;
  if (parent !== undefined) {
    const tree = await git(["rev-parse", "--verify", "-q", `${parent}^{tree}`], snapshot.options);
    if (tree.ok && tree.stdout.toString("utf8").trim() === snapshot.id) return { ok: true, id: parent };
  }
  const who = `pi-claude-supervisor <pi-claude-supervisor@localhost> ${Math.floor(Date.now() / 1000)} +0000`;
  const text =
    `tree ${snapshot.id}\n${parent === undefined ? "" : `parent ${parent}\n`}` +
    `author ${who}\ncommitter ${who}\n\nWorkspace as verified by pi-claude-supervisor\n`;
  const written = await git(["hash-object", "-t", "commit", "-w", "--stdin"], { ...inside, input: text });
  if (!written.ok) return written;
  return { ok: true, id: written.stdout.toString("utf8").trim() };
}

/**
 * Files with a filter (Git LFS, git-crypt): the workspace holds the very content whose filtered form is in the tree, so
 * it is copied from there. No smudge filter runs, nothing is downloaded; an LFS pointer stays a pointer.
 */
async function takeFiltered(snapshot: GitSnapshot, target: string): Promise<Result> {
  const { repo, options } = snapshot;
  if (repo.filterNames.length === 0) return { ok: true };
  const listed = await git(["ls-files", "-z"], options);
  if (!listed.ok) return listed;
  const attributes = await git(["check-attr", "-z", "--stdin", "filter"], { ...options, input: listed.stdout });
  if (!attributes.ok) return attributes;
  const parts = nulList(attributes.stdout);
  for (let at = 0; at + 2 < parts.length; at += 3) {
    const path = parts[at] ?? "";
    if (!repo.filterNames.includes(parts[at + 2] ?? "")) continue;
    const stat = await lstat(join(repo.root, path)).catch(() => undefined);
    if (!stat?.isFile() || (await lstat(join(target, path)).catch(() => undefined)) === undefined) continue;
    await rm(join(target, path));
    await copyFile(join(repo.root, path), join(target, path), constants.COPYFILE_FICLONE);
  }
  return { ok: true };
}

/** Submodules that are checked out in the workspace are checked out here too, at the commit that the tree records. */
async function takeSubmodules(
  snapshot: GitSnapshot,
  target: string,
  carry: readonly string[],
  options: CleanOptions,
  depth: number,
): Promise<Result<{ findings: VerifyFinding[] }>> {
  const staged = await git(["ls-files", "--stage", "-z"], snapshot.options);
  if (!staged.ok) return staged;
  const findings: VerifyFinding[] = [];
  for (const entry of nulList(staged.stdout)) {
    if (!entry.startsWith("160000 ")) continue;
    const path = entry.slice(entry.indexOf("\t") + 1);
    const folder = join(snapshot.repo.root, path);
    if ((await lstat(join(folder, ".git")).catch(() => undefined)) === undefined) continue;
    if (depth >= 8)
      return failure("clean-failed", `Submodules are nested too deeply at ${path}. Use --verify-in workspace.`);
    const found = await findRepo(folder, options);
    if (!found.ok) return found;
    if (found.repo === undefined) continue;
    const inner = await snapshotRepo(found.repo, { ...options, contents: true });
    if (!inner.ok) return inner;
    try {
      const taken = await takeSubmodule(inner, path, join(target, path), carry, options, depth);
      if (!taken.ok) return taken;
      findings.push(
        ...taken.findings.map((one) => (one.path === undefined ? one : { ...one, path: `${path}/${one.path}` })),
      );
    } finally {
      await inner.release();
    }
  }
  return { ok: true, findings };
}

async function takeSubmodule(
  inner: GitSnapshot,
  path: string,
  target: string,
  carry: readonly string[],
  options: CleanOptions,
  depth: number,
): Promise<Made> {
  const tree = await git(["rev-parse", "--verify", "-q", "HEAD^{tree}"], inner.options);
  if (!tree.ok) return { ok: true, findings: [], leftBehind: [] };
  const id = tree.stdout.toString("utf8").trim();
  const raw = await rawChanges(id, inner.id, inner.options);
  if (!raw.ok) return raw;
  const edited = raw.changes.filter(({ letter }) => letter !== "A").map(({ path }) => path);
  if (edited.length > 0) {
    return failure(
      "submodule-changed",
      `The submodule ${path} has changes that no commit holds (${summarize(edited)}), so the tree id does not cover them. Commit inside it, or use --verify-in workspace.`,
    );
  }
  const reset = await git(["read-tree", id], inner.options);
  if (!reset.ok) return reset;
  await rm(target, { recursive: true, force: true });
  await mkdir(dirname(target), { recursive: true });
  return materialize({ ...inner, id }, target, carry, options, depth + 1);
}

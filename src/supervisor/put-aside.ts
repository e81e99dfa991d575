/**
 * Before a task is halted for another account its uncommitted work is put aside: a commit of everything that is not
 * ignored, under a ref of ours in the person's own repository, made with a scratch index. The person's index, branches
 * and files are not touched, and nothing of the workspace's content gets into the supervisor's folder.
 */
import { lstat, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { StopOrder, StopResults } from "../control/index.ts";
import { failure, type Result } from "../core/result.ts";
import { type GitOptions, git } from "../verifier/git.ts";
import { findRepo, repoOptions } from "../verifier/repo.ts";
import { copyIndex } from "../verifier/tree-store.ts";
import type { Driver } from "./driver.ts";

/** More changed bytes than this are not put aside. */
const MAX_BYTES = 64 * 1024 * 1024;
const TIMEOUT_MS = 60_000;

type Aside = Required<Pick<StopResults, "cleanup" | "remaining">>;

/** Never rejects. What could not be put aside stays where it is, and holds the task until a person has looked at it. */
export async function putAside(driver: Driver, order: StopOrder): Promise<Aside> {
  const { spec, taskId } = driver.state;
  if (spec === null) return { cleanup: [], remaining: [] };
  const step = { resource: taskId, step: "put work aside" };
  const ref = `refs/pi-claude-supervisor/${taskId}/${order.epoch}`;
  const saved = await save(spec.cwd, ref, `Stopped: ${taskId}`).catch((error: unknown) =>
    failure("git-failed", error instanceof Error ? error.message : String(error)),
  );
  if (!saved.ok) {
    const detail = `${driver.redactor.text(saved.message)} It stays in ${spec.cwd}, untouched.`;
    const remaining = [{ kind: "worktree", id: spec.cwd, detail: `not put aside: ${detail}` }];
    return { cleanup: [{ ...step, outcome: "failed", detail }], remaining };
  }
  const detail = saved.commit === undefined ? saved.why : `${saved.commit} in ${spec.cwd} (${ref})`;
  return { cleanup: [{ ...step, outcome: "done", detail }], remaining: [] };
}

type Saved = { commit: string } | { commit?: undefined; why: string };

async function save(cwd: string, ref: string, message: string): Promise<Result<Saved>> {
  const found = await findRepo(cwd);
  if (!found.ok) return found;
  const { repo } = found;
  if (repo === undefined) return { ok: true, why: "no git repository: the files stay as they are" };
  const scratch = await mkdtemp(join(tmpdir(), "pi-claude-supervisor-aside-"));
  try {
    const indexFile = join(scratch, "index");
    // A repository without an index yet has nothing staged.
    await copyIndex(join(repo.gitDir, "index"), indexFile).catch(() => undefined);
    const options: GitOptions = { ...repoOptions(repo), indexFile, timeoutMs: TIMEOUT_MS };
    const size = await changedBytes(options);
    if (!size.ok) return size;
    if (size.bytes > MAX_BYTES)
      return failure("too-large", `The uncommitted work has ${size.bytes} bytes, more than ${MAX_BYTES}.`);
    const added = await git(["add", "-A"], options);
    if (!added.ok) return added;
    const inner = await unsavedInside(options);
    if (!inner.ok) return inner;
    const tree = await word(["write-tree"], options);
    if (!tree.ok) return tree;
    const head = await word(["rev-parse", "--verify", "-q", "HEAD^{commit}"], { ...options, okCodes: [0, 1] });
    if (!head.ok) return head;
    if (head.text !== "") {
      const before = await word(["rev-parse", `${head.text}^{tree}`], options);
      if (before.ok && before.text === tree.text) return { ok: true, why: "nothing was uncommitted" };
    }
    const who = ["-c", "user.name=pi-claude-supervisor", "-c", "user.email=pi-claude-supervisor@localhost"];
    const parent = head.text === "" ? [] : ["-p", head.text];
    const commit = await word([...who, "commit-tree", tree.text, ...parent, "-m", message], options);
    if (!commit.ok) return commit;
    const set = await git(["update-ref", ref, commit.text], options);
    if (!set.ok) return set;
    const kept = await word(["rev-parse", "--verify", `${ref}^{tree}`], options);
    if (kept.ok && kept.text === tree.text) return { ok: true, commit: commit.text };
    return failure("git-failed", `The ref ${ref} does not hold the tree ${tree.text}.`);
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

/** A commit holds no more of a repository inside than the name of its own commit. Reason `submodule`. */
async function unsavedInside(options: GitOptions): Promise<Result> {
  const listed = await git(["ls-files", "-s", "-z"], options);
  if (!listed.ok) return listed;
  for (const line of listed.stdout.toString("utf8").split("\0")) {
    const path = /^160000 .*?\t(.*)$/s.exec(line)?.[1];
    if (path === undefined) continue;
    const found = await findRepo(join(options.cwd, path));
    if (!found.ok) return found;
    // A submodule that was never checked out has no work in it.
    if (found.repo === undefined || found.repo.root === options.cwd) continue;
    const said = await git(["status", "--porcelain", "-z"], { ...repoOptions(found.repo), timeoutMs: TIMEOUT_MS });
    if (!said.ok) return said;
    if (said.stdout.length > 0) return failure("submodule", `The repository ${path} inside has uncommitted work.`);
  }
  return { ok: true };
}

/** Bytes of what differs from the last commit, untracked files included. */
async function changedBytes(options: GitOptions): Promise<Result<{ bytes: number }>> {
  const listed = await git(["ls-files", "-z", "-m", "-o", "--exclude-standard"], options);
  if (!listed.ok) return listed;
  let bytes = 0;
  for (const path of new Set(listed.stdout.toString("utf8").split("\0"))) {
    if (path === "") continue;
    const stats = await lstat(join(options.cwd, path)).catch(() => undefined);
    bytes += stats?.size ?? 0;
  }
  return { ok: true, bytes };
}

async function word(args: readonly string[], options: GitOptions): Promise<Result<{ text: string }>> {
  const said = await git(args, options);
  return said.ok ? { ok: true, text: said.stdout.toString("utf8").trim() } : said;
}

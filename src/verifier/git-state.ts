/** The state of the repository beside its content: things that surprise a person later, none of them a failure. */
import { lstat, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { VerifyFinding } from "../core/contracts/verifier.ts";
import type { Result } from "../core/result.ts";
import { identify } from "../platform/process/index.ts";
import { callOptions, git } from "./git.ts";
import { findRepo, type Repo, repoOptions } from "./repo.ts";
import type { TreeOptions } from "./tree-id.ts";

export interface GitHead {
  /** Commit id; absent while the branch has no commit. */
  head?: string;
  /** Full name (`refs/heads/main`); absent when HEAD is detached. */
  branch?: string;
}

/** Where HEAD stands, to be kept at a task's start. Empty outside git. */
export async function gitHead(cwd: string, options: TreeOptions = {}): Promise<Result<GitHead>> {
  const found = await findRepo(cwd, options);
  if (!found.ok) return found;
  return found.repo === undefined ? { ok: true } : { ok: true, ...(await headOf(found.repo, options)) };
}

async function headOf(repo: Repo, options: TreeOptions): Promise<GitHead> {
  const run = { ...callOptions(options), ...repoOptions(repo) };
  const [head, branch] = await Promise.all([
    git(["rev-parse", "--verify", "-q", "HEAD^{commit}"], run),
    git(["symbolic-ref", "-q", "HEAD"], run),
  ]);
  return {
    ...(head.ok ? { head: head.stdout.toString("utf8").trim() } : {}),
    ...(branch.ok ? { branch: branch.stdout.toString("utf8").trim() } : {}),
  };
}

/** What an interrupted git operation leaves in the git folder (git 2.39). */
const UNDER_WAY: readonly (readonly [string, string])[] = [
  ["MERGE_HEAD", "A merge"],
  ["rebase-merge", "A rebase"],
  ["rebase-apply", "A rebase or git am"],
  ["CHERRY_PICK_HEAD", "A cherry-pick"],
  ["REVERT_HEAD", "A revert"],
  ["BISECT_LOG", "A bisect"],
];

export async function gitStateFindings(
  repo: Repo,
  since: GitHead | undefined,
  options: TreeOptions,
): Promise<VerifyFinding[]> {
  const details: string[] = [];
  const history: VerifyFinding[] = [];
  const did = (code: NonNullable<VerifyFinding["code"]>, detail: string): void => {
    history.push({ kind: "git-state", code, detail });
  };
  const now = await headOf(repo, options);
  const isKnown = since?.head !== undefined || since?.branch !== undefined;
  if (now.branch === undefined && !isKnown) {
    details.push(`HEAD is detached at ${now.head?.slice(0, 12) ?? "nothing"}.`);
  } else if (now.branch === undefined && since?.branch !== undefined) {
    did(
      "detached-head",
      `HEAD is detached at ${now.head?.slice(0, 12) ?? "nothing"}; at the start it was on ${short(since.branch)}.`,
    );
  } else if (since?.branch !== undefined && now.branch !== since.branch) {
    details.push(`The branch is ${short(now.branch ?? "")}; at the start it was ${short(since.branch)}.`);
  }
  if (since?.head !== undefined && (await isRewritten(repo, since, now, options))) {
    const where = since.branch === undefined ? "HEAD" : short(since.branch);
    did(
      "rewritten-history",
      `History was rewritten: the commit of the start, ${since.head.slice(0, 12)}, is no ancestor of ${where} any more.`,
    );
  }
  for (const [name, what] of UNDER_WAY) {
    if (await exists(join(repo.gitDir, name))) details.push(`${what} is under way and not finished.`);
  }
  const lock = await lstat(join(repo.gitDir, "index.lock")).catch(() => undefined);
  if (lock !== undefined) {
    details.push(`The index is locked since ${lock.mtime.toISOString()} (index.lock); it was left alone.`);
  }
  const worktree = await readFile(join(repo.gitDir, "locked"), "utf8").catch(() => undefined);
  if (worktree !== undefined && repo.gitDir !== repo.commonDir)
    details.push(`This worktree is locked${lockReason(worktree)}; it was left alone.`);
  return [...history, ...details.map((detail): VerifyFinding => ({ kind: "git-state", detail }))];
}

/** The branch of the start lost its commit; a branch that is gone, or none, is judged by HEAD. */
async function isRewritten(repo: Repo, since: GitHead, now: GitHead, options: TreeOptions): Promise<boolean> {
  const { head = "", branch } = since;
  if (now.head === head && now.branch === branch) return false;
  const run = { ...callOptions(options), ...repoOptions(repo) };
  const tip = branch === undefined ? undefined : await git(["rev-parse", "--verify", "-q", `${branch}^{commit}`], run);
  const end = tip?.ok ? tip.stdout.toString("utf8").trim() : now.head;
  if (end === undefined) return true;
  const kept = await git(["merge-base", "--is-ancestor", head, end], { ...run, okCodes: [0, 1] });
  return !kept.ok || kept.code !== 0;
}

/** `: "reason"`, and whether a process that it names lives. A number alone proves nothing, so the words stay careful. */
function lockReason(text: string): string {
  const reason = text.trim().slice(0, 200);
  const pid = /\bpid[ :=#]*(\d{1,10})\b/i.exec(reason)?.[1];
  if (pid === undefined) return reason === "" ? "" : ` ("${reason}")`;
  return ` ("${reason}"; ${identify(Number(pid)) !== undefined ? `a process ${pid} exists` : `there is no process ${pid}`})`;
}

function short(branch: string): string {
  return branch.replace(/^refs\/heads\//, "");
}

async function exists(path: string): Promise<boolean> {
  return (await lstat(path).catch(() => undefined)) !== undefined;
}

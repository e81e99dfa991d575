/**
 * `start --worktree`: a working folder of the task's own, `<repo>.supervise/<task-id>`, on a branch of its own. We never
 * remove one that was worked in; a stale lock of git's is named, never broken.
 */
import { execFile } from "node:child_process";
import { mkdir } from "node:fs/promises";
import { basename, dirname, join, relative, resolve } from "node:path";
import { promisify } from "node:util";
import { failure, type Result } from "../core/result.ts";
import { waitForFileLock } from "../platform/file-lock.ts";
import { cwdLockPath } from "../store/cwd-lock.ts";
import type { StateLayout } from "../store/layout.ts";

const run = promisify(execFile);
const GIT_TIMEOUT_MS = 120_000;

export interface Worktree {
  /** The task's working folder: the same place inside the worktree as the given folder inside its repository. */
  cwd: string;
  path: string;
  branch: string;
  /** Removes it again: only for a start that came to nothing. */
  undo(): Promise<void>;
}

/** `name`: of folder and branch. Reasons: `worktree-name`, `worktree-needs-git`, `worktree-exists`, `worktree-failed`. */
export async function makeWorktree(
  layout: Pick<StateLayout, "locks">,
  cwd: string,
  name: string,
): Promise<Result<{ worktree: Worktree }>> {
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(name)) {
    return failure(
      "worktree-name",
      "A worktree's name has up to 64 letters, digits, dots, underscores and dashes, and begins with a letter or digit.",
    );
  }
  const root = await git(cwd, ["rev-parse", "--show-toplevel"]);
  if (!root.ok)
    return failure(
      "worktree-needs-git",
      `${cwd} is in no git repository with a commit, so there is nothing to make a worktree of; leave --worktree out.`,
    );
  const top = root.stdout.trim();
  const path = join(dirname(top), `${basename(top)}.supervise`, name);
  const branch = `supervise/${name}`;
  await mkdir(dirname(path), { recursive: true });
  const made = await alone(layout, top, () => git(top, ["worktree", "add", "-b", branch, "--", path]));
  if (!made.ok) {
    const exists = /already exists|already checked out|already used/.test(made.message);
    return failure(
      exists ? "worktree-exists" : "worktree-failed",
      `The worktree ${path} could not be made: ${lastLine(made.message)} Choose another name, or clear that up first.`,
    );
  }
  const inside = relative(top, cwd);
  return {
    ok: true,
    worktree: {
      cwd: join(path, inside),
      path,
      branch,
      async undo() {
        await alone(layout, top, async () => {
          await git(top, ["worktree", "remove", "--", path]);
          return git(top, ["branch", "-d", branch]);
        });
      },
    },
  };
}

/**
 * One at a time in each repository, in whichever Pi: git reads the folders of all its worktrees when it adds one, and fails
 * on one that another git is just making (seen with 2.39: "failed to read .git/worktrees/…/commondir: Success").
 */
async function alone(layout: Pick<StateLayout, "locks">, top: string, act: () => Promise<GitRun>): Promise<GitRun> {
  const common = await git(top, ["rev-parse", "--git-common-dir"]);
  if (!common.ok) return common;
  const path = cwdLockPath(layout, `worktrees of ${resolve(top, common.stdout.trim())}`);
  const outcome = await waitForFileLock(path, { info: { pid: process.pid }, waitMs: GIT_TIMEOUT_MS });
  if (!outcome.ok) return { ok: false, message: outcome.message };
  try {
    return await act();
  } finally {
    outcome.lock.release();
  }
}

type GitRun = { ok: true; stdout: string } | { ok: false; message: string };

/** Hooks of the repository do not run: nothing of a repository runs before the gate stands. */
async function git(cwd: string, args: string[]): Promise<GitRun> {
  try {
    const { stdout } = await run("git", ["-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", ...args], {
      cwd,
      timeout: GIT_TIMEOUT_MS,
      env: { ...process.env, LC_ALL: "C", GIT_TERMINAL_PROMPT: "0" },
    });
    return { ok: true, stdout };
  } catch (error) {
    const stderr = error instanceof Error && "stderr" in error ? String(error.stderr) : "";
    return { ok: false, message: stderr === "" ? String(error) : stderr };
  }
}

function lastLine(text: string): string {
  return text.trim().split("\n").at(-1) ?? "";
}

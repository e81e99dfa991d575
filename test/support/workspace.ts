/**
 * A lab: one test's own corner of the machine. A temporary folder with a HOME, a TMPDIR and a place for the state
 * directory, a mark that every process started in it inherits, a dummy API key, and a clean-up that fails the test when
 * something is left running.
 *
 *     test("…", async (t) => {
 *       const lab = await createLab(t);
 *       const cwd = await lab.repo({ "a.txt": "hello\n" });
 *     });
 */
import { execFile } from "node:child_process";
import { randomBytes, randomUUID } from "node:crypto";
import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { killMarked, MARK_NAME } from "./processes.ts";

const run = promisify(execFile);

export interface Lab {
  /** Real path; everything below is inside. */
  readonly root: string;
  readonly home: string;
  readonly tmp: string;
  /** Where the supervisor keeps its state. It does not exist before the product makes it. */
  readonly stateDir: string;
  /** Value of E2E_MARK in the environment of all that runs in this lab. */
  readonly mark: string;
  /** Made up at run time; stands for the worker's API key. */
  readonly apiKey: string;
  /** A minimal environment: PATH, HOME, TMPDIR, LANG, the mark, git without the machine's configuration. */
  readonly env: Readonly<Record<string, string>>;
  /** A new git repository with `files` committed; resolves to its real path. */
  repo(files: Readonly<Record<string, string>>, name?: string): Promise<string>;
  /** Runs git in `cwd` and resolves to its standard output. */
  git(cwd: string, ...args: string[]): Promise<string>;
  /** Registers something to undo; the last registered runs first. Throws once the clean-up has begun. */
  defer(undo: () => unknown): void;
  /** Throws once the clean-up has begun: what is started then would be left behind. */
  assertOpen(): void;
  /**
   * Runs what was deferred, ends what is left running, removes the folder. Throws when a deferred step threw or a process
   * had to be killed. A second call does nothing.
   */
  cleanup(): Promise<void>;
}

/** What `createLab` needs of node:test's context: a hook that runs when the test is over. */
export interface AfterHook {
  after(fn: () => Promise<void>): void;
}

export async function createLab(test?: AfterHook): Promise<Lab> {
  const root = await realpath(await mkdtemp(join(tmpdir(), "pcs-lab-")));
  const home = join(root, "home");
  const tmp = join(root, "tmp");
  await mkdir(home, { mode: 0o700 });
  await mkdir(tmp, { mode: 0o700 });
  await writeFile(
    join(home, ".gitconfig"),
    "[user]\n\tname = Lab\n\temail = lab@example.invalid\n[init]\n\tdefaultBranch = main\n",
  );
  const mark = randomUUID();
  const env = {
    PATH: process.env.PATH ?? "/usr/bin:/bin",
    HOME: home,
    TMPDIR: tmp,
    LANG: "C.UTF-8",
    GIT_CONFIG_NOSYSTEM: "1",
    [MARK_NAME]: mark,
  };
  const undos: (() => unknown)[] = [];
  let repos = 0;
  let cleaned: Promise<void> | undefined;

  async function git(cwd: string, ...args: string[]): Promise<string> {
    const { stdout } = await run("git", args, { cwd, env, maxBuffer: 64 * 1024 * 1024 });
    return stdout;
  }

  async function cleanUp(): Promise<void> {
    const errors: unknown[] = [];
    for (const undo of undos.reverse()) {
      try {
        await undo();
      } catch (error) {
        errors.push(error);
      }
    }
    try {
      const left = await killMarked(mark);
      if (left.length > 0) {
        errors.push(new Error(`Left running and killed:\n${left.map((p) => `  ${p.pid} ${p.command}`).join("\n")}`));
      }
    } catch (error) {
      errors.push(error);
    }
    await rm(root, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
    if (errors.length === 1) throw errors[0];
    if (errors.length > 1) throw new AggregateError(errors, "The lab's clean-up failed.");
  }

  const lab: Lab = {
    root,
    home,
    tmp,
    stateDir: join(root, "state"),
    mark,
    apiKey: `lab-${randomBytes(24).toString("hex")}`,
    env,
    git,
    async repo(files, name) {
      const folder = join(root, name ?? `repo-${++repos}`);
      await writeTree(folder, files);
      await git(folder, "init", "-q");
      await git(folder, "add", "-A");
      await git(folder, "commit", "-q", "--allow-empty", "-m", "start");
      return folder;
    },
    defer(undo) {
      lab.assertOpen();
      undos.push(undo);
    },
    assertOpen() {
      if (cleaned) throw new Error("This lab's clean-up has begun: nothing more can be started in it.");
    },
    cleanup: () => {
      cleaned ??= cleanUp();
      return cleaned;
    },
  };
  test?.after(() => lab.cleanup());
  return lab;
}

/** Writes `files` (relative path to content) under `folder`. */
export async function writeTree(folder: string, files: Readonly<Record<string, string>>): Promise<void> {
  await mkdir(folder, { recursive: true });
  for (const [path, content] of Object.entries(files)) {
    const target = join(folder, path);
    await mkdir(dirname(target), { recursive: true });
    await writeFile(target, content);
  }
}

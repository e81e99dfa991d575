/** The independent verifier: the only room that can say "done". */

export interface VerifyCommand {
  /** As the person gave it. */
  text: string;
  /** Shell-free argv when a split is possible, else `["sh", "-c", text]`. */
  argv: string[];
  shell: boolean;
  timeoutMs: number;
}

/** Frozen at `start`; nothing of it can be changed by the worker or the decider. */
export interface VerifySpec {
  commands: VerifyCommand[];
  /** Real path of the workspace. */
  cwd: string;
  where: "clean" | "workspace";
  /** Replaces the carried dependency folders, run first in the clean worktree. */
  setup?: VerifyCommand;
  /** Ignored dependency folders linked into the clean worktree. */
  carry: string[];
  /** Each command runs this often; mixed outcomes are flaky and fail. */
  runs: number;
  /** Names of host variables passed beside the minimal set. Never the worker's environment. */
  envNames: string[];
  /** Files that the commands read by name (package.json, scripts, config): path relative to cwd -> SHA-256 at start. */
  inputs: Record<string, string>;
  /** Names in `inputs` (present or not) that are the verification itself: changed, they need a person's sign-off. */
  scripts: string[];
}

export type VerifyOutcome = "pass" | "fail" | "error";

export interface CommandResult {
  text: string;
  /** What was executed. */
  argv: string[];
  /** 1 for the first run, up to `runs`; 0 for the setup command. */
  run: number;
  /** Kebab-case code with `fail` and `error`: `exit-code`, `timeout`, `cannot-start`, `signal`, … */
  reason?: string;
  exitCode: number | null;
  signal: string | null;
  timedOut: boolean;
  durationMs: number;
  outputBytes: number;
  /** SHA-256 of the whole output (stdout and stderr as they came), before redaction. */
  outputSha256: string;
  /** The redacted output's end: at most 8,000 characters. */
  outputTail: string;
  /** Name of the artifact that holds the redacted output (bounded). */
  artifact?: string;
  outcome: VerifyOutcome;
}

export interface VerifyFinding {
  kind:
    | "changed-input"
    | "changed-script"
    | "not-covered"
    | "tree-changed"
    | "flaky"
    | "no-change"
    | "git-state"
    | "large-file";
  path?: string;
  detail: string;
  /** With `git-state`: what the task did to the history that it was given, and can mend without touching a file. */
  code?: "detached-head" | "rewritten-history";
}

/** One file that differs from the task's start. */
export interface VerifyChange {
  /** From the repository's top. */
  path: string;
  status: "added" | "modified" | "deleted" | "type-changed";
  kind: "text" | "binary" | "symlink" | "submodule";
  /** Bytes now; 0 when deleted. */
  size: number;
  /** git object id of the content now; absent when deleted. */
  hash?: string;
  /** Lines; absent for anything but text. */
  added?: number;
  deleted?: number;
}

/** What differs from the task's start: the first files by name, and sums over all of them. */
export interface VerifyChanges {
  files: VerifyChange[];
  /** Files that are not in the list. */
  more: number;
  added: number;
  deleted: number;
}

export interface VerifyReport {
  outcome: VerifyOutcome;
  /** One sentence: why, and with `error` what to do. */
  message: string;
  /** Kebab-case code with `fail` and `error`: `exit-code`, `timeout`, `not-found`, `tree-changed`, `cannot-start`, … */
  reason?: string;
  /** Git tree id of tracked + untracked, not ignored files (or `sha256:…` outside git) before the run. */
  treeBefore: string;
  treeAfter: string;
  where: "clean" | "workspace";
  commands: CommandResult[];
  findings: VerifyFinding[];
  /** Absent where the start's tree is not known, or outside git. */
  changes?: VerifyChanges;
  /** Version lines of what took part: `node`, `git`, `os`. */
  versions: Record<string, string>;
  durationMs: number;
}

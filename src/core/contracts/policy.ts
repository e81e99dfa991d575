/**
 * What the policy gate is asked and what it answers. The gate is pure: everything that it needs to know of the disk
 * comes through `PolicyFacts`, which the supervisor backs with a bounded cache and tests with a map.
 */

export type Verdict = "allow" | "review" | "person" | "deny";
export type Profile = "strict" | "standard" | "open";
export type Trust = "none" | "user" | "project";

/** A tool call as Claude's PreToolUse hook delivers it. */
export interface ToolCall {
  toolName: string;
  /** Unvalidated: a model wrote it. */
  input: unknown;
  /** The shell's own folder for this call (absolute); it follows the worker's `cd`. */
  cwd: string;
}

/** What a wrong approval would cost. Only a *recognised* loss is `lost`; an unknown effect is `recoverable`. */
export type Loss = "recoverable" | "lost";

export interface PolicyDecision {
  verdict: Verdict;
  /** Stable id of the rule that decided, e.g. `bash.git.push` or `path.protected`. */
  rule: string;
  /** One sentence for the person, the decider and the worker. Never holds the whole command. */
  reason: string;
  /** Present with `review` and `person`. */
  loss?: Loss;
  /** The pieces that led to the verdict, for `policy check` and the log: worst first, bounded to 20. */
  facts?: PolicyFact[];
}

export interface PolicyFact {
  /** The simple command, path or field that was judged, bounded to 200 characters. */
  subject: string;
  verdict: Verdict;
  rule: string;
  reason: string;
}

/** A person's own rule: the tool, and for Bash the first words of the parsed argv. */
export interface PolicyRule {
  verdict: Verdict;
  tool: string;
  /** Parsed words, compared one by one with the simple command's argv; absent = every call of the tool. */
  argv?: string[];
  /** Where the rule came from, shown by `policy show`. */
  origin: "person" | "project";
}

/** Frozen facts of one task. All paths are real paths. */
export interface PolicyContext {
  workspace: string;
  /** The account's home folder. */
  home: string;
  /** The supervisor-owned directory; the worker may neither read nor write it. */
  stateDir: string;
  /** The worker's own TMPDIR, when it has one. */
  tmpDir?: string;
  /** More folders that belong to the supervisor or Pi and are protected like `stateDir`. */
  protectedDirs?: string[];
  profile: Profile;
  /** The frozen verification commands, as given. */
  frozenVerify: string[];
  rules?: PolicyRule[];
  /** Hosts that the person's configuration lets WebFetch reach without asking. */
  allowedHosts?: string[];
}

export type GitState = "tracked" | "modified" | "untracked" | "ignored" | "absent";

/**
 * The only window of the gate onto the disk; synchronous, because an allow is answered in the same tick. Every path
 * is absolute and normalised. Implementations answer from a bounded cache and never throw: what cannot be known is
 * `undefined`, which the gate reads as "ask".
 */
export interface PolicyFacts {
  /**
   * The real path, following links; of a path that does not exist, the real path of the deepest existing parent plus
   * the rest (a dangling link counts by its target). `undefined` for a loop or an unreadable parent.
   */
  realPath(path: string): string | undefined;
  kind(path: string): "file" | "directory" | "other" | "absent" | undefined;
  /** Other names of a regular file with more than one hard link, as far as they are known; `[]` when it has none. */
  hardLinks(path: string): readonly string[] | undefined;
  /** Of a folder: the worst state of anything in it (untracked, then modified), so that "tracked" means all of it. */
  gitState(path: string): GitState | undefined;
  /** The scripts of the package.json in exactly this folder; `undefined` when there is none or it cannot be read. */
  packageScripts(directory: string): Readonly<Record<string, string>> | undefined;
  /** Whether `node_modules/.bin/<name>` stands in this folder or one of its parents inside the workspace. */
  hasLocalBin(directory: string, name: string): boolean;
  /** Whether the task has changed this file since it started. */
  changedByTask(path: string): boolean;
  /**
   * Whether this file did not exist when the task started, so that the task may overwrite and remove what it made
   * itself. Absent or false: what git does not know cannot be brought back.
   */
  createdByTask?(path: string): boolean;
}

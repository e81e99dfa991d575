/**
 * Runs git for the verifier. The repository belongs to the worker as much as to the person, so nothing in it may make
 * git run a program on our behalf: hooks, fsmonitor, filters, external diffs, ssh commands, lazy fetches. Overrides go
 * through GIT_CONFIG_COUNT (git 2.31 or newer), which beats every configuration file and is handed on to the git
 * processes that git itself starts for submodules.
 */
import { spawn } from "node:child_process";
import type { Result } from "../core/result.ts";
import { failure } from "../core/result.ts";
import { killSpawned } from "../platform/containment/kill-spawned.ts";

export interface GitOptions {
  /** Working directory of the git process. */
  cwd: string;
  /** Explicit repository: discovery is then off, and `core.worktree` of the repository has no say. */
  gitDir?: string;
  workTree?: string;
  indexFile?: string;
  /** Where new objects go. */
  objectDir?: string;
  /** More overrides: `[key, value]`. */
  config?: readonly (readonly [string, string])[];
  input?: string | Buffer;
  signal?: AbortSignal;
  /** Milliseconds; default 5 minutes (hashing a huge tree for the first time). */
  timeoutMs?: number;
  /** Bytes of stdout kept; more is a failure `git-output-too-large`. Default 64 MiB. */
  maxBytes?: number;
  /** Too much output is cut at `maxBytes` and is no failure. */
  keepCut?: boolean;
  /** Exit codes that are not a failure; default `[0]`. */
  okCodes?: readonly number[];
  hostEnv?: Readonly<Record<string, string | undefined>>;
}

/** The two options that every function of this room hands down. */
export type CallOptions = Pick<GitOptions, "signal" | "hostEnv">;

export function callOptions(options: CallOptions): CallOptions {
  return {
    ...(options.signal === undefined ? {} : { signal: options.signal }),
    ...(options.hostEnv === undefined ? {} : { hostEnv: options.hostEnv }),
  };
}

export interface GitOutput {
  stdout: Buffer;
  stderr: string;
  code: number;
  /** Only with `keepCut`. */
  isCut: boolean;
}

/** Where the person's own configuration stands; kept from the host environment, unlike every other GIT_ variable. */
const GIT_CONFIG_NAMES = ["GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM"] as const;
const STDERR_LIMIT = 256 * 1024;

/** Everything in a repository's own configuration by which git would start a program, switched off. */
const SAFE_CONFIG: readonly (readonly [string, string])[] = [
  ["core.fsmonitor", "false"],
  ["core.hooksPath", "/dev/null"],
  ["core.untrackedCache", "false"],
  ["core.splitIndex", "false"],
  ["core.sshCommand", "false"],
  ["core.gitProxy", "false"],
  ["core.askPass", "false"],
  ["core.pager", "cat"],
  ["core.editor", "false"],
  ["core.alternateRefsCommand", "true"],
  ["core.safecrlf", "false"],
  ["core.trustctime", "true"],
  ["core.checkStat", "default"],
  ["credential.helper", ""],
  ["gpg.program", "false"],
  ["commit.gpgSign", "false"],
  ["gc.auto", "0"],
  ["maintenance.auto", "false"],
  ["advice.addEmbeddedRepo", "false"],
  ["submodule.recurse", "false"],
  ["fetch.recurseSubmodules", "false"],
];

/** The environment of our own git processes: the person's HOME (their excludes file counts), nothing of GIT_*. */
export function gitEnvironment(options: GitOptions): Record<string, string> {
  const host = options.hostEnv ?? process.env;
  const env: Record<string, string> = {
    LC_ALL: "C",
    GIT_TERMINAL_PROMPT: "0",
    GIT_OPTIONAL_LOCKS: "0",
    GIT_NO_REPLACE_OBJECTS: "1",
    // A partial clone must not fetch because we look at it: its transport is configured in the repository.
    GIT_NO_LAZY_FETCH: "1",
    GIT_ALLOW_PROTOCOL: "none",
    GIT_PROTOCOL_FROM_USER: "0",
    GIT_LFS_SKIP_SMUDGE: "1",
  };
  for (const name of ["PATH", "HOME", "USER", "LOGNAME", "XDG_CONFIG_HOME", "TMPDIR", ...GIT_CONFIG_NAMES]) {
    const value = host[name];
    if (value !== undefined) env[name] = value;
  }
  if (options.gitDir !== undefined) env.GIT_DIR = options.gitDir;
  if (options.workTree !== undefined) env.GIT_WORK_TREE = options.workTree;
  if (options.indexFile !== undefined) env.GIT_INDEX_FILE = options.indexFile;
  if (options.objectDir !== undefined) env.GIT_OBJECT_DIRECTORY = options.objectDir;
  const config = [...SAFE_CONFIG, ...(options.config ?? [])];
  env.GIT_CONFIG_COUNT = String(config.length);
  config.forEach(([key, value], index) => {
    env[`GIT_CONFIG_KEY_${index}`] = key;
    env[`GIT_CONFIG_VALUE_${index}`] = value;
  });
  return env;
}

/**
 * One git command. Failures: `no-git` (not on PATH), `git-failed` (exit code; the message has git's own last lines),
 * `git-timeout`, `git-output-too-large`, `aborted`.
 */
export function git(args: readonly string[], options: GitOptions): Promise<Result<GitOutput>> {
  return new Promise((resolve) => {
    const child = spawn("git", args, {
      cwd: options.cwd,
      env: gitEnvironment(options),
      stdio: [options.input === undefined ? "ignore" : "pipe", "pipe", "pipe"],
    });
    const maxBytes = options.maxBytes ?? 64 * 1024 * 1024;
    const chunks: Buffer[] = [];
    let bytes = 0;
    let stderr = "";
    let ended: "git-timeout" | "git-output-too-large" | "aborted" | undefined;
    const end = (why: "git-timeout" | "git-output-too-large" | "aborted") => {
      ended ??= why;
      killSpawned(child);
    };
    const timer = setTimeout(() => end("git-timeout"), options.timeoutMs ?? 5 * 60_000);
    const onAbort = () => end("aborted");
    if (options.signal?.aborted) onAbort();
    options.signal?.addEventListener("abort", onAbort, { once: true });
    const done = (result: Result<GitOutput>) => {
      clearTimeout(timer);
      options.signal?.removeEventListener("abort", onAbort);
      resolve(result);
    };
    child.stdout?.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= maxBytes) {
        chunks.push(chunk);
        return;
      }
      if (options.keepCut) chunks.push(chunk.subarray(0, Math.max(0, chunk.length - (bytes - maxBytes))));
      end("git-output-too-large");
    });
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      if (stderr.length < STDERR_LIMIT) stderr += text;
    });
    if (options.input !== undefined && child.stdin) {
      // git may exit before it has read everything (EPIPE); its exit code says what happened.
      child.stdin.on("error", () => undefined);
      child.stdin.end(options.input);
    }
    child.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") done(failure("no-git", "git was not found on PATH; install git 2.34 or newer."));
      else done(failure("git-failed", `git could not be started: ${error.message}.`));
    });
    child.on("close", (code, signal) => {
      const name = args.find((word) => !word.startsWith("-")) ?? "git";
      if (ended === "git-output-too-large" && options.keepCut) {
        done({ ok: true, stdout: Buffer.concat(chunks).subarray(0, maxBytes), stderr, code: 0, isCut: true });
      } else if (ended !== undefined) {
        done(failure(ended, `git ${name} was ended: ${ENDED[ended]}.`));
      } else if (code === null || !(options.okCodes ?? [0]).includes(code)) {
        const said = stderr.trim().split("\n").slice(-3).join(" ").slice(0, 600);
        done(failure("git-failed", `git ${name} failed (${code ?? signal}): ${said || "no message"}`));
      } else {
        done({ ok: true, stdout: Buffer.concat(chunks), stderr, code, isCut: false });
      }
    });
  });
}

const ENDED = {
  "git-timeout": "it took too long",
  "git-output-too-large": "its output is larger than allowed",
  aborted: "the verification was stopped",
} as const;

/** Splits NUL-separated output of git (`-z`). Names that are not UTF-8 are shown with replacement characters. */
export function nulList(output: Buffer): string[] {
  const parts = output.toString("utf8").split("\0");
  if (parts.at(-1) === "") parts.pop();
  return parts;
}

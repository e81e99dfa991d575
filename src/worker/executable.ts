/** Which Claude runs: found, looked at, asked for its version, and recorded, before anything is started with it. */
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { access, open, realpath, stat } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { delimiter, dirname, isAbsolute, join } from "node:path";
import type { ExecutableFacts } from "../core/contracts/worker.ts";
import { type Failure, failure, type Result } from "../core/result.ts";
import type { Environment } from "./environment.ts";

/** The version that this supervisor was recorded and tested against; older ones lack parts of the protocol. */
export const OLDEST_CLAUDE = "2.1.268";
const VERSION_TIMEOUT_MS = 10_000;
const HASHED_BYTES = 1024 * 1024;
/** The npm package's placeholder has 500 bytes, the real program hundreds of megabytes. */
const STUB_MAX_BYTES = 4096;
const STUB_TEXT = "claude native binary not installed";
const CONFIGURE = "set PI_CLAUDE_SUPERVISOR_CLAUDE to the path of the claude program";

export interface FindClaudeOptions {
  /** PI_CLAUDE_SUPERVISOR_CLAUDE: a path. Default: `claude` on PATH. */
  configured?: string | undefined;
  host: Environment;
  versionTimeoutMs?: number;
}

/**
 * Reasons: `claude-not-found`, `claude-not-executable`, `claude-stub`, `claude-cannot-run`, `claude-version-unknown`,
 * `claude-too-old`. `notice` is a sentence for the person when this version is newer than the tested one.
 */
export async function findClaude(
  options: FindClaudeOptions,
): Promise<Result<{ executable: ExecutableFacts; notice?: string }>> {
  const found = await lookForClaude(options);
  if (!found.ok) return found;
  const { path, looked } = found;
  const asked = await askVersion(looked.realPath, options);
  if (!asked.ok) return asked;
  const { version } = asked;
  if (compareVersions(version, OLDEST_CLAUDE) < 0) {
    return failure(
      "claude-too-old",
      `${path} is Claude Code ${version}; at least ${OLDEST_CLAUDE} is needed, because older versions do not confirm the gate. Update it (claude update), or ${CONFIGURE}.`,
    );
  }
  const executable: ExecutableFacts = {
    path,
    realPath: looked.realPath,
    version,
    size: looked.size,
    sha256: looked.sha256,
  };
  if (compareVersions(version, OLDEST_CLAUDE) === 0) return { ok: true, executable };
  const notice = `Claude Code ${version} is newer than ${OLDEST_CLAUDE}, the version this supervisor was tested with. It runs as long as it confirms the gate at its start.`;
  return { ok: true, executable, notice };
}

/** Where it is and whether it can be run, without running it. Reasons: the first three of `findClaude`. */
export async function lookForClaude(
  options: FindClaudeOptions,
): Promise<Result<{ path: string; looked: Extract<Awaited<ReturnType<typeof lookAt>>, { ok: true }> }>> {
  const path = await locate(options);
  if (typeof path !== "string") return path;
  const looked = await lookAt(path);
  return looked.ok ? { ok: true, path, looked } : looked;
}

/** What has changed between two looks at the program, as a sentence; `undefined` when it is the same. */
export function executableDrift(before: ExecutableFacts, now: ExecutableFacts): string | undefined {
  const changes = [
    before.realPath === now.realPath ? undefined : `path ${before.realPath} to ${now.realPath}`,
    before.version === now.version ? undefined : `version ${before.version} to ${now.version}`,
    before.sha256 === now.sha256 && before.size === now.size ? undefined : "content",
  ].filter((change) => change !== undefined);
  if (changes.length === 0) return undefined;
  return `The Claude program has changed since this task started (${changes.join(", ")}).`;
}

/** Negative, 0 or positive as `a` is older than, the same as or newer than `b` (`major.minor.patch`). */
export function compareVersions(a: string, b: string): number {
  const left = a.split(".").map(Number);
  const right = b.split(".").map(Number);
  for (let i = 0; i < 3; i++) {
    const difference = (left[i] ?? 0) - (right[i] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

/**
 * The program inside the npm package's platform dependency, which is there also where install scripts did not run.
 * `nodeModules` is the folder that holds `@anthropic-ai`.
 */
export function platformBinary(nodeModules: string, platform = process.platform, arch = process.arch): string {
  const name = `claude-code-${platform}-${arch}`;
  return join(nodeModules, "@anthropic-ai", name, platform === "win32" ? "claude.exe" : "claude");
}

async function locate(options: FindClaudeOptions): Promise<string | Failure> {
  const { configured, host } = options;
  if (configured !== undefined && configured !== "") {
    const path = configured.startsWith("~/") ? join(host.HOME ?? homedir(), configured.slice(2)) : configured;
    if (isAbsolute(path)) return path;
    return failure(
      "claude-not-found",
      `PI_CLAUDE_SUPERVISOR_CLAUDE is "${configured}", but has to be an absolute path.`,
    );
  }
  // A relative entry would look in the workspace, where the worker itself can put a file.
  const folders = (host.PATH ?? "").split(delimiter).filter(isAbsolute);
  for (const folder of folders) {
    const path = join(folder, "claude");
    if (await isProgram(path)) return path;
  }
  return failure("claude-not-found", `No claude program was found on PATH. Install Claude Code, or ${CONFIGURE}.`);
}

async function isProgram(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK);
    return (await stat(path)).isFile();
  } catch {
    return false;
  }
}

async function lookAt(path: string): Promise<Result<{ realPath: string; size: number; sha256: string }>> {
  try {
    const realPath = await realpath(path);
    const { size, ...kind } = await stat(realPath).then((stats) => ({ size: stats.size, isFile: stats.isFile() }));
    if (!kind.isFile) return failure("claude-not-executable", `${path} is no file. To go on, ${CONFIGURE}.`);
    const head = await readHead(realPath);
    if (size <= STUB_MAX_BYTES && head.includes(STUB_TEXT)) return stub(path, realPath);
    await access(realPath, constants.X_OK);
    return { ok: true, realPath, size, sha256: createHash("sha256").update(head).digest("hex") };
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? "unknown error";
    if (code === "ENOENT") return failure("claude-not-found", `There is no ${path}. To go on, ${CONFIGURE}.`);
    const why = code === "EACCES" ? "may not be read and run by this user" : `cannot be looked at (${code})`;
    return failure("claude-not-executable", `${path} ${why}. Change its mode, or ${CONFIGURE}.`);
  }
}

async function readHead(path: string): Promise<Buffer> {
  const file = await open(path, "r");
  try {
    const head = Buffer.alloc(HASHED_BYTES);
    let length = 0;
    for (;;) {
      const { bytesRead } = await file.read(head, length, HASHED_BYTES - length, length);
      length += bytesRead;
      if (bytesRead === 0 || length === HASHED_BYTES) return head.subarray(0, length);
    }
  } finally {
    await file.close();
  }
}

/** `<node_modules>/@anthropic-ai/claude-code/bin/claude.exe` is the placeholder (npm package 2.1.268). */
async function stub(path: string, realPath: string): Promise<Failure> {
  const binary = platformBinary(dirname(dirname(dirname(dirname(realPath)))));
  const remedy = (await isProgram(binary))
    ? `Set PI_CLAUDE_SUPERVISOR_CLAUDE to ${binary}, or reinstall it with install scripts.`
    : "Reinstall it with install scripts and optional dependencies.";
  return failure("claude-stub", `${path} is only npm's placeholder, because its install script did not run. ${remedy}`);
}

/** Runs `--version` in a folder of nobody, with nothing of the host's environment but HOME and PATH. */
function askVersion(realPath: string, options: FindClaudeOptions): Promise<Result<{ version: string }>> {
  const timeout = options.versionTimeoutMs ?? VERSION_TIMEOUT_MS;
  const env = { PATH: options.host.PATH ?? "", HOME: options.host.HOME ?? homedir(), DISABLE_AUTOUPDATER: "1" };
  return new Promise((resolve) => {
    const child = execFile(
      realPath,
      ["--version"],
      { cwd: tmpdir(), env, timeout, killSignal: "SIGKILL", maxBuffer: 64 * 1024 },
      (error, stdout, stderr) => {
        const version = /^(\d+\.\d+\.\d+)\b/.exec(stdout.trim())?.[1];
        if (error === null && version !== undefined) return resolve({ ok: true, version });
        resolve(versionFailure(realPath, { error, stdout, stderr, timeout }));
      },
    );
    child.stdin?.on("error", () => child.stdin?.destroy());
    child.stdin?.end();
  });
}

function versionFailure(
  path: string,
  run: {
    error: (Error & { killed?: boolean; code?: unknown }) | null;
    stdout: string;
    stderr: string;
    timeout: number;
  },
): Failure {
  const { error, stdout, stderr, timeout } = run;
  if (error?.killed === true) {
    return failure(
      "claude-cannot-run",
      `${path} --version did not answer within ${timeout / 1000} s. Check that it starts in a terminal.`,
    );
  }
  const words = (stderr.trim() || stdout.trim()).split("\n")[0]?.slice(0, 200) ?? "";
  if (error !== null) {
    const why = words === "" ? String(error.code ?? error.message) : words;
    return failure(
      "claude-cannot-run",
      `${path} --version failed (${why}). Check that it starts in a terminal, or ${CONFIGURE}.`,
    );
  }
  return failure(
    "claude-version-unknown",
    `${path} --version printed "${words}", which is no Claude Code version. To go on, ${CONFIGURE}.`,
  );
}

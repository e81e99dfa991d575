/** The real Claude Code for tests: its binary, an environment in which it reaches nothing but loopback, a raw client. */
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { JsonLines } from "./json-lines.ts";
import { MARK_NAME } from "./processes.ts";
import { until, within } from "./until.ts";
import type { Lab } from "./workspace.ts";

/** The version that this project pins and whose protocol was recorded. */
export const CLAUDE_VERSION = "2.1.268";

/**
 * Path of the native binary in the platform package, never `.bin/claude`: after `npm ci --ignore-scripts` that one is a
 * stub which only prints an error. Throws when this platform has no such package installed.
 */
export function claudeBinary(): string {
  const require = createRequire(import.meta.url);
  const platform = `${process.platform}-${process.arch}`;
  const tried = (isMusl() ? [`${platform}-musl`] : []).concat(platform);
  // The platform package is an optional dependency of the main one, so it is looked up from there.
  const main = dirname(require.resolve("@anthropic-ai/claude-code/package.json"));
  const scope = dirname(main);
  for (const name of tried) {
    for (const base of [join(main, "node_modules", "@anthropic-ai"), scope]) {
      const path = join(base, `claude-code-${name}`, process.platform === "win32" ? "claude.exe" : "claude");
      if (existsSync(path)) return path;
    }
  }
  throw new Error(
    `No Claude Code binary for ${tried.join(" or ")}: run "npm ci --include=dev --include=optional" on a supported platform.`,
  );
}

function isMusl(): boolean {
  if (process.platform !== "linux") return false;
  const report = process.report.getReport() as { header?: { glibcVersionRuntime?: string } };
  return report.header?.glibcVersionRuntime === undefined;
}

/** What keeps the real Claude on loopback and quiet; every name has to reach the worker. */
export function claudeEnv(lab: Lab, modelUrl: string): Record<string, string> {
  return {
    ANTHROPIC_BASE_URL: modelUrl,
    ANTHROPIC_API_KEY: lab.apiKey,
    [MARK_NAME]: lab.mark,
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    DISABLE_TELEMETRY: "1",
    DISABLE_AUTOUPDATER: "1",
    DISABLE_ERROR_REPORTING: "1",
  };
}

/** The value of PI_CLAUDE_SUPERVISOR_WORKER_ENV that passes `claudeEnv` on to a supervised worker. */
export function workerEnvNames(): string {
  return [
    "ANTHROPIC_BASE_URL",
    "ANTHROPIC_API_KEY",
    MARK_NAME,
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
    "DISABLE_TELEMETRY",
    "DISABLE_AUTOUPDATER",
    "DISABLE_ERROR_REPORTING",
  ].join(",");
}

/** What Claude asks at its very first start in a terminal, answered before (2.1.268). */
export async function answerFirstStart(lab: Lab, cwd: string): Promise<void> {
  const known = {
    hasCompletedOnboarding: true,
    theme: "dark",
    customApiKeyResponses: { approved: [lab.apiKey.slice(-20)], rejected: [] },
    projects: { [cwd]: { hasTrustDialogAccepted: true, hasCompletedProjectOnboarding: true } },
  };
  await writeFile(join(lab.home, ".claude.json"), JSON.stringify(known));
}

/** One message of the stream-json protocol, as it came. */
export type ClaudeMessage = Readonly<Record<string, unknown>> & { type: string };

export interface RawClaude {
  readonly pid: number;
  readonly messages: readonly ClaudeMessage[];
  /** Standard error so far. */
  stderr(): string;
  write(message: object): void;
  prompt(text: string): void;
  /** Sends `initialize` with one PreToolUse hook (callback id `gate`) and resolves with the reply. */
  initialize(deadlineMs?: number): Promise<ClaudeMessage>;
  /** The first message, past or future, that `matches`. */
  waitFor(matches: (message: ClaudeMessage) => boolean, deadlineMs: number, what: string): Promise<ClaudeMessage>;
  /** Closes standard input; resolves when the process is gone. */
  end(deadlineMs?: number): Promise<{ code: number | null; signal: string | null }>;
}

/**
 * Claude Code in stream-json mode with nothing between: for protocol facts and smoke tests. The product's own adapter is
 * not involved. `onHook` answers each PreToolUse callback with the `hookSpecificOutput`; default: allow.
 */
export function startRawClaude(options: {
  lab: Lab;
  modelUrl: string;
  cwd: string;
  args?: readonly string[];
  onHook?: (input: Readonly<Record<string, unknown>>) => Record<string, unknown>;
}): RawClaude {
  options.lab.assertOpen();
  const child = spawn(
    claudeBinary(),
    [
      "-p",
      "--input-format=stream-json",
      "--output-format=stream-json",
      "--verbose",
      "--permission-prompt-tool=stdio",
      "--setting-sources=user",
      "--strict-mcp-config",
      ...(options.args ?? []),
    ],
    {
      cwd: options.cwd,
      env: { ...options.lab.env, ...claudeEnv(options.lab, options.modelUrl) },
      stdio: ["pipe", "pipe", "pipe"],
    },
  );
  const messages: ClaudeMessage[] = [];
  let stderr = "";
  const lines = new JsonLines();
  const write = (message: object) => void child.stdin.write(`${JSON.stringify(message)}\n`);
  child.stdin.on("error", () => undefined); // EPIPE after its end: the exit says more
  child.stderr.on("data", (chunk: Buffer) => {
    stderr += chunk.toString("utf8");
  });
  child.stdout.on("data", (chunk: Buffer) => {
    for (const message of lines.push(chunk) as ClaudeMessage[]) {
      messages.push(message);
      const hook = hookOf(message);
      if (!hook) continue;
      const output = options.onHook?.(hook.input) ?? { permissionDecision: "allow", permissionDecisionReason: "test" };
      write({
        type: "control_response",
        response: {
          subtype: "success",
          request_id: hook.id,
          response: { hookSpecificOutput: { hookEventName: "PreToolUse", ...output } },
        },
      });
    }
  });
  const exited = new Promise<{ code: number | null; signal: string | null }>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code, signal) => resolve({ code, signal }));
  });
  const claude: RawClaude = {
    pid: child.pid ?? -1,
    messages,
    stderr: () => stderr,
    write,
    prompt: (text) => write({ type: "user", message: { role: "user", content: text } }),
    async initialize(deadlineMs = 30_000) {
      const id = randomUUID();
      const hooks = { PreToolUse: [{ matcher: "*", hookCallbackIds: ["gate"], timeout: 600 }] };
      write({ type: "control_request", request_id: id, request: { subtype: "initialize", hooks } });
      const mine = (message: ClaudeMessage) =>
        message.type === "control_response" && (message.response as { request_id?: string }).request_id === id;
      return claude.waitFor(mine, deadlineMs, "the reply to initialize");
    },
    waitFor: (matches, deadlineMs, what) =>
      until(
        () => messages.find(matches),
        deadlineMs,
        () => `${what}; got ${messages.map((m) => m.type).join(" ") || "nothing"}; stderr: ${stderr.slice(-500)}`,
      ),
    async end(deadlineMs = 15_000) {
      child.stdin.end();
      return within(exited, deadlineMs, "Claude's exit after end of input");
    },
  };
  options.lab.defer(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    if (child.pid !== undefined) child.kill("SIGTERM");
    const force = setTimeout(() => child.pid !== undefined && child.kill("SIGKILL"), 3_000);
    await exited;
    clearTimeout(force);
  });
  return claude;
}

function hookOf(message: ClaudeMessage): { id: string; input: Readonly<Record<string, unknown>> } | undefined {
  if (message.type !== "control_request") return undefined;
  const request = message.request as { subtype?: string; input?: Readonly<Record<string, unknown>> };
  if (request.subtype !== "hook_callback") return undefined;
  return { id: String(message.request_id), input: request.input ?? {} };
}

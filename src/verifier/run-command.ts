/** Runs one frozen command once and says what happened; whether that is a pass stands in classify.ts. */
import type { Redactor } from "../core/contracts/redaction.ts";
import type { VerifyCommand } from "../core/contracts/verifier.ts";
import type { LeaderExit } from "../platform/containment/index.ts";
import type { ContainedOptions } from "./contained.ts";
import { startContained } from "./contained.ts";
import type { CapturedOutput } from "./output.ts";
import { captureOutput } from "./output.ts";

export interface CommandRun {
  exit: LeaderExit;
  timedOut: boolean;
  aborted: boolean;
  /** Why there was no process at all. */
  spawnError?: string;
  /** What could not be ended. */
  remaining: string[];
  durationMs: number;
  output: CapturedOutput;
}

export interface CommandRunOptions extends Omit<ContainedOptions, "argv"> {
  redactor: Redactor;
}

/** After the command and its tree are gone the pipe must close; a process we may not see could still hold it. */
const OUTPUT_CLOSE_MS = 5000;
/** A command that takes too long may still tidy up and say where it hangs. */
const TIMEOUT_GRACE_MS = 2000;

export async function runCommand(command: VerifyCommand, options: CommandRunOptions): Promise<CommandRun> {
  const started = performance.now();
  const capture = captureOutput(options.redactor);
  const nothing = (more: Partial<CommandRun>): CommandRun => ({
    exit: { code: null, signal: null },
    timedOut: false,
    aborted: false,
    remaining: [],
    durationMs: Math.round(performance.now() - started),
    output: capture.finish(),
    ...more,
  });
  if (options.signal?.aborted) return nothing({ aborted: true });
  const spawned = await startContained({ ...options, argv: command.argv });
  if (!spawned.ok) return nothing(spawned.reason === "aborted" ? { aborted: true } : { spawnError: spawned.message });
  const { output, exited, stop } = spawned.command;
  output.on("data", (chunk: Buffer) => capture.push(chunk));
  const closed = new Promise<void>((resolve) => {
    output.once("close", resolve);
    output.once("error", () => resolve());
  });

  const first = await firstOf(exited, command.timeoutMs, options.signal);
  const proof = await stop(first === "timeout" ? TIMEOUT_GRACE_MS : 0);
  const exit = first === "exited" || proof.proven ? await exited : { code: null, signal: null };
  await Promise.race([closed, delay(OUTPUT_CLOSE_MS)]);
  output.destroy();
  return {
    exit,
    timedOut: first === "timeout",
    aborted: first === "aborted",
    remaining: proof.remaining,
    durationMs: Math.round(performance.now() - started),
    output: capture.finish(),
  };
}

function firstOf(
  exited: Promise<unknown>,
  timeoutMs: number,
  signal: AbortSignal | undefined,
): Promise<"exited" | "timeout" | "aborted"> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => settle("timeout"), Math.min(timeoutMs, 2 ** 31 - 1));
    const onAbort = () => settle("aborted");
    const settle = (what: "exited" | "timeout" | "aborted") => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", onAbort);
      resolve(what);
    };
    signal?.addEventListener("abort", onAbort, { once: true });
    if (signal?.aborted) onAbort();
    void exited.then(() => settle("exited"));
  });
}

function delay(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms).unref();
  });
}

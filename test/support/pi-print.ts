/** Pi's print mode: one prompt, one process, its exit code. */
import { spawn } from "node:child_process";
import { parseObject } from "./json-lines.ts";
import type { Json } from "./pi-answers.ts";
import { exitOf, type PiExit } from "./pi-protocol.ts";
import { type PiSetup, preparePi } from "./pi-setup.ts";
import { within } from "./until.ts";

export interface PrintRun extends PiExit {
  stdout: string;
  stderr: string;
  /** The standard error lines that are JSON objects: what commands with `--json` answer in print mode. */
  answers: Json[];
}

export interface PrintOptions extends PiSetup {
  prompt: string;
  /** `text` is `-p` (default), `json` is `--mode json`. */
  mode?: "text" | "json";
  /** Milliseconds until Pi is killed and the call rejects. Default 60,000. */
  deadlineMs?: number;
}

/** Runs `pi -p <prompt>` to its end. */
export async function runPrint(options: PrintOptions): Promise<PrintRun> {
  const launch = await preparePi(options);
  const mode = options.mode === "json" ? ["--mode", "json"] : ["-p"];
  options.lab.assertOpen();
  const child = spawn(launch.file, [...launch.args, "--no-session", ...mode, options.prompt], {
    cwd: options.cwd,
    env: launch.env,
    stdio: ["ignore", "pipe", "pipe"],
  });
  let stdout = "";
  let stderr = "";
  child.stdout.on("data", (chunk: Buffer) => {
    stdout += chunk.toString("utf8");
  });
  child.stderr.on("data", (chunk: Buffer) => {
    stderr += chunk.toString("utf8");
  });
  const exited = exitOf(child);
  try {
    const exit = await within(exited, options.deadlineMs ?? 60_000, () => `pi -p; stderr: ${stderr.slice(-1_000)}`);
    const answers = stderr
      .split("\n")
      .map(parseObject)
      .filter((answer) => answer !== undefined);
    return { ...exit, stdout, stderr, answers };
  } finally {
    if (child.exitCode === null && child.signalCode === null) {
      if (child.pid !== undefined) child.kill("SIGKILL");
      await exited;
    }
  }
}

/** Runs one reader of scripts/bench/consumer.ts in a fresh folder and process. */
import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const run = promisify(execFile);
const CONSUMER = fileURLToPath(new URL("./consumer.ts", import.meta.url));

export interface Consumed {
  ms: number;
  events: number;
  rssMiB: number;
}

/** `task`: what the fake claude does. `sdk`: path of the SDK's module, for the readers that need it. */
export async function consume(reader: string, task: object, sdk = ""): Promise<Consumed> {
  const folder = await mkdtemp(join(tmpdir(), "pcs-bench-"));
  try {
    const env = {
      PATH: process.env["PATH"] ?? "",
      HOME: folder,
      TMPDIR: folder,
      LANG: "C.UTF-8",
      BENCH_FOLDER: folder,
      BENCH_TASK: JSON.stringify(task),
      BENCH_SDK: sdk,
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
      DISABLE_TELEMETRY: "1",
    };
    const args = ["--import", import.meta.resolve("tsx"), CONSUMER, reader];
    const { stdout } = await run(process.execPath, args, { env, cwd: folder, timeout: 300_000, maxBuffer: 16_777_216 });
    const line = stdout.trim().split("\n").at(-1) ?? "";
    return JSON.parse(line) as Consumed;
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

/**
 * The worker room: one live agent process behind `WorkerAdapter` (core/contracts/worker.ts).
 *
 *     const found = await findClaude({ configured, host: process.env });
 *     const worker = createWorker("claude-jsonl", input, systemDeps({ redactor }));
 *     worker.subscribe((event) => …);
 *     const started = await worker.start();
 */
import type { TransportName, WorkerAdapter, WorkerStartInput } from "../core/contracts/worker.ts";
import { assertNever } from "../core/result.ts";
import { ClaudeWorker } from "./claude-jsonl/claude-worker.ts";
import type { WorkerDeps } from "./deps.ts";
import { PipeWorker } from "./process-pipe/pipe-worker.ts";

export { isolationArgs, takeoverArgs } from "./claude-jsonl/argv.ts";
export { MAX_PROMPT_BYTES } from "./claude-jsonl/prompts.ts";
export { findSessionFile, type SessionPlace, turnsSince } from "./claude-jsonl/session-file.ts";
export { systemDeps, type WorkerDeps } from "./deps.ts";
export { parseEnvNames, workerEnvironment } from "./environment.ts";
export {
  executableDrift,
  type FindClaudeOptions,
  findClaude,
  lookForClaude,
  OLDEST_CLAUDE,
  platformBinary,
} from "./executable.ts";

export function createWorker(transport: TransportName, input: WorkerStartInput, deps: WorkerDeps): WorkerAdapter {
  switch (transport) {
    case "claude-jsonl":
      return new ClaudeWorker(input, deps);
    case "process-pipe":
      return new PipeWorker(input, deps);
    default:
      return assertNever(transport, "transport");
  }
}

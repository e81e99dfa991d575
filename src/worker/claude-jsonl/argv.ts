/** Claude's command line, as recorded on 2.1.268. No flag here can widen a permission. */
import type { WorkerStartInput } from "../../core/contracts/worker.ts";

const STREAM = [
  "-p",
  "--input-format",
  "stream-json",
  "--output-format",
  "stream-json",
  "--verbose",
  "--permission-prompt-tool",
  "stdio",
  "--permission-mode",
  "default",
];

/**
 * Which settings Claude loads. A repository's hooks and MCP servers run in `-p` mode before any gate and without a
 * question, so that only `project` lets them in. `--strict-mcp-config` without a configuration means: no MCP servers.
 */
export function isolationArgs(trust: WorkerStartInput["trust"]): string[] {
  switch (trust) {
    case "none":
      return ["--setting-sources=", "--strict-mcp-config"];
    case "user":
      return ["--setting-sources=user", "--strict-mcp-config"];
    case "project":
      return ["--setting-sources=user,project,local"];
  }
}

/** Values that could begin with a dash are always glued to their flag. The prompt never stands here: it goes by stdin. */
export function streamArgs(input: WorkerStartInput): string[] {
  return [
    ...STREAM,
    ...isolationArgs(input.trust),
    input.resume ? `--resume=${input.sessionId}` : `--session-id=${input.sessionId}`,
    ...(input.model === undefined ? [] : [`--model=${input.model}`]),
    ...(input.maxTurns === undefined ? [] : [`--max-turns=${input.maxTurns}`]),
  ];
}

/** What a person's own `claude` needs to go on with this session under the same isolation. */
export function takeoverArgs(input: Pick<WorkerStartInput, "sessionId" | "trust" | "model">): string[] {
  return [
    `--resume=${input.sessionId}`,
    ...isolationArgs(input.trust),
    ...(input.model === undefined ? [] : [`--model=${input.model}`]),
  ];
}

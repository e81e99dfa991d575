/** Why there is no worker, in one sentence that says what to do. */
import type { WorkerStartInput } from "../../core/contracts/worker.ts";
import { type Failure, failure } from "../../core/result.ts";
import type { LeaderExit } from "../deps.ts";

/** Claude Code 2.1.268 prints it on stderr and in an error result, then exits 1. */
const NO_SESSION = "No conversation found";

export interface StartFailureFacts {
  input: WorkerStartInput;
  /** The end of stderr. */
  stderr: string;
  /** `errors` of a result that came before the handshake. */
  errors: readonly string[];
  exit: LeaderExit | undefined;
  timeoutMs: number;
}

export function startFailure(asked: Failure, facts: StartFailureFacts): Failure {
  const words = [facts.stderr, ...facts.errors].filter((text) => text !== "").join(" ");
  if (facts.input.resume && words.includes(NO_SESSION)) {
    return failure(
      "no-session",
      `Claude has no session ${facts.input.sessionId} in this folder, so it cannot be continued. Start afresh with recover --fresh if that is what you want.`,
    );
  }
  const said = words === "" ? "It printed nothing on stderr." : `It said: ${words.slice(0, 500)}`;
  switch (asked.reason) {
    case "control-timeout":
      return failure(
        "startup-timeout",
        `Claude did not answer within ${facts.timeoutMs / 1000} s of its start and was ended. A server of its MCP configuration may hang, or its login may be waiting for a browser. ${said}`,
      );
    case "control-refused":
      return failure(
        "handshake-refused",
        `Claude refused to register the gate and was ended (${asked.message}). ${said}`,
      );
    case "worker-gone":
      return failure("worker-exit", `Claude ended before it was ready (${exitText(facts.exit)}). ${said}`);
    default:
      return failure(asked.reason, `${asked.message} ${said}`);
  }
}

function exitText(exit: LeaderExit | undefined): string {
  if (exit === undefined) return "it closed its input";
  return exit.signal === null ? `exit code ${exit.code}` : `signal ${exit.signal}`;
}

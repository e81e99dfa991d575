/** How a refusal looks: the same in text and JSON, and it has changed nothing. */
import type { Caller } from "../../control/person.ts";
import { text } from "../../control/show.ts";
import type { Failure } from "../../core/result.ts";
import type { Answer, CliPorts } from "./ports.ts";

const CONTENTION = new Set(["lock-held", "stop-in-force", "epoch-mismatch", "busy", "estop"]);
const UNFINISHED = new Set(["failed-to-stop", "disk-full", "read-only-disk", "io-error", "too-many-files"]);

/** Exit 3 for what is in the way, 1 for what still runs or a failed write, 2 for the rest. */
export function refused(fault: Failure): Answer {
  const { reason, message } = fault;
  const contention = CONTENTION.has(reason);
  const exitCode = contention ? 3 : UNFINISHED.has(reason) ? 1 : 2;
  return { exitCode, json: { ok: false, reason, message, contention }, text: text([message]) };
}

export function callerOf(ports: CliPorts): Caller {
  return { env: ports.env, tty: ports.tty, uid: ports.ownership.uid };
}

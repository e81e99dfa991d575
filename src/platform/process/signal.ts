/**
 * The one place that sends signals. Node has no pidfd, so between the check of the identity and the signal lies a gap of
 * microseconds in which the process could end, be reaped, and its number be given to a new one. Numbers are handed out
 * in a cycle of at least 32,768, so this needs a full turn of the cycle inside the gap.
 */
import type { ProcessIdentity } from "../../core/contracts/worker.ts";
import { errnoOf } from "../errno.ts";
import { isOfEarlierBoot, isProcessNumber, readRow } from "./identity.ts";
import { hasEnded, type ProcessRow, readStat } from "./stat.ts";

/** `refused`: this number must never be signalled; `denied`: the system says no (EPERM). */
export type SignalOutcome = "sent" | "gone" | "denied" | "refused";

/** Signals exactly this process. Never pid 0, 1, a negative number, ourselves, our parent or our own group's number. */
export function signal(identity: ProcessIdentity, name: NodeJS.Signals): SignalOutcome {
  if (!maySignal(identity.pid)) return "refused";
  const read = readThat(identity);
  return "row" in read ? send(identity.pid, name) : read.outcome;
}

/**
 * Signals the whole process group that this process is in now, in one step that no fork inside the group can outrun.
 * Refused for our own group and session: a session's groups are its own, so this reaches only what the session holds.
 */
export function signalGroup(identity: ProcessIdentity, name: NodeJS.Signals): SignalOutcome {
  if (!maySignal(identity.pid)) return "refused";
  const read = readThat(identity);
  if (!("row" in read)) return read.outcome;
  const own = readRow(process.pid);
  if (own.state !== "read" || own.row.session === read.row.session || !maySignal(read.row.group)) return "refused";
  return send(-read.row.group, name);
}

/** May this number be signalled at all? */
export function maySignal(pid: number): boolean {
  return isProcessNumber(pid) && pid !== process.pid && pid !== process.ppid && pid !== ownGroup();
}

let knownGroup: number | undefined;

function ownGroup(): number {
  if (process.platform === "darwin") {
    const read = readRow(process.pid);
    return read.state === "read" ? read.row.group : process.pid;
  }
  if (knownGroup === undefined) {
    const read = readStat(process.pid);
    knownGroup = read.state === "read" ? read.row.group : process.pid;
  }
  return knownGroup;
}

/** An unreadable process cannot be told from a stranger with its number, so it is not signalled. */
function readThat(identity: ProcessIdentity): { row: ProcessRow } | { outcome: "gone" | "denied" } {
  if (isOfEarlierBoot(identity)) return { outcome: "gone" };
  const read = readRow(identity.pid);
  if (read.state === "unreadable") return { outcome: "denied" };
  if (read.state === "gone" || read.row.startTicks !== identity.startTicks || hasEnded(read.row)) {
    return { outcome: "gone" };
  }
  return { row: read.row };
}

function send(target: number, name: NodeJS.Signals): SignalOutcome {
  try {
    process.kill(target, name);
    return "sent";
  } catch (error) {
    const code = errnoOf(error);
    if (code === "ESRCH") return "gone";
    if (code === "EPERM") return "denied";
    throw error;
  }
}

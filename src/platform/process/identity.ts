/**
 * Which process is meant. A pid is only a number that the kernel hands out again; pid, start ticks and boot id together
 * name one process for ever.
 */
import { readFileSync } from "node:fs";
import type { ProcessIdentity } from "../../core/contracts/worker.ts";
import { errnoOf } from "../errno.ts";
import { darwinBootId, readPs } from "./darwin.ts";
import { hasEnded, readStat, type StatRead } from "./stat.ts";

let knownBootId: string | undefined;

/** This boot of this machine. Empty when the system does not tell: then only pid and start ticks are compared. */
export function bootId(): string {
  knownBootId ??= process.platform === "darwin" ? darwinBootId() : linuxBootId();
  return knownBootId;
}

function linuxBootId(): string {
  try {
    return readFileSync("/proc/sys/kernel/random/boot_id", "latin1").trim();
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return "";
  }
}

/** The identity of a live process; `undefined` when it is gone, a zombie, or cannot be read. */
export function identify(pid: number): ProcessIdentity | undefined {
  if (!isProcessNumber(pid)) return undefined;
  const read = readRow(pid);
  if (read.state !== "read" || hasEnded(read.row)) return undefined;
  return { pid, startTicks: read.row.startTicks, bootId: bootId() };
}

/**
 * Does this very process still run? No for a zombie, for another process with its number, and for one of an earlier
 * boot. Yes when the answer cannot be read: unknown is not absent.
 */
export function isAlive(identity: ProcessIdentity): boolean {
  return stateOf(identity) !== undefined;
}

/** Its state letter (`?` when unreadable), or `undefined` when it is gone. */
export function stateOf(identity: ProcessIdentity): string | undefined {
  if (!isProcessNumber(identity.pid) || isOfEarlierBoot(identity)) return undefined;
  const read = readRow(identity.pid);
  if (read.state === "gone") return undefined;
  if (read.state === "unreadable") return "?";
  if (read.row.startTicks !== identity.startTicks || hasEnded(read.row)) return undefined;
  return read.row.state;
}

export function isOfEarlierBoot(identity: ProcessIdentity): boolean {
  const now = bootId();
  return now !== "" && identity.bootId !== "" && identity.bootId !== now;
}

export function isSameProcess(a: ProcessIdentity, b: ProcessIdentity): boolean {
  return a.pid === b.pid && a.startTicks === b.startTicks && a.bootId === b.bootId;
}

/** A pid that can belong to an ordinary process: 0 and negative numbers mean groups, 1 is init. */
export function isProcessNumber(pid: number): boolean {
  return Number.isSafeInteger(pid) && pid > 1 && pid <= 0x7fffffff;
}

/** The table's row, whichever the system. A pid hidden from this user (`hidepid`, setuid) is unreadable, not gone. */
export function readRow(pid: number): StatRead {
  if (process.platform === "darwin") {
    const rows = readPs(pid);
    if (rows === undefined) return { state: "unreadable" };
    const row = rows.find((candidate) => candidate.pid === pid);
    return row === undefined ? { state: "gone" } : { state: "read", row };
  }
  const read = readStat(pid);
  return read.state === "gone" && !isAbsent(pid) ? { state: "unreadable" } : read;
}

function isAbsent(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    return errnoOf(error) === "ESRCH";
  }
  // It came to life between the two looks, or /proc is not mounted.
  return readStat(process.pid).state === "read" && readStat(pid).state === "gone";
}

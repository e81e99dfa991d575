/**
 * The only way out, for a person alone. It clears the latch and starts nothing: every task needs its own recover. It is
 * a compare-and-set on the epoch that the person saw, so a late resume can't undo a newer stop.
 */
import { unlinkSync } from "node:fs";
import { failure, type Result } from "../core/result.ts";
import { systemClock } from "../platform/clock.ts";
import { syncFolder } from "../platform/durable-write.ts";
import { fileFailure } from "../platform/errno.ts";
import {
  type FileDeps,
  floorOf,
  readSnapshot,
  type Snapshot,
  underLock,
  unknownIdentity,
  writeFloor,
  writeLatch,
  writeRecord,
} from "./files.ts";
import { type ControlFolder, markerPath, stopAllPath } from "./folder.ts";
import { clearLatch } from "./latch.ts";
import { type Actor, type ControlRecord, historyWith, MOST_HISTORY, type Remaining } from "./record.ts";
import { isOfProcesses } from "./request.ts";
import { ALL, isThere, keepSpare } from "./set-latch.ts";
import { isOrdinaryEnd, isStanding } from "./states.ts";
import { stillThere } from "./sweep.ts";

export interface ResumeRequest {
  /** An identity, or `--all`. */
  scope: string;
  /** The epoch that `status` showed. */
  epoch: number;
  reason: string;
  actor: Actor;
  requestId: string;
}

export interface Resumed {
  epoch: number;
  /** Identities that may be recovered now. */
  identities: string[];
  notes: string[];
}

/**
 * Reasons: `epoch-mismatch`, `not-in-force`, `failed-to-stop` (something may still run), `unknown-identity`,
 * `lock-held`, or a disk fault.
 */
export async function resume(
  folder: ControlFolder,
  request: ResumeRequest,
  deps: FileDeps = {},
): Promise<Result<{ resumed: Resumed }>> {
  const locked = await underLock(folder, deps, (): Result<{ resumed: Resumed }> => {
    const read = readSnapshot(folder);
    if (!read.ok) return read;
    const at = (deps.clock ?? systemClock).now().toISOString();
    return request.scope === ALL
      ? resumeAll(folder, request, read.snapshot, at, deps)
      : resumeOne(folder, request, read.snapshot, at, deps);
  });
  return locked.ok ? locked.value : locked;
}

/** The epoch that a person has to name: of the scope's own last change, or the highest where that can't be read. */
export function epochToName(snapshot: Snapshot, scope: string): number {
  if (scope === ALL) {
    const { latch, floor } = snapshot;
    if (latch.state !== "read" || floor.state === "unclear") return snapshot.highest;
    return Math.max(latch.value.epoch, floor.state === "read" ? floor.value.latch : 0);
  }
  const record = snapshot.records.get(scope);
  return record?.state === "read" ? record.value.epoch : snapshot.highest;
}

function resumeAll(
  folder: ControlFolder,
  request: ResumeRequest,
  snapshot: Snapshot,
  at: string,
  deps: FileDeps,
): Result<{ resumed: Resumed }> {
  const known = epochToName(snapshot, ALL);
  if (request.epoch !== known) return mismatch(request.epoch, known);
  const records = [...snapshot.records].flatMap(([, reading]) => (reading.state === "read" ? [reading.value] : []));
  // Only what this latch brought down comes back with it; a task stopped by its own name stays stopped.
  const mine = records.filter((record) => isStanding(record) && record.epoch === known);
  const left = records.flatMap((record) => remainingOf(record));
  if (left.length > 0) return stillRunning(left);

  const before = snapshot.latch.state === "read" ? snapshot.latch.value : clearLatch(known);
  const history = [...before.history, { at, state: "resumed", epoch: known, reason: request.reason }];
  const { requestId, requestedAt, reason, actor, ...kept } = before;
  const floor = floorOf(snapshot);
  const standing = { ...floor.standing };
  const notes: string[] = [];
  const done: string[] = [];
  for (const record of mine) {
    const written = writeRecord(folder, resumedRecord(record, request, at), { state: "read", value: record }, deps);
    if (!written.ok) return written;
    delete standing[record.identity];
    done.push(record.identity);
  }
  // The latch goes last: until then everything holds, whatever fails on the way.
  const highest = Math.max(snapshot.highest, known);
  const lowered = writeFloor(folder, { ...floor, epoch: highest, latch: known, standing }, snapshot.floor, deps);
  if (!lowered.ok) return lowered;
  const removed = removeMarker(stopAllPath(folder), folder);
  if (!removed.ok) return removed;
  const cleared = writeLatch(
    folder,
    { ...kept, state: "clear", epoch: known, resumedAt: at, history: history.slice(-MOST_HISTORY) },
    snapshot.latch,
    deps,
  );
  if (!cleared.ok) return cleared;
  keepSpare(folder);
  const own = records.filter((record) => isStanding(record) && record.epoch !== known).map((one) => one.identity);
  if (own.length > 0) notes.push(`Stopped by their own name, and still so: ${own.join(", ")}.`);
  return { ok: true, resumed: { epoch: known, identities: done, notes } };
}

function resumeOne(
  folder: ControlFolder,
  request: ResumeRequest,
  snapshot: Snapshot,
  at: string,
  deps: FileDeps,
): Result<{ resumed: Resumed }> {
  const identity = request.scope;
  const reading = snapshot.records.get(identity);
  if (reading === undefined || reading.state === "absent") return unknownIdentity(identity);
  if (reading.state === "unclear") return reading.fault;
  const record = reading.value;
  if (request.epoch !== record.epoch) return mismatch(request.epoch, record.epoch);
  const isMarked = isThere(markerPath(folder, identity));
  if (!isStanding(record) && !isMarked) {
    return failure("not-in-force", `${identity} is not stopped or paused (${record.state}). Nothing changed.`);
  }
  const left = remainingOf(record);
  if (left.length > 0) return stillRunning(left);
  const written = writeRecord(folder, resumedRecord(record, request, at), reading, deps);
  if (!written.ok) return written;
  const removed = removeMarker(markerPath(folder, identity), folder);
  if (!removed.ok) return removed;
  const floor = floorOf(snapshot);
  const standing = { ...floor.standing };
  delete standing[identity];
  const lowered = writeFloor(folder, { ...floor, standing }, snapshot.floor, deps);
  if (!lowered.ok) return lowered;
  return { ok: true, resumed: { epoch: record.epoch, identities: [identity], notes: [] } };
}

/** A record of a task that was running without a latch of its own (only the marker stood) keeps running. */
function resumedRecord(record: ControlRecord, request: ResumeRequest, at: string): ControlRecord {
  if (record.state === "running" || isOrdinaryEnd(record)) return record;
  const { requestedAt, acknowledgedAt, verifiedAt, evidenceDetail, ...kept } = record;
  return {
    ...kept,
    state: "resuming",
    desired: "running",
    cause: "start",
    requestId: request.requestId,
    actor: request.actor,
    reason: request.reason,
    resources: [],
    cleanup: [],
    remaining: [],
    evidenceStatus: "none",
    history: historyWith(record, at),
  };
}

/** What only a person can judge: they were shown it, and type the identity to let it go. */
const FOR_A_PERSON = ["record", "worktree"];

/**
 * What keeps a resume back: processes that the table shows now, and entries of other kinds. A damaged or untrusted record
 * has nothing that could be verified, and work that could not be put aside lies untouched in its worktree.
 */
function remainingOf(record: ControlRecord): Remaining[] {
  if (!isStanding(record)) return [];
  const seen = record.resources.flatMap(stillThere).filter((entry) => entry.kind !== "untrusted");
  const others = record.remaining.filter((entry) => !isOfProcesses(entry) && !FOR_A_PERSON.includes(entry.kind));
  return [...seen, ...others];
}

function removeMarker(path: string, folder: ControlFolder): Result {
  if (!isThere(path)) return { ok: true };
  try {
    unlinkSync(path);
  } catch (error) {
    return fileFailure("remove", path, error);
  }
  const synced = syncFolder(folder.path);
  return synced.ok ? { ok: true } : synced;
}

function mismatch(given: number, known: number): Result<never> {
  return failure(
    "epoch-mismatch",
    `The epoch is ${known}, not ${given}: something changed since you looked. Look at status again. Nothing changed.`,
  );
}

function stillRunning(left: readonly Remaining[]): Result<never> {
  const first = left[0];
  const more = left.length > 1 ? ` and ${left.length - 1} more` : "";
  return failure(
    "failed-to-stop",
    `Something may still run: ${first?.kind} ${first?.id}${more}. Stop again first; nothing is resumed while anything remains.`,
  );
}

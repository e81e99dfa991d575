/** Reading and writing the stop's files under the folder's one kernel lock. */
import { renameSync } from "node:fs";
import { failure, type Result } from "../core/result.ts";
import { type Clock, systemClock } from "../platform/clock.ts";
import { type Durability, type DurableFs, durableWrite, nodeDurableFs } from "../platform/durable-write.ts";
import { errnoOf } from "../platform/errno.ts";
import { isLockHeld, type LockHeld, waitForFileLock } from "../platform/file-lock.ts";
import { bootId, identify } from "../platform/process/index.ts";
import { type Reading, readGuarded } from "./cached-file.ts";
import { type ControlFolder, floorPath, latchPath, listIdentities, mutexPath, recordPath } from "./folder.ts";
import { emptyFloor, type Floor, type Latch, parseFloor, parseLatch, serialize } from "./latch.ts";
import { type ControlRecord, parseRecord, serializeRecord } from "./record.ts";
import { mayMove } from "./states.ts";

export interface FileDeps {
  clock?: Clock;
  /** The calls of a durable write, for tests of full disks. */
  fs?: DurableFs;
  /** Longest wait for the folder's lock, milliseconds. Default 3000. */
  lockWaitMs?: number;
}

/** Everything on the disk at one moment. */
export interface Snapshot {
  latch: Reading<Latch>;
  floor: Reading<Floor>;
  records: Map<string, Reading<ControlRecord>>;
  /** The highest epoch that any readable file knows. */
  highest: number;
}

/**
 * Runs `act` while nobody else changes the stop's files. Reason `lock-held` after the wait, or why the lock cannot be
 * taken. `act` is synchronous, so that nothing comes between.
 */
export async function underLock<T>(
  folder: ControlFolder,
  deps: FileDeps,
  act: () => T,
): Promise<Result<{ value: T }> | LockHeld> {
  const clock = deps.clock ?? systemClock;
  const waitMs = deps.lockWaitMs ?? 3000;
  const outcome = await waitForFileLock(mutexPath(folder), {
    info: { ...holderNote(), since: clock.now().toISOString() },
    what: "control folder",
    ownership: folder.ownership,
    waitMs,
    clock,
  });
  if (!outcome.ok) {
    if (!isLockHeld(outcome)) return outcome;
    return { ...outcome, message: `${outcome.message} Waited ${waitMs} ms.` };
  }
  try {
    return { ok: true, value: act() };
  } finally {
    outcome.lock.release();
  }
}

export function holderNote(): { pid: number; startTicks: string; bootId: string } {
  return identify(process.pid) ?? { pid: process.pid, startTicks: "", bootId: bootId() };
}

export function readSnapshot(folder: ControlFolder): Result<{ snapshot: Snapshot }> {
  const listed = listIdentities(folder);
  if (!listed.ok) return listed;
  const latch = readLatchFile(folder);
  const floor = readFloorFile(folder);
  const records = new Map(listed.identities.map((identity) => [identity, readRecordFile(folder, identity)] as const));
  const epochs = [...records.values()].map((record) => (record.state === "read" ? record.value.epoch : 0));
  if (latch.state === "read") epochs.push(latch.value.epoch);
  if (floor.state === "read") {
    epochs.push(floor.value.epoch, floor.value.latch, ...Object.values(floor.value.standing));
  }
  return { ok: true, snapshot: { latch, floor, records, highest: Math.max(0, ...epochs) } };
}

/** The floor to write anew; where it can't be read, one that gives out no epoch twice. */
export function floorOf({ floor, highest }: Snapshot): Floor {
  return floor.state === "read" ? floor.value : { ...emptyFloor(), epoch: highest };
}

export function readLatchFile(folder: ControlFolder): Reading<Latch> {
  return readGuarded(latchPath(folder), folder.ownership, (bytes) => {
    const parsed = parseLatch(bytes);
    return parsed.ok ? { ok: true, value: parsed.latch } : parsed;
  });
}

export function readFloorFile(folder: ControlFolder): Reading<Floor> {
  return readGuarded(floorPath(folder), folder.ownership, (bytes) => {
    const parsed = parseFloor(bytes);
    return parsed.ok ? { ok: true, value: parsed.floor } : parsed;
  });
}

export function readRecordFile(folder: ControlFolder, identity: string): Reading<ControlRecord> {
  return readGuarded(recordPath(folder, identity), folder.ownership, (bytes) => {
    const parsed = parseRecord(bytes, identity);
    return parsed.ok ? { ok: true, value: parsed.record } : parsed;
  });
}

type Written = Result<{ durability: Durability }>;

/** An unclear file at the place is moved aside first, so that a person can look at it. Call under the lock. */
export function writeLatch(folder: ControlFolder, latch: Latch, was: Reading<Latch>, deps: FileDeps): Written {
  return replace(latchPath(folder), serialize(latch), was, deps);
}

export function writeFloor(folder: ControlFolder, floor: Floor, was: Reading<Floor>, deps: FileDeps): Written {
  return replace(floorPath(folder), serialize(floor), was, deps);
}

export function writeRecord(
  folder: ControlFolder,
  record: ControlRecord,
  was: Reading<ControlRecord>,
  deps: FileDeps,
): Written {
  return replace(recordPath(folder, record.identity), serializeRecord(record), was, deps);
}

/**
 * Reads, changes and writes one record under the lock. `change` answers `undefined` to leave it alone. Reasons:
 * `unknown-identity`, `illegal-move`, that of the reading, of the lock, or of the disk.
 */
export async function changeRecord(
  folder: ControlFolder,
  identity: string,
  deps: FileDeps,
  change: (record: ControlRecord) => ControlRecord | undefined,
): Promise<Result<{ record: ControlRecord }>> {
  const locked = await underLock(folder, deps, (): Result<{ record: ControlRecord }> => {
    const reading = readRecordFile(folder, identity);
    if (reading.state === "absent") return unknownIdentity(identity);
    if (reading.state === "unclear") return reading.fault;
    const next = change(reading.value);
    if (next === undefined) return { ok: true, record: reading.value };
    const from = reading.value.state;
    if (next.state !== from && !mayMove(from, next.state)) {
      return failure("illegal-move", `${identity} can't go from ${from} to ${next.state}. Nothing changed.`);
    }
    const written = writeRecord(folder, next, reading, deps);
    return written.ok ? { ok: true, record: next } : written;
  });
  return locked.ok ? locked.value : locked;
}

export function unknownIdentity(identity: string): Result<never> {
  return failure(
    "unknown-identity",
    `There is no record of ${identity}, so nothing is known about it. See: pi-claude-supervisor-control --all status.`,
  );
}

function replace(path: string, text: string, was: Reading<unknown>, deps: FileDeps): Written {
  if (was.state === "unclear") {
    const stamp = (deps.clock ?? systemClock)
      .now()
      .toISOString()
      .replace(/[^0-9TZ]/g, "");
    try {
      renameSync(path, `${path}.damaged-${stamp}-${process.pid}`);
    } catch (error) {
      if (errnoOf(error) === undefined) throw error;
    }
  }
  return durableWrite(path, text, { fs: deps.fs ?? nodeDurableFs });
}

/**
 * The durable request, which comes before everything else: once it is on the disk the stop holds, whether or not
 * anybody is there to act on it. Where it can't be written (disk full, a hung process in the folder's lock), an empty
 * file takes its place: its presence alone is the stop.
 */
import { closeSync, constants, lstatSync, openSync, renameSync } from "node:fs";
import { failure, type Result } from "../core/result.ts";
import { systemClock } from "../platform/clock.ts";
import { syncFolder } from "../platform/durable-write.ts";
import { errnoOf } from "../platform/errno.ts";
import { isLockHeld } from "../platform/file-lock.ts";
import { bootId } from "../platform/process/index.ts";
import type { Reading } from "./cached-file.ts";
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
import { type ControlFolder, markerPath, sparePath, stopAllPath } from "./folder.ts";
import { clearLatch, type Latch } from "./latch.ts";
import { type Actor, type ControlRecord, historyWith, MOST_HISTORY, RECORD_SCHEMA } from "./record.ts";
import { isOrdinaryEnd, isStanding, mayMove } from "./states.ts";

export const ALL = "--all";

export interface LatchRequest {
  verb: "stop" | "pause";
  /** An identity, or `--all`. */
  scope: string;
  how: "now" | "after-call";
  /** Checked and redacted. */
  reason: string;
  cause: string;
  actor: Actor;
  requestId: string;
}

/** `full`/`weak`: written down; `marker`: an empty file stands for it; `no`: only in memories and on its way. */
export type LatchDurability = "full" | "weak" | "marker" | "no";

export interface Latched {
  epoch: number;
  durable: LatchDurability;
  /** Identities that this request is about. */
  affected: string[];
  /** The target had ended in the ordinary way already: nothing was touched. */
  alreadyEnded: boolean;
  /** What a person should know: damaged files moved aside, writes that failed. */
  notes: string[];
}

/**
 * Reasons: `unknown-identity`, `stop-in-force` (pause after stop), `lock-held` (pause only). A stop is never refused for
 * damage or for want of a lock.
 */
export async function setLatch(
  folder: ControlFolder,
  request: LatchRequest,
  deps: FileDeps = {},
): Promise<Result<{ latched: Latched }>> {
  const at = (deps.clock ?? systemClock).now().toISOString();
  const lockWaitMs = deps.lockWaitMs ?? (request.verb === "stop" ? 1000 : 3000);
  const locked = await underLock(folder, { ...deps, lockWaitMs }, () => apply(folder, request, at, deps));
  if (locked.ok) return locked.value;
  if (request.verb === "pause") return locked;
  return withoutLock(folder, request, isLockHeld(locked) ? locked.message : `No lock: ${locked.message}`);
}

function apply(folder: ControlFolder, request: LatchRequest, at: string, deps: FileDeps): Result<{ latched: Latched }> {
  const read = readSnapshot(folder);
  if (!read.ok) return read;
  const { snapshot } = read;
  return request.scope === ALL
    ? latchAll(folder, request, at, snapshot, deps)
    : latchOne(folder, request, at, snapshot, deps);
}

function latchAll(
  folder: ControlFolder,
  request: LatchRequest,
  at: string,
  snapshot: Snapshot,
  deps: FileDeps,
): Result<{ latched: Latched }> {
  const before = snapshot.latch.state === "read" ? snapshot.latch.value : clearLatch();
  if (request.verb === "pause" && (before.state === "stopped" || isThere(stopAllPath(folder)))) {
    return failure(
      "stop-in-force",
      `A stop is in force (epoch ${snapshot.highest}); a pause would lower it. Nothing changed.`,
    );
  }
  if (request.cause === "stop-all-file" && before.state === "stopped") {
    // Another controller gave the file its epoch.
    const affected = affectedBy(snapshot);
    return { ok: true, latched: { epoch: before.epoch, durable: "full", affected, alreadyEnded: false, notes: [] } };
  }
  const epoch = snapshot.highest + 1;
  const notes = damageNotes(snapshot);
  const latch: Latch = {
    ...before,
    state: request.verb === "stop" ? "stopped" : "paused",
    epoch,
    how: request.how,
    cause: request.cause,
    requestId: request.requestId,
    actor: request.actor,
    reason: request.reason,
    requestedAt: at,
    history: [...before.history, entryOf(request, epoch, at)].slice(-MOST_HISTORY),
  };
  const durable = settle(folder, request, writeLatch(folder, latch, snapshot.latch, deps), notes);
  const affected = affectedBy(snapshot);
  const floor = floorOf(snapshot);
  const standing = { ...floor.standing };
  for (const identity of affected) {
    const reading = snapshot.records.get(identity) ?? { state: "absent" };
    if (writeRequest(folder, identity, reading, { request, epoch, at, deps, notes })) standing[identity] = epoch;
  }
  noteFailure(writeFloor(folder, { ...floor, epoch, latch: epoch, standing }, snapshot.floor, deps), notes);
  return { ok: true, latched: { epoch, durable, affected, alreadyEnded: false, notes } };
}

function latchOne(
  folder: ControlFolder,
  request: LatchRequest,
  at: string,
  snapshot: Snapshot,
  deps: FileDeps,
): Result<{ latched: Latched }> {
  const identity = request.scope;
  const reading = snapshot.records.get(identity) ?? { state: "absent" };
  if (reading.state === "absent") return unknownIdentity(identity);
  const record = reading.state === "read" ? reading.value : undefined;
  if (record !== undefined && isOrdinaryEnd(record) && record.remaining.length === 0) {
    const latched: Latched = { epoch: record.epoch, durable: "full", affected: [], alreadyEnded: true, notes: [] };
    return { ok: true, latched };
  }
  if (request.verb === "pause" && record?.desired === "stopped" && isStanding(record)) {
    return failure("stop-in-force", `${identity} is stopped (epoch ${record.epoch}). Nothing changed.`);
  }
  const epoch = snapshot.highest + 1;
  const notes = damageNotes({ ...snapshot, records: new Map([[identity, reading]]) });
  const next = requested(identity, record, request, epoch, at);
  const durable = settle(folder, request, writeRecord(folder, next, reading, deps), notes);
  const floor = floorOf(snapshot);
  const standing = { ...floor.standing, [identity]: epoch };
  noteFailure(writeFloor(folder, { ...floor, epoch, standing }, snapshot.floor, deps), notes);
  return { ok: true, latched: { epoch, durable, affected: [identity], alreadyEnded: false, notes } };
}

/** Everything that may still run, and what can't be read. */
export function affectedBy(snapshot: Snapshot): string[] {
  return [...snapshot.records].flatMap(([identity, reading]) => {
    if (reading.state !== "read") return [identity];
    const { value } = reading;
    return isOrdinaryEnd(value) && value.remaining.length === 0 ? [] : [identity];
  });
}

interface Context {
  request: LatchRequest;
  epoch: number;
  at: string;
  deps: FileDeps;
  notes: string[];
}

/** True when the record carries the request now. */
function writeRequest(
  folder: ControlFolder,
  identity: string,
  reading: Reading<ControlRecord>,
  { request, epoch, at, deps, notes }: Context,
): boolean {
  const record = reading.state === "read" ? reading.value : undefined;
  // A pause does not lower a stop of its own.
  if (request.verb === "pause" && record !== undefined && record.desired === "stopped" && isStanding(record)) {
    return false;
  }
  const written = writeRecord(folder, requested(identity, record, request, epoch, at), reading, deps);
  noteFailure(written, notes);
  return written.ok;
}

/** The record with the request in it; a damaged one starts anew and says that what it held is unknown. */
export function requested(
  identity: string,
  record: ControlRecord | undefined,
  request: LatchRequest,
  epoch: number,
  at: string,
): ControlRecord {
  const state = request.verb === "stop" ? "stopping" : "pausing";
  const asked = {
    desired: request.verb === "stop" ? ("stopped" as const) : ("paused" as const),
    cause: request.cause,
    epoch,
    how: request.how,
    requestId: request.requestId,
    actor: request.actor,
    reason: request.reason,
    requestedAt: at,
    evidenceStatus: "pending" as const,
  };
  if (record === undefined) {
    const lost = { kind: "record", id: identity, identity: "its record was damaged: what ran under it is not known" };
    return {
      schema: RECORD_SCHEMA,
      identity,
      taskId: identity,
      cwd: "",
      state,
      ...asked,
      bootId: bootId(),
      resources: [],
      cleanup: [],
      remaining: [lost],
      history: [],
      extra: {},
    };
  }
  const { acknowledgedAt, verifiedAt, evidenceDetail, ...kept } = record;
  return {
    ...kept,
    ...asked,
    state: mayMove(record.state, state) ? state : record.state,
    cleanup: [],
    history: historyWith(record, at),
  };
}

function settle(
  folder: ControlFolder,
  request: LatchRequest,
  written: Result<{ durability: "full" | "weak" }>,
  notes: string[],
): LatchDurability {
  if (written.ok) return written.durability;
  notes.push(written.message);
  return placeMarker(folder, request.scope) ? "marker" : "no";
}

/** An empty file where the latch could not be written: made, or on a full disk renamed from the spare. */
export function placeMarker(folder: ControlFolder, scope: string): boolean {
  const path = scope === ALL ? stopAllPath(folder) : markerPath(folder, scope);
  if (isThere(path)) return true;
  try {
    const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
    closeSync(openSync(path, flags, 0o600));
    return syncFolder(folder.path).ok;
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
  }
  try {
    renameSync(sparePath(folder), path);
    return syncFolder(folder.path).ok;
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return false;
  }
}

/** The zero-byte file that a stop on a full disk is made of. Best effort. */
export function keepSpare(folder: ControlFolder): void {
  try {
    closeSync(openSync(sparePath(folder), constants.O_WRONLY | constants.O_CREAT | constants.O_NOFOLLOW, 0o600));
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
  }
}

function withoutLock(folder: ControlFolder, request: LatchRequest, why: string): Result<{ latched: Latched }> {
  const read = readSnapshot(folder);
  if (read.ok && request.scope !== ALL && !read.snapshot.records.has(request.scope)) {
    return unknownIdentity(request.scope);
  }
  const durable = placeMarker(folder, request.scope) ? "marker" : "no";
  const affected = !read.ok ? [] : request.scope === ALL ? affectedBy(read.snapshot) : [request.scope];
  // Not given out: it is the one that whoever adopts the empty file will take.
  const epoch = (read.ok ? read.snapshot.highest : 0) + 1;
  return { ok: true, latched: { epoch, durable, affected, alreadyEnded: false, notes: [why] } };
}

function damageNotes(snapshot: Snapshot): string[] {
  return [snapshot.latch, snapshot.floor, ...snapshot.records.values()].flatMap((reading) =>
    reading.state === "unclear" ? [`${reading.fault.message} It was moved aside.`] : [],
  );
}

function noteFailure(outcome: Result, notes: string[]): void {
  if (!outcome.ok) notes.push(outcome.message);
}

function entryOf(request: LatchRequest, epoch: number, at: string) {
  return { at, state: request.verb === "stop" ? "stopped" : "paused", epoch, reason: request.reason };
}

export function isThere(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch {
    return true;
  }
}

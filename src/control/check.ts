/**
 * The one check before every move. Lock-free: a handful of `lstat` calls, a guarded read only of what changed. The file
 * wins over memory, memory wins over "cannot read", and whatever is unclear holds: only a clear read that found nothing
 * lets a move go on.
 */
import { lstatSync } from "node:fs";
import type { Failure } from "../core/result.ts";
import { fileFailure } from "../platform/errno.ts";
import { CachedFile, type Reading } from "./cached-file.ts";
import {
  type ControlFolder,
  floorPath,
  isSameFolder,
  latchPath,
  markerPath,
  recordPath,
  stopAllPath,
} from "./folder.ts";
import { type Floor, type Latch, parseFloor, parseLatch } from "./latch.ts";
import { type ControlRecord, parseRecord } from "./record.ts";
import type { SharedFolder } from "./shared-folder.ts";
import type { SharedSetting } from "./shared-setting.ts";
import { isStanding } from "./states.ts";

export type StopSource = "latch" | "identity" | "stop-all" | "marker" | "shared-folder" | "memory" | "folder";

/** A refusal of contention: nothing new begins, nothing is released, what comes in is still recorded. */
export interface StopHeld {
  clear: false;
  stage: "stop";
  contention: true;
  /** `unclear`: something could not be read or looks tampered with, which is never taken for "no stop". */
  reason: "stop" | "pause" | "unclear";
  source: StopSource;
  /** The epoch of the stop, as far as it is known. */
  epoch: number;
  how: "now" | "after-call";
  cause: string;
  message: string;
  remedy: string;
  /** When it was asked for (ISO), where that is known. */
  at?: string;
  text?: string;
}

/** `epoch` is the fencing epoch to remember with what now begins: compare it again after every await. */
export interface StopClear {
  clear: true;
  epoch: number;
}

export type StopCheck = StopClear | StopHeld;

/** A stop that this process knows of and that is not on the disk (yet). */
export interface PendingLatch {
  epoch: number;
  verb: "stop" | "pause";
  how: "now" | "after-call";
  cause: string;
  reason: string;
  at: string;
}

/** What a run saw of the shared folder when it began; a change of any of it holds the run. */
export interface SharedPin {
  folder: SharedFolder;
  setting: SharedSetting;
}

/** The shared folder's part of the check; it answers `undefined` when nothing stands there. */
export type SharedCheck = (pin?: SharedPin) => StopHeld | undefined;

const RESUME = "A person lifts it at a terminal: pi-claude-supervisor-control --all resume --epoch N --reason T.";

export class StopChecker {
  readonly #folder: ControlFolder;
  readonly #latch: CachedFile<Latch>;
  readonly #floor: CachedFile<Floor>;
  readonly #records = new Map<string, CachedFile<ControlRecord>>();
  /** Enrolled identities, with what their runs keep of the shared folder. */
  readonly #known = new Map<string, SharedPin | undefined>();
  /** Stops in memory alone, by identity, or under `--all`. */
  readonly pending = new Map<string, PendingLatch>();
  readonly #shared: SharedCheck | undefined;
  #highest = 0;

  constructor(folder: ControlFolder, shared?: SharedCheck) {
    this.#folder = folder;
    this.#shared = shared;
    const { ownership } = folder;
    this.#latch = new CachedFile(latchPath(folder), ownership, (bytes) => {
      const parsed = parseLatch(bytes);
      return parsed.ok ? { ok: true, value: parsed.latch } : parsed;
    });
    this.#floor = new CachedFile(floorPath(folder), ownership, (bytes) => {
      const parsed = parseFloor(bytes);
      return parsed.ok ? { ok: true, value: parsed.floor } : parsed;
    });
  }

  /** The identity's record has been written by us: from now on a missing one is a fault. */
  know(identity: string, pin?: SharedPin): void {
    this.#known.set(identity, pin);
  }

  /** The identity is nobody's any more; its files are not watched further. */
  forget(identity: string): void {
    this.#known.delete(identity);
    this.#records.delete(identity);
    this.pending.delete(identity);
  }

  /** Of the account, or with `identity` of one task as well. Never throws; 10 to 30 microseconds. */
  check(identity?: string): StopCheck {
    if (!isSameFolder(this.#folder)) {
      return held("unclear", "folder", this.#highest, {
        message: `The control folder ${this.#folder.path} is gone or was replaced, so nobody can tell whether a stop stands.`,
        remedy: "Put it back; until then everything holds.",
      });
    }
    const floor = this.#floor.read();
    const latch = this.#latch.read();
    const stopped = latch.state === "read" && latch.value.state === "stopped" ? heldByLatch(latch.value) : undefined;
    const pin = identity === undefined ? undefined : this.#known.get(identity);
    const account =
      stopped ?? this.#stopAll() ?? this.#memory("--all", latch) ?? this.#account(latch, floor) ?? this.#shared?.(pin);
    if (account !== undefined) return account;
    let epoch = latch.state === "read" ? latch.value.epoch : 0;
    if (identity !== undefined) {
      const record = this.#recordOf(identity).read();
      const isStopped = record.state === "read" && record.value.desired === "stopped" && isStanding(record.value);
      const own = isStopped
        ? heldByRecord(record.value)
        : (this.#marker(identity) ?? this.#memory(identity, record) ?? this.#identity(identity, record, floor));
      if (own !== undefined) return own;
      if (record.state === "read") epoch = Math.max(epoch, record.value.epoch);
    }
    this.#highest = Math.max(this.#highest, epoch, floor.state === "read" ? floor.value.epoch : 0);
    return { clear: true, epoch };
  }

  readLatch(): Reading<Latch> {
    return this.#latch.read();
  }

  readFloor(): Reading<Floor> {
    return this.#floor.read();
  }

  readRecord(identity: string): Reading<ControlRecord> {
    return this.#recordOf(identity).read();
  }

  #recordOf(identity: string): CachedFile<ControlRecord> {
    let file = this.#records.get(identity);
    if (file === undefined) {
      file = new CachedFile(recordPath(this.#folder, identity), this.#folder.ownership, (bytes) => {
        const parsed = parseRecord(bytes, identity);
        return parsed.ok ? { ok: true, value: parsed.record } : parsed;
      });
      this.#records.set(identity, file);
    }
    return file;
  }

  /** Its presence is the stop; who made it is judged, what is in it is not looked at. */
  #stopAll(): StopHeld | undefined {
    return this.#presence(stopAllPath(this.#folder), "stop-all");
  }

  #marker(identity: string): StopHeld | undefined {
    return this.#presence(markerPath(this.#folder, identity), "marker");
  }

  #presence(path: string, source: "stop-all" | "marker"): StopHeld | undefined {
    const { ownership } = this.#folder;
    let at: string;
    try {
      const stats = lstatSync(path, { throwIfNoEntry: false });
      if (stats === undefined) return undefined;
      const owner = ownership.ownerOf(path, stats);
      if (!stats.isFile() || (owner !== ownership.uid && owner !== 0)) {
        return held("unclear", source, this.#highest, {
          message: `${path} is no file of this account, so it is held as a stop.`,
          remedy: "Look at it and move it away.",
        });
      }
      at = stats.mtime.toISOString();
    } catch (error) {
      return this.#unclear(source, fileFailure("look at", path, error));
    }
    return held("stop", source, this.#highest, {
      message: `The file ${path} stops ${source === "stop-all" ? "everything of this account" : "this task"}.`,
      remedy: RESUME,
      cause: "stop-all-file",
      at,
    });
  }

  /** A stop that could not be written yet holds until the file has caught up with it. */
  #memory(key: string, file: Reading<{ epoch: number }>): StopHeld | undefined {
    const known = this.pending.get(key);
    if (known === undefined) return undefined;
    if (file.state === "read" && file.value.epoch >= known.epoch) {
      this.pending.delete(key);
      return undefined;
    }
    return held(known.verb, "memory", known.epoch, {
      message: `A ${known.verb} was asked for and could not be written down yet: ${known.reason}`,
      remedy: RESUME,
      how: known.how,
      cause: known.cause,
      at: known.at,
      text: known.reason,
    });
  }

  #account(latch: Reading<Latch>, floor: Reading<Floor>): StopHeld | undefined {
    if (latch.state === "unclear") return this.#unclear("latch", latch.fault);
    if (latch.state === "read" && latch.value.state !== "clear") return heldByLatch(latch.value);
    if (floor.state === "unclear") return this.#unclear("latch", floor.fault);
    const epoch = latch.state === "read" ? latch.value.epoch : 0;
    if (floor.state === "absent") {
      const expected = Math.max(epoch, this.#highest);
      return expected === 0 ? undefined : this.#tampered("latch", "the file epoch-floor is missing");
    }
    if (epoch < floor.value.latch) {
      const what = latch.state === "absent" ? "latch.json is missing" : `latch.json is an old one (epoch ${epoch})`;
      return this.#tampered("latch", `${what}, but epoch ${floor.value.latch} was given out for it`);
    }
    return floor.value.epoch < this.#highest
      ? this.#tampered("latch", `the file epoch-floor went back from ${this.#highest} to ${floor.value.epoch}`)
      : undefined;
  }

  #identity(identity: string, record: Reading<ControlRecord>, floor: Reading<Floor>): StopHeld | undefined {
    if (record.state === "unclear") return this.#unclear("identity", record.fault);
    const standing = floor.state === "read" ? (floor.value.standing[identity] ?? 0) : 0;
    if (record.state === "absent") {
      const isExpected = standing > 0 || this.#known.has(identity);
      return isExpected ? this.#tampered("identity", `the record of ${identity} is missing`) : undefined;
    }
    if (isStanding(record.value)) return heldByRecord(record.value);
    return record.value.epoch < standing
      ? this.#tampered("identity", `the record of ${identity} is an old one (epoch ${record.value.epoch})`)
      : undefined;
  }

  #unclear(source: StopSource, fault: Failure): StopHeld {
    return held("unclear", source, this.#highest, {
      message: `It cannot be told whether a stop stands: ${fault.message}`,
      remedy: "Clear that up; until then everything holds.",
    });
  }

  #tampered(source: StopSource, why: string): StopHeld {
    return held("unclear", source, this.#highest, {
      message: `The stop's files don't fit together: ${why}.`,
      remedy: `Look at ${this.#folder.path}, then resume at a terminal.`,
    });
  }
}

function heldByLatch(latch: Latch): StopHeld {
  const verb = latch.state === "paused" ? "pause" : "stop";
  return held(verb, "latch", latch.epoch, {
    message: `An emergency ${verb} of everything is in force since ${latch.requestedAt ?? "an unknown time"}: ${latch.reason ?? "no reason given"}`,
    remedy: RESUME,
    how: latch.how,
    cause: latch.cause,
    ...(latch.requestedAt === undefined ? {} : { at: latch.requestedAt }),
    ...(latch.reason === undefined ? {} : { text: latch.reason }),
  });
}

function heldByRecord(record: ControlRecord): StopHeld {
  const verb = record.desired === "paused" ? "pause" : "stop";
  return held(verb, "identity", record.epoch, {
    message: `An emergency ${verb} of ${record.identity} is in force (${record.state}) since ${record.requestedAt ?? "an unknown time"}: ${record.reason ?? "no reason given"}`,
    remedy: `A person lifts it at a terminal: pi-claude-supervisor-control ${record.identity} resume --epoch ${record.epoch} --reason T.`,
    how: record.how,
    cause: record.cause,
    ...(record.requestedAt === undefined ? {} : { at: record.requestedAt }),
    ...(record.reason === undefined ? {} : { text: record.reason }),
  });
}

export function held(
  reason: StopHeld["reason"],
  source: StopSource,
  epoch: number,
  rest: { message: string; remedy: string; how?: StopHeld["how"]; cause?: string; at?: string; text?: string },
): StopHeld {
  const { how = "now", cause = source, ...texts } = rest;
  return { clear: false, stage: "stop", contention: true, reason, source, epoch, how, cause, ...texts };
}

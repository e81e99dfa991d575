/**
 * The stop that reaches several accounts: a file of the person in a folder that nobody else can take it from. It is the
 * one input that comes from another account, so it means nothing but "stop": who and when are the descriptor's owner
 * and time, and its content is never read.
 */
import { closeSync, constants, lstatSync, openSync } from "node:fs";
import { type Failure, failure, type Result } from "../core/result.ts";
import { type AccountLookup, currentAccount, type Ownership, systemOwnership } from "../platform/account.ts";
import { errnoOf, fileFailure } from "../platform/errno.ts";
import { judgeDescriptor } from "../platform/no-follow.ts";
import { held, type SharedCheck, type SharedPin, type StopHeld } from "./check.ts";
import { judgeSharedFolder } from "./shared-folder.ts";
import { homeStopOf, PLATFORM_SHARED, stopFileOf, stopFolderOf } from "./shared-names.ts";
import { SettingReader, type SharedSetting } from "./shared-setting.ts";

/** Bytes; more is no stop file of ours. */
export const MOST_STOP_BYTES = 4096;

export type StopFile =
  | { state: "none" }
  | { state: "stop"; at: string; uid: number }
  | { state: "unclear"; fault: Failure };

/** Opens once, without following a link or waiting for a FIFO, and judges that descriptor. Nothing is read from it. */
export function readStopFile(path: string, person: number, ownership: Ownership): StopFile {
  let fd: number;
  try {
    // Spares the open in the usual case; what counts is the descriptor.
    if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return { state: "none" };
    fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return { state: "none" };
    return { state: "unclear", fault: fileFailure("open", path, error) };
  }
  try {
    const judged = judgeDescriptor(fd, path, {
      owners: [person],
      forbiddenMode: 0o022,
      maxBytes: MOST_STOP_BYTES,
      ownership,
    });
    if (!judged.ok) return { state: "unclear", fault: judged };
    return { state: "stop", at: judged.stats.mtime.toISOString(), uid: person };
  } finally {
    closeSync(fd);
  }
}

export interface SharedStopOptions {
  account?: AccountLookup;
  ownership?: Ownership;
  /** Looked at without any setting. Default: /var/tmp, on macOS /Users/Shared. */
  platformFolder?: string;
}

/**
 * Looks at three places: the folder of the beginning, the one that the setting names now, and the platform's own
 * (there for this account, the setting's person and the pinned person alone). Also the home latch of this account.
 */
export class SharedStop {
  readonly #ownership: Ownership;
  readonly #platformFolder: string;
  readonly #reader: SettingReader;

  constructor(options: SharedStopOptions = {}) {
    this.#ownership = options.ownership ?? systemOwnership;
    this.#platformFolder = options.platformFolder ?? PLATFORM_SHARED;
    const lookup = options.account ?? currentAccount;
    let known: ReturnType<AccountLookup> | undefined;
    this.#reader = new SettingReader(() => {
      // A found home is kept; a failed look-up is tried again.
      if (known?.ok !== true) known = lookup();
      return known;
    }, this.#ownership);
  }

  /**
   * Judges what the setting names, for a run that begins and keeps the answer. Without a setting there is nothing to
   * keep. Reasons: those of `judgeSharedFolder`, `squatted` where the person's directory is not the person's, `damaged`,
   * `no-account`.
   */
  begin(): Result<{ pin?: SharedPin }> {
    const reading = this.#reader.read();
    if (reading.state === "unclear") return reading.fault;
    if (reading.state === "absent") return { ok: true };
    const setting = reading.value;
    const judged = judgeSharedFolder(setting.folder, setting.person.uid, this.#ownership);
    if (!judged.ok) return judged;
    const claimed = judgeStopFolder(judged.folder.path, setting.person.uid, this.#ownership);
    if (!claimed.ok) return claimed;
    return { ok: true, pin: { folder: judged.folder, setting } };
  }

  /** `pin`: what the run kept. About 20 microseconds with a folder chosen. */
  readonly check: SharedCheck = (pin) => {
    const home = this.#reader.home();
    if (!home.ok) return unclear(home);
    const own = this.#stopAt(homeStopOf(home.home), this.#ownership.uid);
    if (own !== undefined) return own;
    const reading = this.#reader.read();
    if (reading.state === "unclear") return unclear(reading.fault);
    const setting = reading.state === "read" ? reading.value : undefined;
    // A stop counts before any doubt about the setting.
    const people = new Set([this.#ownership.uid]);
    const places: [string, number][] = [];
    for (const known of [pin?.setting, setting]) {
      if (known === undefined) continue;
      people.add(known.person.uid);
      places.push([known.folder, known.person.uid]);
    }
    for (const [folder, person] of places) {
      const stop = this.#inFolder(folder, person, pin);
      if (stop !== undefined) return stop;
    }
    for (const person of people) {
      if (places.some(([folder, uid]) => folder === this.#platformFolder && uid === person)) continue;
      const stop = this.#stopAt(stopFileOf(this.#platformFolder, person), person);
      if (stop !== undefined) return stop;
    }
    return pin === undefined ? undefined : changed(pin, setting);
  };

  #inFolder(folder: string, person: number, pin: SharedPin | undefined): StopHeld | undefined {
    const judged = judgeSharedFolder(folder, person, this.#ownership);
    if (!judged.ok) return unclear(judged);
    const isPinned = pin !== undefined && pin.setting.folder === folder;
    if (isPinned && judged.folder.identity !== pin.folder.identity) {
      return unclear(failure("replaced", `The shared folder ${folder} is another one than at the start. Put it back.`));
    }
    const claimed = judgeStopFolder(judged.folder.path, person, this.#ownership);
    if (!claimed.ok) return unclear(claimed);
    return this.#stopAt(stopFileOf(judged.folder.path, person), person);
  }

  #stopAt(path: string, person: number): StopHeld | undefined {
    const file = readStopFile(path, person, this.#ownership);
    if (file.state === "none") return undefined;
    if (file.state === "unclear") return unclear(file.fault);
    return held("stop", "shared-folder", 0, {
      message: `User ${person} stopped every opted-in account (${path}, since ${file.at}).`,
      remedy: "That person lifts it: pi-claude-supervisor-control shared-lift. Then recover each task.",
      how: "after-call",
      cause: "shared-folder",
      at: file.at,
    });
  }
}

/** The person's own directory; one that is missing (the person has not set it up) holds nothing. Reason `squatted`. */
export function judgeStopFolder(shared: string, person: number, ownership: Ownership): Result {
  const path = stopFolderOf(shared, person);
  try {
    const stats = lstatSync(path, { throwIfNoEntry: false });
    if (stats === undefined) return { ok: true };
    const isPersons = stats.isDirectory() && ownership.ownerOf(path, stats) === person;
    if (isPersons && (stats.mode & 0o022) === 0) return { ok: true };
    return failure(
      "squatted",
      `${path} is not a folder that user ${person} alone can write. Remove it, then set up again.`,
    );
  } catch (error) {
    return fileFailure("look at", path, error);
  }
}

function changed(pin: SharedPin, now: SharedSetting | undefined): StopHeld | undefined {
  if (now !== undefined && now.folder === pin.setting.folder && now.person.uid === pin.setting.person.uid) {
    return undefined;
  }
  const what = now === undefined ? "is gone" : "names another folder or person";
  return unclear(
    failure(
      "setting-changed",
      `The setting shared-folder.json ${what} since this run began. Put it back, or start anew.`,
    ),
  );
}

function unclear(fault: Failure): StopHeld {
  return held("unclear", "shared-folder", 0, {
    message: `It cannot be told whether the shared stop stands: ${fault.message}`,
    remedy: "Clear that up; until then everything holds.",
  });
}

/** The person's acts on the shared stop. Whoever calls these has checked that a person does. */
import { closeSync, constants, lstatSync, mkdirSync, openSync, unlinkSync, writeSync } from "node:fs";
import { join } from "node:path";
import { failure, type Result } from "../core/result.ts";
import type { Account, Ownership } from "../platform/account.ts";
import { syncFolder } from "../platform/durable-write.ts";
import { fileFailure } from "../platform/errno.ts";
import { isLockHeld, waitForFileLock } from "../platform/file-lock.ts";
import { openNoFollow } from "../platform/no-follow.ts";
import { openPrivateDir } from "../platform/private-dir.ts";
import { holderNote } from "./files.ts";
import { judgeSharedFolder } from "./shared-folder.ts";
import { configFolderOf, digestFolderOf, homeStopOf, liftLogOf, stopFileOf, stopFolderOf } from "./shared-names.ts";
import { SettingReader, type SharedSetting, writeSetting } from "./shared-setting.ts";
import { judgeStopFolder, readStopFile } from "./shared-stop.ts";

export interface ActContext {
  account: Account;
  ownership: Ownership;
  now: () => Date;
}

/**
 * Opts this account in. In the person's own account it also makes the directory that the stop lives in, so that nobody
 * else can take its name. Reasons: those of `judgeSharedFolder`, `squatted`, `stop-in-force`, `lock-held`.
 */
export async function setSharedFolder(
  wanted: { folder: string; person: { uid: number; name: string } },
  context: ActContext,
): Promise<Result<{ setting: SharedSetting; madeStopFolder: boolean }>> {
  const { account, ownership } = context;
  return alone(context, () => {
    const judged = judgeSharedFolder(wanted.folder, wanted.person.uid, ownership);
    if (!judged.ok) return judged;
    const standing = standingStop(context);
    if (!standing.ok) return standing;
    const setting = { folder: judged.folder.path, person: wanted.person };
    let madeStopFolder = false;
    if (wanted.person.uid === ownership.uid) {
      const made = claim(judged.folder.path, ownership);
      if (!made.ok) return made;
      madeStopFolder = true;
    } else {
      const claimed = judgeStopFolder(judged.folder.path, wanted.person.uid, ownership);
      if (!claimed.ok) return claimed;
    }
    const written = writeSetting(account.home, setting, ownership);
    return written.ok ? { ok: true, setting, madeStopFolder } : written;
  });
}

/** What was set, and how far it reaches. */
export interface SharedSet {
  path: string;
  reach: "every opted-in account" | "this account";
  already: boolean;
}

/** Reasons: `not-the-person`, `squatted`, and why something else stands at the place. Nothing was set then. */
export async function setSharedStop(context: ActContext): Promise<Result<SharedSet>> {
  return alone(context, () => {
    const place = placeOf(context);
    if (!place.ok) return place;
    const { path, folder, reach } = place;
    const present = readStopFile(path, context.ownership.uid, context.ownership);
    if (present.state === "unclear") return present.fault;
    if (present.state === "stop") return { ok: true, path, reach, already: true };
    try {
      const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
      // Other accounts open it for reading to see whose it is.
      closeSync(openSync(path, flags, reach === "this account" ? 0o600 : 0o644));
    } catch (error) {
      return fileFailure("set the stop", path, error);
    }
    const synced = syncFolder(folder);
    return synced.ok ? { ok: true, path, reach, already: false } : synced;
  });
}

/** Removes the stop and writes one line to the lift log. Reason `not-in-force` where none stands. */
export async function liftSharedStop(context: ActContext): Promise<Result<{ lifted: string[] }>> {
  return alone(context, () => {
    const place = placeOf(context);
    if (!place.ok) return place;
    const paths = new Set([place.path, homeStopOf(context.account.home)]);
    const lifted: string[] = [];
    for (const path of paths) {
      const file = readStopFile(path, context.ownership.uid, context.ownership);
      if (file.state === "unclear") return file.fault;
      if (file.state === "none") continue;
      try {
        unlinkSync(path);
      } catch (error) {
        return fileFailure("lift the stop", path, error);
      }
      lifted.push(path);
      // The lift stands whatever becomes of its line.
      appendLine(liftLogOf(context.account.home), {
        at: context.now().toISOString(),
        act: "lift",
        path,
        setAt: file.at,
        uid: context.ownership.uid,
      });
    }
    if (lifted.length === 0) return failure("not-in-force", "No shared stop of yours stands. Nothing changed.");
    return { ok: true, lifted };
  });
}

/** The setting as it is now; `undefined` when this account has not opted in. */
export function readSetting(context: ActContext): Result<{ setting?: SharedSetting }> {
  const reader = new SettingReader(() => ({ ok: true, account: context.account }), context.ownership);
  const reading = reader.read();
  if (reading.state === "unclear") return reading.fault;
  return reading.state === "read" ? { ok: true, setting: reading.value } : { ok: true };
}

function placeOf(context: ActContext): Result<{ path: string; folder: string; reach: SharedSet["reach"] }> {
  const read = readSetting(context);
  if (!read.ok) return read;
  const { setting } = read;
  const { ownership, account } = context;
  if (setting === undefined) {
    return { ok: true, path: homeStopOf(account.home), folder: configFolderOf(account.home), reach: "this account" };
  }
  if (setting.person.uid !== ownership.uid) {
    return failure(
      "not-the-person",
      `The stop in ${setting.folder} is ${setting.person.name}'s. Do it from that account; for this one alone: --all stop.`,
    );
  }
  const judged = judgeSharedFolder(setting.folder, setting.person.uid, ownership);
  if (!judged.ok) return judged;
  const claimed = claim(judged.folder.path, ownership);
  if (!claimed.ok) return claimed;
  const { path } = judged.folder;
  return {
    ok: true,
    path: stopFileOf(path, ownership.uid),
    folder: stopFolderOf(path, ownership.uid),
    reach: "every opted-in account",
  };
}

/** Makes the person's directory (0755: others must see into it), and the one for the pages (sticky, for all). */
function claim(shared: string, ownership: Ownership): Result {
  const stops = makeFolder(stopFolderOf(shared, ownership.uid), 0o755);
  if (!stops.ok) return stops;
  const pages = makeFolder(digestFolderOf(shared), 0o1777);
  if (!pages.ok) return pages;
  return judgeStopFolder(shared, ownership.uid, ownership);
}

function makeFolder(path: string, mode: number): Result {
  const before = process.umask(0);
  try {
    if (lstatSync(path, { throwIfNoEntry: false }) === undefined) mkdirSync(path, { mode });
    return { ok: true };
  } catch (error) {
    return fileFailure("make the folder", path, error);
  } finally {
    process.umask(before);
  }
}

function standingStop(context: ActContext): Result {
  const read = readSetting(context);
  // A damaged setting is what setting it up again is for.
  if (!read.ok || read.setting === undefined) return { ok: true };
  const { folder, person } = read.setting;
  const file = readStopFile(stopFileOf(folder, person.uid), person.uid, context.ownership);
  if (file.state === "none") return { ok: true };
  return failure("stop-in-force", `A stop stands in ${folder}. Lift it first, then choose another folder.`);
}

async function alone<T extends object>(context: ActContext, act: () => Result<T>): Promise<Result<T>> {
  const { account, ownership } = context;
  const folder = openPrivateDir(configFolderOf(account.home), { what: "settings folder", ownership });
  if (!folder.ok) return folder;
  const taken = await waitForFileLock(join(folder.dir.path, "lock"), {
    info: holderNote(),
    what: "settings folder",
    ownership,
    waitMs: 3000,
  });
  if (!taken.ok) return isLockHeld(taken) ? failure("lock-held", taken.message) : taken;
  try {
    return act();
  } finally {
    taken.lock.release();
  }
}

/** One write of one line to a private file that is ours, or none. */
function appendLine(path: string, line: object): Result {
  try {
    closeSync(
      openSync(path, constants.O_WRONLY | constants.O_CREAT | constants.O_NOFOLLOW | constants.O_NONBLOCK, 0o600),
    );
  } catch (error) {
    return fileFailure("write", path, error);
  }
  const opened = openNoFollow(path, { write: true });
  if (!opened.ok) return opened;
  try {
    const bytes = Buffer.from(`${JSON.stringify(line)}\n`);
    writeSync(opened.fd, bytes, 0, bytes.length, opened.stats.size);
    return { ok: true };
  } catch (error) {
    return fileFailure("write", path, error);
  } finally {
    closeSync(opened.fd);
  }
}

/**
 * Who we are, from the account database and never from `$HOME`: a shell, cron and ssh must find the same state folder
 * (`os.userInfo()` is getpwuid on Linux and macOS; `os.homedir()` would believe the variable. Node 20).
 */
import { readFileSync } from "node:fs";
import { userInfo } from "node:os";
import { isAbsolute } from "node:path";
import { failure, type Result } from "../core/result.ts";

export interface Account {
  uid: number;
  gid: number;
  name: string;
  /** Absolute. */
  home: string;
}

export type AccountLookup = () => Result<{ account: Account }>;

/** Fails with `no-account` where the uid has no entry or no home folder (bare containers). */
export const currentAccount: AccountLookup = () => {
  let info: { uid: number; gid: number; username: string; homedir: string | null };
  try {
    info = userInfo();
  } catch (error) {
    const detail = error instanceof Error ? error.message : String(error);
    return failure(
      "no-account",
      `The account database has no entry for this user (${detail}). Add one, or set PI_CLAUDE_SUPERVISOR_STATE_DIR.`,
    );
  }
  if (info.homedir === null || !isAbsolute(info.homedir)) {
    return failure(
      "no-account",
      `The account ${info.username} has no home folder in the account database. Set PI_CLAUDE_SUPERVISOR_STATE_DIR.`,
    );
  }
  return { ok: true, account: { uid: info.uid, gid: info.gid, name: info.username, home: info.homedir } };
};

/** What owner checks ask of the system; tests hand in another one, because as root every real owner is us. */
export interface Ownership {
  /** Our effective uid. */
  readonly uid: number;
  /** The owner of a file that was looked at. */
  ownerOf(path: string, stats: { uid: number }): number;
  /** Whether the group has no member but us, so that its write permission is ours alone. */
  isPrivateGroup(gid: number): boolean;
  /** Whether files of this owner are the system's. Default: uid 0. */
  isSystem?(uid: number): boolean;
}

export const systemOwnership: Ownership = {
  uid: process.geteuid?.() ?? -1,
  ownerOf: (_path, stats) => stats.uid,
  isPrivateGroup: (gid) => {
    const found = currentAccount();
    return found.ok && isPrivateGroupOf(found.account, gid, readSystem("/etc/group"));
  },
  isSystem: (uid) =>
    uid === 0 || isUnmapped(uid, readSystem("/proc/self/uid_map"), readSystem("/proc/sys/kernel/overflowuid")),
};

/**
 * A user-private group by the Linux convention: the account's own, named like it, with no other member in `/etc/group`.
 * Groups of a directory service and macOS's shared `staff` are not.
 */
export function isPrivateGroupOf(account: Account, gid: number, groups: string): boolean {
  if (account.gid !== gid) return false;
  const lines = groups.split("\n").map((line) => line.split(":"));
  const found = lines.filter(([, , id]) => id === String(gid));
  return (
    found.length === 1 &&
    found.every(([name, , , members = ""]) => {
      return name === account.name && members.split(",").every((member) => member === "" || member === account.name);
    })
  );
}

/**
 * In a user namespace that does not map root (rootless containers, Flatpak) everything of the system shows as owned by
 * the overflow uid; `uidMap` and `overflow` are the texts of the two /proc files.
 */
export function isUnmapped(uid: number, uidMap: string, overflow: string): boolean {
  if (overflow === "" || uid !== Number(overflow)) return false;
  const ranges = uidMap
    .split("\n")
    .map((line) => line.trim().split(/\s+/).map(Number))
    .filter((range) => range.length === 3);
  const maps = (id: number): boolean => ranges.some(([from = 0, , count = 0]) => id >= from && id < from + count);
  return ranges.length > 0 && !maps(uid) && !maps(0);
}

function readSystem(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

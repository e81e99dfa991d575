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
}

export const systemOwnership: Ownership = {
  uid: process.geteuid?.() ?? -1,
  ownerOf: (_path, stats) => stats.uid,
  isPrivateGroup: (gid) => isPrivateGroup(gid),
};

/**
 * A user-private group by the Linux convention: named like the account, listed in `/etc/group` with no other member.
 * Groups of a directory service and macOS's shared `staff` are not.
 */
function isPrivateGroup(gid: number): boolean {
  const found = currentAccount();
  if (!found.ok || found.account.gid !== gid) return false;
  let groups: string;
  try {
    groups = readFileSync("/etc/group", "utf8");
  } catch {
    return false;
  }
  for (const line of groups.split("\n")) {
    const [name, , id, members = ""] = line.split(":");
    if (Number(id) !== gid || id === "") continue;
    return name === found.account.name && members.split(",").every((m) => m === "" || m === found.account.name);
  }
  return false;
}

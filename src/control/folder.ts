/**
 * The emergency stop's own folder and the names in it:
 *
 *     <control dir>/{latch.json,epoch-floor,STOP-ALL,last-drill.json,control.lock}
 *     <control dir>/<identity>.{json,lock,stop}
 *     <socket dir>/<instance>.sock
 *
 * 0700 and ours alone, outside of every workspace, no link on the way that somebody else could swap.
 */
import { lstatSync, readdirSync } from "node:fs";
import { isAbsolute, join, normalize } from "node:path";
import { failure, type Result } from "../core/result.ts";
import { type AccountLookup, type Ownership, systemOwnership } from "../platform/account.ts";
import { fileFailure } from "../platform/errno.ts";
import { overlapOf } from "../platform/paths.ts";
import { openPrivateDir } from "../platform/private-dir.ts";
import { stateDirPath } from "../platform/state-dir.ts";
import { checkIdentity } from "./identity.ts";

export const CONTROL_DIR_VARIABLE = "PI_CLAUDE_SUPERVISOR_CONTROL_DIR";
export const CONTROL_DIR_ALIAS = "PI_CLAUDE_SUPERVISOR_CONTROL_STATE_DIR";
export const SOCKET_DIR_VARIABLE = "PI_CLAUDE_SUPERVISOR_CONTROL_SOCKET_DIR";

export type Env = Readonly<Record<string, string | undefined>>;

export interface ControlFolder {
  /** Trusted links resolved. */
  readonly path: string;
  /** Device and inode at the time of opening: another one later means that somebody swapped it. */
  readonly identity: string;
  /** Where sockets lie; made on first use. */
  readonly socketDir: string;
  readonly ownership: Ownership;
}

export interface ControlFolderOptions {
  /** Default: `process.env`. */
  env?: Env;
  account?: AccountLookup;
  ownership?: Ownership;
  /** Default true. With false (status) a missing folder is `missing` and nothing is written. */
  create?: boolean;
}

/** Where control folder and sockets are meant to be. Reason `control-dir` where the variables are wrong or disagree. */
export function controlPaths(options: ControlFolderOptions = {}): Result<{ control: string; sockets: string }> {
  const env = options.env ?? process.env;
  const main = env[CONTROL_DIR_VARIABLE] ?? "";
  const alias = env[CONTROL_DIR_ALIAS] ?? "";
  if (main !== "" && alias !== "" && main !== alias) {
    return failure(
      "control-dir",
      `${CONTROL_DIR_VARIABLE} and ${CONTROL_DIR_ALIAS} name different folders. Unset one of them.`,
    );
  }
  let control = main || alias;
  if (control === "") {
    const state = stateDirPath({ env, ...(options.account ? { account: options.account } : {}) });
    if (!state.ok) return state;
    control = join(state.path, "control");
  }
  const sockets = env[SOCKET_DIR_VARIABLE] || control;
  for (const path of [control, sockets]) {
    if (!isAbsolute(path) || path.includes("\0")) {
      return failure("control-dir", `The control folder ${JSON.stringify(path)} is not an absolute path. Change it.`);
    }
  }
  return { ok: true, control: normalize(control), sockets: normalize(sockets) };
}

/** Makes or judges the folder. Reasons: those of `controlPaths` and `openPrivateDir`. */
export function openControlFolder(options: ControlFolderOptions = {}): Result<{ folder: ControlFolder }> {
  const paths = controlPaths(options);
  if (!paths.ok) return paths;
  const ownership = options.ownership ?? systemOwnership;
  const opened = openPrivateDir(paths.control, { create: options.create ?? true, what: "control folder", ownership });
  if (!opened.ok) return opened;
  const { path, identity } = opened.dir;
  const socketDir = paths.sockets === paths.control ? path : paths.sockets;
  return { ok: true, folder: { path, identity, socketDir, ownership } };
}

/** Refuses a workspace that holds the control or socket folder or lies in one. Reason `control-dir-in-workspace`. */
export function refuseWorkspace(folder: ControlFolder, workspace: string): Result {
  for (const path of new Set([folder.path, folder.socketDir])) {
    const found = overlapOf(path, workspace);
    if (!found.ok) return found;
    if (found.overlap !== "apart") {
      return failure(
        "control-dir-in-workspace",
        `The control folder ${path} and the workspace ${workspace} overlap. Set ${CONTROL_DIR_VARIABLE} to a folder outside of it, or start elsewhere.`,
      );
    }
  }
  return { ok: true };
}

/** Whether the folder is still the one that was opened. */
export function isSameFolder(folder: Pick<ControlFolder, "path" | "identity">): boolean {
  const stats = lstatSync(folder.path, { throwIfNoEntry: false });
  return stats?.isDirectory() === true && `${stats.dev}:${stats.ino}` === folder.identity;
}

export const latchPath = (folder: ControlFolder): string => join(folder.path, "latch.json");
export const floorPath = (folder: ControlFolder): string => join(folder.path, "epoch-floor");
/** Its mere presence stops everything of this account; who can't run any command can still `touch` it. */
export const stopAllPath = (folder: ControlFolder): string => `${folder.path}/STOP-ALL`;
/** A zero-byte file kept ready: on a full disk a rename still makes a stop of it. */
export const sparePath = (folder: ControlFolder): string => join(folder.path, ".stop-spare");
export const mutexPath = (folder: ControlFolder): string => join(folder.path, "control.lock");
export const drillPath = (folder: ControlFolder): string => join(folder.path, "last-drill.json");
export const recordPath = (folder: ControlFolder, identity: string): string => join(folder.path, `${identity}.json`);
export const instanceLockPath = (folder: ControlFolder, identity: string): string =>
  join(folder.path, `${identity}.lock`);
/** Stands for a stop of one identity where its record could not be written. */
export const markerPath = (folder: ControlFolder, identity: string): string => `${folder.path}/${identity}.stop`;

/** Every identity that has a record, sorted; other files are passed over. */
export function listIdentities(folder: ControlFolder): Result<{ identities: string[] }> {
  let names: string[];
  try {
    names = readdirSync(folder.path);
  } catch (error) {
    return fileFailure("list", folder.path, error);
  }
  const identities = names
    .filter((name) => name.endsWith(".json"))
    .map((name) => name.slice(0, -".json".length))
    .filter((name) => checkIdentity(name).ok);
  return { ok: true, identities: identities.sort() };
}

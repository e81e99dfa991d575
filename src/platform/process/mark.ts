/**
 * How a descendant is recognised after it changed its parent, session and group. Two things are inherited across fork,
 * exec, `setsid` and double forks:
 *
 * - an environment variable. Lost by `env -i`, and unreadable in a process that made itself undumpable (ssh-agent).
 * - the number in `RLIMIT_LOCKS`, a limit that Linux has not enforced since 2.4.25 (getrlimit(2)) but still carries along
 *   and shows to everyone in /proc/<pid>/limits. Lost only when a program sets that limit itself, as a PAM login does.
 *
 * A supervisor inside a supervised worker adds its own id to the variable and leaves the limit alone, so that the outer
 * one goes on recognising everything.
 */
import { randomBytes } from "node:crypto";
import { readProcFile } from "./proc-file.ts";

const NAME = "PI_CLAUDE_SUPERVISOR_TREE";
const MARKER = new RegExp(`^${NAME}=(?:[0-9a-f]{32}:){0,15}([0-9a-f]{32})$`);

export interface Mark {
  /** `NAME=value`, for the child's environment and the record. */
  marker: string;
  name: string;
  value: string;
  /** The id that is this tree's alone: the last one of the value. */
  id: string;
  /** Soft and hard RLIMIT_LOCKS of the tree: derived from the id, at least 2^52. */
  locks: number;
}

/** A fresh mark; `inherited` is the variable's value in our own environment. */
export function newMark(inherited: string | undefined = process.env[NAME]): Mark {
  const id = randomBytes(16).toString("hex");
  const nested = readMark(`${NAME}=${inherited ?? ""}:${id}`);
  return nested ?? markOf(id, id);
}

/** What helpers of ours must carry on, so that an outer supervisor finds them too. */
export function inheritedMark(): Record<string, string> {
  const value = process.env[NAME];
  return value === undefined ? {} : { [NAME]: value };
}

/** Are we inside a marked tree already? Its limit must stay as it is then. Also true when the limit can't be read. */
export function isLimitInherited(): boolean {
  const limits = readProcFile("/proc/self/limits");
  return limits.state !== "read" || (locksOf(limits.bytes) ?? 0) >= 2 ** 52;
}

/** Reads a recorded marker; `undefined` when it is not one of ours, as a marker that fits everything would be. */
export function readMark(marker: string): Mark | undefined {
  const id = MARKER.exec(marker)?.[1];
  return id === undefined ? undefined : markOf(id, marker.slice(NAME.length + 1));
}

/** Is the caller itself inside that tree? */
export function carriesMark(mark: Mark, value: string | undefined = process.env[NAME]): boolean {
  return value?.split(":").includes(mark.id) === true;
}

/** Does the live process `pid` carry the mark? Linux only. */
export function isMarked(pid: number, mark: Mark): boolean {
  const limits = readProcFile(`/proc/${pid}/limits`);
  if (limits.state === "gone") return false;
  if (limits.state === "read" && locksOf(limits.bytes) === mark.locks) return true;
  const environ = readProcFile(`/proc/${pid}/environ`);
  return environ.state === "read" && holdsId(environ.bytes, mark.id);
}

/** Is it in a command line that `ps` prints together with the environment? An id among the arguments is no mark. */
export function showsMark(command: string, mark: Mark): boolean {
  return command.includes(mark.id) && new RegExp(`\\b${NAME}=(?:[0-9a-f]{32}:)*${mark.id}\\b`).test(command);
}

/** Is the id in our variable of a NUL-separated environment? */
export function holdsId(environ: Buffer, id: string): boolean {
  // Almost every process is told by this one search.
  if (environ.indexOf(id, 0, "latin1") < 0) return false;
  return environ
    .toString("latin1")
    .split("\0")
    .some(
      (entry) =>
        entry.startsWith(`${NAME}=`) &&
        entry
          .slice(NAME.length + 1)
          .split(":")
          .includes(id),
    );
}

/** The soft limit of the line `Max file locks`, if it is a number. */
export function locksOf(limits: Buffer): number | undefined {
  const digits = /^Max file locks +(\d+)/m.exec(limits.toString("latin1"))?.[1];
  return digits === undefined ? undefined : Number(digits);
}

function markOf(id: string, value: string): Mark {
  const locks = 2 ** 52 + Number.parseInt(id.slice(0, 13), 16);
  return { marker: `${NAME}=${value}`, name: NAME, value, id, locks };
}

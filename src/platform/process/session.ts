/**
 * Finds the processes that work in a Claude session, whoever started them: Claude Code 2.1.268 keeps `--resume=ID` among
 * its arguments for as long as it lives. The words must be whole arguments, so that an editor or a search which has the
 * session's name in its arguments too is nobody's worker.
 */
import { readdirSync, statSync } from "node:fs";
import type { ProcessIdentity } from "../../core/contracts/worker.ts";
import { readPs } from "./darwin.ts";
import { identify, isProcessNumber } from "./identity.ts";
import { readProcFile } from "./proc-file.ts";

const FLAGS = ["--resume", "--session-id"];
const SESSION_ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Only such a text is looked for: nothing shorter is nobody else's. */
export function isSessionId(text: string): boolean {
  return SESSION_ID.test(text);
}

/**
 * Live processes of this account, without ourselves; a zombie has no arguments. `undefined` when the process table can't be
 * read: nothing is known then. Linux: about 15 microseconds a process of the machine, synchronous.
 */
export function processesInSession(sessionId: string): ProcessIdentity[] | undefined {
  if (!isSessionId(sessionId)) return [];
  if (process.platform === "darwin") return darwinProcesses(sessionId);
  let names: string[];
  try {
    names = readdirSync("/proc");
  } catch {
    return undefined;
  }
  const sought = Buffer.from(sessionId);
  return names.flatMap((name) => {
    const pid = Number(name);
    if (!isProcessNumber(pid) || pid === process.pid) return [];
    const args = readProcFile(`/proc/${pid}/cmdline`);
    if (args.state !== "read" || !args.bytes.includes(sought)) return [];
    const found = namesSession(args.bytes.toString("utf8").split("\0"), sessionId) && isOurs(pid) && identify(pid);
    return found ? [found] : [];
  });
}

/** Whether these arguments open that session. `-r` is Claude's own only after its name: `grep -r` has it too. */
export function namesSession(args: readonly string[], sessionId: string): boolean {
  const flags = /(?:^|\/)claude$/.test(args[0] ?? "") ? [...FLAGS, "-r"] : FLAGS;
  return args.some((word, at) =>
    flags.some((flag) => word === `${flag}=${sessionId}` || (word === flag && args[at + 1] === sessionId)),
  );
}

/** The owner of /proc/PID is the process's effective user (Linux 6), root where it may not be looked into. */
function isOurs(pid: number): boolean {
  try {
    return statSync(`/proc/${pid}`).uid === process.geteuid?.();
  } catch {
    return false;
  }
}

function darwinProcesses(sessionId: string): ProcessIdentity[] | undefined {
  const rows = readPs();
  return rows?.flatMap(({ pid, state, command }) => {
    if (pid === process.pid || state === "Z" || !namesSession(command.split(" "), sessionId)) return [];
    return identify(pid) ?? [];
  });
}

/** Finds a living process by a word in its arguments: Claude Code 2.1.268 keeps its session id there (it sets no title). */
import { readdirSync } from "node:fs";
import { commandOf } from "./command.ts";
import { readPs } from "./darwin.ts";
import { isProcessNumber } from "./identity.ts";
import { readProcFile } from "./proc-file.ts";

export interface NamedProcess {
  pid: number;
  /** Its arguments for people, at most 200 characters. Not redacted. */
  command: string;
}

const NONE: ReadonlySet<number> = new Set();

/**
 * The first process but ourselves, and but those of `except`, whose arguments hold `word`, which must be long enough to be nobody else's. Undefined
 * when there is none. A zombie has no arguments. Linux: about 15 microseconds a process of the machine, synchronous.
 */
export function processNaming(word: string, except = NONE): NamedProcess | undefined {
  if (process.platform === "darwin") {
    const row = readPs()?.find(
      ({ pid, command, state }) => pid !== process.pid && !except.has(pid) && state !== "Z" && command.includes(word),
    );
    return row && { pid: row.pid, command: commandOf(row.pid) };
  }
  const sought = Buffer.from(word);
  for (const name of readdirSync("/proc")) {
    const pid = Number(name);
    if (!isProcessNumber(pid) || pid === process.pid || except.has(pid)) continue;
    const args = readProcFile(`/proc/${pid}/cmdline`);
    if (args.state === "read" && args.bytes.includes(sought)) return { pid, command: commandOf(pid) };
  }
  return undefined;
}

/**
 * One process as /proc/<pid>/stat shows it (proc(5)). The second field is the program's own name in parentheses and may
 * hold spaces, newlines and parentheses, so everything is counted from the *last* `)`.
 */
import { readProcFile } from "./proc-file.ts";

export interface ProcessRow {
  pid: number;
  ppid: number;
  /** Process group. */
  group: number;
  /** Linux: session. macOS: the process group again, because `ps` prints no comparable session number there. */
  session: number;
  /** One letter: R, S, D, T, t, Z, X, I ... */
  state: string;
  /** Clock ticks from boot to start; on macOS the start time that `ps` prints. */
  startTicks: string;
}

/** `undefined` when the text is not a complete stat line. */
export function parseStat(text: string): ProcessRow | undefined {
  const open = text.indexOf("(");
  const close = text.lastIndexOf(")");
  if (open < 1 || close < open) return undefined;
  const pid = Number(text.slice(0, open).trim());
  const fields = text
    .slice(close + 1)
    .trim()
    .split(" ");
  const [state, ppid, group, session] = fields;
  const startTicks = fields[19];
  if (!Number.isSafeInteger(pid) || state === undefined || state.length !== 1) return undefined;
  if (startTicks === undefined || !/^\d+$/.test(startTicks)) return undefined;
  const row = { pid, ppid: Number(ppid), group: Number(group), session: Number(session), state, startTicks };
  return Number.isNaN(row.ppid + row.group + row.session) ? undefined : row;
}

export type StatRead = { state: "read"; row: ProcessRow } | { state: "gone" } | { state: "unreadable" };

export function readStat(pid: number): StatRead {
  const read = readProcFile(`/proc/${pid}/stat`);
  if (read.state !== "read") return read;
  const row = parseStat(read.bytes.toString("latin1"));
  return row === undefined ? { state: "unreadable" } : { state: "read", row };
}

/** A zombie or dead entry has ended and only waits to be reaped, which PID 1 of some containers never does. */
export function hasEnded(row: ProcessRow): boolean {
  return row.state === "Z" || row.state === "X" || row.state === "x";
}

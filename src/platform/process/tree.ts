/**
 * The census: every live process that belongs to a tree, found without help of the kernel. A process belongs when it is
 * the leader, carries the mark, was seen as a member before, has a member as its parent, or shares a member's session
 * (the leader leads its own session and nobody can join a foreign one).
 */
import { readdirSync } from "node:fs";
import type { ProcessIdentity } from "../../core/contracts/worker.ts";
import { readPs } from "./darwin.ts";
import { bootId, isProcessNumber } from "./identity.ts";
import { isMarked, type Mark, showsMark } from "./mark.ts";
import { hasEnded, type ProcessRow, readStat } from "./stat.ts";

export interface Census {
  members: ProcessRow[];
  /** False when the process table could not be read: an empty list proves nothing then. */
  complete: boolean;
}

export interface CensusQuery {
  leader: ProcessIdentity;
  mark: Mark;
  /** Members of earlier passes: still members, whatever became of their parents. */
  remembered?: readonly ProcessIdentity[];
}

/** One pass over the process table. Linux: 10 to 25 microseconds a process of the machine, synchronous. */
export function takeCensus(query: CensusQuery): Census {
  if (process.platform === "darwin") return darwinCensus(query);
  const rows = liveRows();
  if (rows === undefined) return { members: [], complete: false };
  return { members: membersOf(rows, query, (row) => isMarked(row.pid, query.mark)), complete: true };
}

/** The closure itself, on any table. Ourselves and init are never members. */
export function membersOf<Row extends ProcessRow>(
  rows: readonly Row[],
  query: Pick<CensusQuery, "leader" | "remembered">,
  marked: (row: Row) => boolean,
): Row[] {
  const known = new Set([query.leader, ...(query.remembered ?? [])].map(keyOf));
  // Whatever descends from the leader started after it; this spares reading most processes' limits and environment.
  // The times that macOS prints are no numbers, and nothing is younger than those.
  const first = Number(query.leader.startTicks);
  const elders = new Set(rows.filter((row) => Number(row.startTicks) < first).map((row) => row.pid));
  const ownSession = rows.find((row) => row.pid === process.pid)?.session;
  const candidates = rows.filter(
    (row) => isProcessNumber(row.pid) && row.pid !== process.pid && !elders.has(row.pid) && !hasEnded(row),
  );
  const pids = new Set<number>();
  const sessions = new Set<number>();
  const admit = (row: Row): void => {
    pids.add(row.pid);
    if (row.session > 1 && row.session !== ownSession && !elders.has(row.session)) sessions.add(row.session);
  };
  for (const row of candidates) if (known.has(keyOf(row))) admit(row);
  // Relatives first: each one found spares two file reads.
  closeOver(candidates, pids, sessions, admit);
  for (const row of candidates) if (!pids.has(row.pid) && marked(row)) admit(row);
  closeOver(candidates, pids, sessions, admit);
  return candidates.filter((row) => pids.has(row.pid));
}

export function identityOf(row: ProcessRow): ProcessIdentity {
  return { pid: row.pid, startTicks: row.startTicks, bootId: bootId() };
}

function closeOver<Row extends ProcessRow>(
  rows: readonly Row[],
  pids: ReadonlySet<number>,
  sessions: ReadonlySet<number>,
  admit: (row: Row) => void,
): void {
  let size = -1;
  while (size !== pids.size) {
    size = pids.size;
    for (const row of rows) {
      if (!pids.has(row.pid) && (pids.has(row.ppid) || sessions.has(row.session))) admit(row);
    }
  }
}

function keyOf(process: { pid: number; startTicks: string }): string {
  return `${process.pid} ${process.startTicks}`;
}

function liveRows(): ProcessRow[] | undefined {
  const self = readStat(process.pid);
  if (self.state !== "read") return undefined;
  let names: string[];
  try {
    names = readdirSync("/proc");
  } catch {
    return undefined; // for instance out of descriptors: then nothing is known
  }
  const rows: ProcessRow[] = [];
  for (const name of names) {
    const pid = Number(name);
    if (!isProcessNumber(pid)) continue;
    const read = readStat(pid);
    if (read.state === "read" && !hasEnded(read.row)) rows.push(read.row);
  }
  return rows;
}

function darwinCensus(query: CensusQuery): Census {
  const rows = readPs();
  if (rows === undefined) return { members: [], complete: false };
  return { members: membersOf(rows, query, (row) => showsMark(row.command, query.mark)), complete: true };
}

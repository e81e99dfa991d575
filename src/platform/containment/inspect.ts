/** Looks into a contained tree without touching it. */
import type { ContainmentRecord, ProcessIdentity, RemainingResource } from "../../core/contracts/worker.ts";
import { commandOf } from "../process/command.ts";
import { isOfEarlierBoot, isSameProcess } from "../process/identity.ts";
import { readMark } from "../process/mark.ts";
import { hasEnded, type ProcessRow, readStat } from "../process/stat.ts";
import { type Census, identityOf, takeCensus } from "../process/tree.ts";
import { cgroupPids, cgroupState } from "./cgroup.ts";
import { checkRecord } from "./record.ts";

export interface Leftover {
  identity: ProcessIdentity;
  /** State letter of /proc/<pid>/stat: R, S, D, T ... */
  state: string;
  /** Arguments, at most 200 characters, not redacted. */
  command: string;
}

/**
 * How many processes the tree has besides its leader; `undefined` when that can't be told, which must not be taken for
 * none. One look, a few milliseconds.
 */
export function countProcesses(record: ContainmentRecord): number | undefined {
  return membersBesideLeader(record)?.length;
}

/** The processes of the tree besides its leader; `undefined` when that can't be told. */
export function leftovers(record: ContainmentRecord): Leftover[] | undefined {
  return membersBesideLeader(record)?.map((row) => ({
    identity: identityOf(row),
    state: row.state,
    command: commandOf(row.pid),
  }));
}

/** Everything of the tree that is still there, the leader included; empty when all of it is gone. */
export function listRemaining(record: ContainmentRecord): RemainingResource[] {
  const checked = checkRecord(record);
  if (!checked.ok && checked.reason !== "inside-tree") {
    return [{ kind: "unknown", id: String(record.leader?.pid), detail: checked.message }];
  }
  return isOfEarlierBoot(record.leader) ? [] : remainingOf(record, []);
}

/** `listRemaining` for a record that was checked already. */
export function remainingOf(record: ContainmentRecord, remembered: readonly ProcessIdentity[]): RemainingResource[] {
  const { members, complete } = treeOf(record, remembered);
  const remaining: RemainingResource[] = members.map((row) => ({
    kind: "process",
    id: String(row.pid),
    detail: `${commandOf(row.pid)}${row.state === "D" ? " (in an uninterruptible system call, state D)" : ""}`,
  }));
  if (!complete) remaining.push({ kind: "unknown", id: "processes", detail: "The process table can't be read." });
  if (record.cgroup !== undefined) {
    const state = cgroupState(record.cgroup);
    if (state === "populated" && members.length === 0) {
      remaining.push({ kind: "cgroup", id: record.cgroup, detail: "It says populated, but shows no process." });
    } else if (state === "unknown") {
      remaining.push({ kind: "cgroup", id: record.cgroup, detail: "It can't be read." });
    }
  }
  return remaining;
}

/** The census of a record that was checked. */
export function censusOf(record: ContainmentRecord, remembered: readonly ProcessIdentity[]): Census {
  const mark = readMark(record.marker);
  if (mark === undefined) throw new Error(`Not a marker: ${record.marker}`);
  return takeCensus({ leader: record.leader, mark, remembered });
}

function membersBesideLeader(record: ContainmentRecord): ProcessRow[] | undefined {
  const checked = checkRecord(record);
  if (!checked.ok && checked.reason !== "inside-tree") return undefined;
  if (isOfEarlierBoot(record.leader)) return [];
  if (record.cgroup !== undefined && cgroupState(record.cgroup) === "unknown") return undefined;
  const { members, complete } = treeOf(record, []);
  if (!complete) return undefined;
  return members.filter((row) => !isSameProcess(identityOf(row), record.leader));
}

/** Members by census, and by cgroup where there is one. */
function treeOf(record: ContainmentRecord, remembered: readonly ProcessIdentity[]): Census {
  const census = censusOf(record, remembered);
  const known = new Set(census.members.map((row) => row.pid));
  const members = [...census.members];
  for (const pid of record.cgroup === undefined ? [] : cgroupPids(record.cgroup)) {
    const read = known.has(pid) ? undefined : readStat(pid);
    if (read?.state === "read" && !hasEnded(read.row)) members.push(read.row);
  }
  return { members, complete: census.complete };
}

/**
 * A record that comes from disk is checked before anything is killed by it: a damaged or forged one must not turn into
 * a signal for strangers, for init, or for ourselves.
 */
import type { ContainmentRecord, ProcessIdentity } from "../../core/contracts/worker.ts";
import { failure, type Result } from "../../core/result.ts";
import { isAlive, isProcessNumber } from "../process/identity.ts";
import { carriesMark, type Mark, readMark } from "../process/mark.ts";
import { maySignal } from "../process/signal.ts";
import { cgroupPids, isOurCgroup } from "./cgroup.ts";

export function checkRecord(record: ContainmentRecord): Result<{ mark: Mark }> {
  const mark = typeof record.marker === "string" ? readMark(record.marker) : undefined;
  if (mark === undefined) return refuse("its marker is not one of ours");
  if (!isIdentity(record.leader)) return refuse("its leader is no process identity");
  const { leader } = record;
  // A number that was recycled may be ours by now: then the leader is gone. Only if it *is* us, something is wrong.
  if (!isProcessNumber(leader.pid) || (!maySignal(leader.pid) && isAlive(leader))) {
    return refuse(`its leader is pid ${leader.pid}, which is never signalled (init, a group, or this very process)`);
  }
  if (record.kind === "cgroup" && record.cgroup === undefined) return refuse("it names no cgroup");
  if (record.cgroup !== undefined) {
    if (!isOurCgroup(record.cgroup)) return refuse(`its cgroup ${record.cgroup} is not one of ours`);
    if (!record.cgroup.endsWith(mark.id)) return refuse("its cgroup belongs to another tree");
  }
  if (carriesMark(mark) || (record.cgroup !== undefined && cgroupPids(record.cgroup).includes(process.pid))) {
    return failure("inside-tree", "This process is part of the tree that it should stop: stop it from outside.");
  }
  return { ok: true, mark };
}

function isIdentity(value: ProcessIdentity | undefined): boolean {
  return (
    typeof value === "object" &&
    Number.isSafeInteger(value.pid) &&
    typeof value.startTicks === "string" &&
    value.startTicks !== "" &&
    typeof value.bootId === "string"
  );
}

function refuse(why: string): Result<{ mark: Mark }> {
  return failure("bad-record", `The containment record can't be trusted, so nothing was signalled: ${why}.`);
}

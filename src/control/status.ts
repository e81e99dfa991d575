/** What `status` says. It reads only, works with no live controller, and never creates anything. */
import type { Result } from "../core/result.ts";
import { readGuarded } from "./cached-file.ts";
import { type SharedCheck, StopChecker, type StopHeld } from "./check.ts";
import { readSnapshot, type Snapshot, unknownIdentity } from "./files.ts";
import { type ControlFolder, drillPath, isSameFolder } from "./folder.ts";
import type { ControlRecord } from "./record.ts";
import { isOwnerAlive } from "./request.ts";
import { epochToName } from "./resume.ts";
import { ALL } from "./set-latch.ts";
import { isOrdinaryEnd, isStanding } from "./states.ts";
import { parseStrict } from "./strict-json.ts";

export interface RecordStatus extends Omit<ControlRecord, "extra" | "schema"> {
  inForce: boolean;
  /** Whether the process that drives it lives. */
  ownerAlive: boolean;
  /** Milliseconds since a request that its owner has not acknowledged. */
  unacknowledgedMs?: number;
}

export interface ControlStatus {
  inForce: boolean;
  /** The one to name for `resume` in this scope. */
  epoch: number;
  held?: StopHeld;
  records: RecordStatus[];
  /** Files that could not be read, and other things that a person should know. */
  faults: string[];
  lastDrill?: unknown;
}

/** What stop can and can't reach; printed by `status` and told in docs/emergency-stop.md. */
export const LIMITS: readonly string[] = [
  "Processes are found by cgroup where there is one, else by parentage, session, environment and an inherited limit; one that sheds all of these escapes.",
  "A trusted worker can do what this account can do, this command included; only a second account keeps agent and person apart.",
  "What was armed before the stop (an automatic merge, a remote job, a cron entry) is not withdrawn.",
];

/** Where there is no control folder yet: only the shared folder can hold anything. */
export function emptyStatus(shared?: SharedCheck): ControlStatus {
  const held = shared?.();
  return { inForce: held !== undefined, epoch: 0, ...(held ? { held } : {}), records: [], faults: [] };
}

/** Of everything (`--all`) or one identity. Fails only where the folder can't be listed or the identity is unknown. */
export function readStatus(
  folder: ControlFolder,
  scope: string,
  now: Date,
  shared?: SharedCheck,
): Result<{ status: ControlStatus }> {
  const read = readSnapshot(folder);
  if (!read.ok) return read;
  const { snapshot } = read;
  if (scope !== ALL && !snapshot.records.has(scope)) return unknownIdentity(scope);
  const checker = new StopChecker(folder, shared);
  const check = checker.check(scope === ALL ? undefined : scope);
  const wanted = scope === ALL ? [...snapshot.records.keys()] : [scope];
  const records = wanted.flatMap((identity) => {
    const reading = snapshot.records.get(identity);
    return reading?.state === "read" ? [statusOf(folder, reading.value, now)] : [];
  });
  const drill = readGuarded(drillPath(folder), folder.ownership, (bytes) => parseStrict(bytes, "The drill's record"));
  return {
    ok: true,
    status: {
      inForce: !check.clear,
      epoch: epochToName(snapshot, scope),
      ...(check.clear ? {} : { held: check }),
      records:
        scope === ALL ? records.filter((record) => record.inForce || record.ownerAlive || !isDone(record)) : records,
      faults: faultsOf(folder, snapshot),
      ...(drill.state === "read" ? { lastDrill: drill.value } : {}),
    },
  };
}

function isDone(record: RecordStatus): boolean {
  return isOrdinaryEnd(record) && record.remaining.length === 0;
}

function statusOf(folder: ControlFolder, record: ControlRecord, now: Date): RecordStatus {
  const { extra, schema, ...shown } = record;
  const inForce = isStanding(record);
  const ownerAlive = !isOrdinaryEnd(record) && isOwnerAlive(folder, record);
  const isWaiting = inForce && ownerAlive && record.acknowledgedAt === undefined && record.requestedAt !== undefined;
  return {
    ...shown,
    inForce,
    ownerAlive,
    ...(isWaiting ? { unacknowledgedMs: now.getTime() - Date.parse(record.requestedAt ?? "") } : {}),
  };
}

function faultsOf(folder: ControlFolder, snapshot: Snapshot): string[] {
  const faults = [snapshot.latch, snapshot.floor, ...snapshot.records.values()].flatMap((reading) =>
    reading.state === "unclear" ? [reading.fault.message] : [],
  );
  if (!isSameFolder(folder)) faults.push(`${folder.path} was replaced while it was read.`);
  return faults;
}

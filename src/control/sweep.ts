/** Ending saved resources by what the record says of them, in any process of this account, and looking what is left. */
import type { ContainmentRecord, ProcessIdentity } from "../core/contracts/worker.ts";
import { listRemaining, stopTree } from "../platform/containment/index.ts";
import { checkRecord } from "../platform/containment/record.ts";
import {
  commandOf,
  identityOf,
  isAlive,
  isOfEarlierBoot,
  isProcessNumber,
  maySignal,
  newMark,
  type ProcessRow,
  processesInSession,
  signal,
  takeCensus,
} from "../platform/process/index.ts";
import type { Remaining, SavedResource } from "./record.ts";

export interface SweepOptions {
  kind: "graceful" | "now";
  /** Milliseconds between TERM and kill. */
  graceMs: number;
  /** Milliseconds for kill and proof. Default 3000. */
  proofMs?: number;
}

export interface Swept {
  resource: SavedResource;
  proven: boolean;
  killed: number;
  remaining: Remaining[];
  durationMs: number;
}

/** Claude restores the terminal and saves its session within 0.1 to 1.5 s after TERM (2.1.268); it is a person's. */
const SESSION_GRACE_MS = 2000;

/** Never throws for what it finds. Takes at most `graceMs + proofMs` and one census. */
export async function sweepResource(resource: SavedResource, options: SweepOptions): Promise<Swept> {
  const proofMs = options.proofMs ?? 3000;
  if (resource.kind === "process") return sweepProcess(resource, { ...options, proofMs });
  if (resource.kind === "session") return sweepSession(resource, proofMs);
  const bad = untrusted(resource.tree);
  if (bad !== undefined) return { resource, proven: false, killed: 0, remaining: [bad], durationMs: 0 };
  const { guardian } = resource.tree;
  // A guardian that lives ends the worker itself, in its own time.
  const signalLeaderTerm = guardian === undefined || !isAlive(guardian);
  const outcome = await stopTree(resource.tree, { ...options, proofMs, signalLeaderTerm });
  const { durationMs } = outcome;
  if (outcome.proven) return { resource, proven: true, killed: outcome.killed, remaining: [], durationMs };
  return { resource, proven: false, killed: 0, remaining: outcome.remaining.map(toRemaining), durationMs };
}

/** What is left of it now; empty only when that is proven. */
export function stillThere(resource: SavedResource): Remaining[] {
  if (resource.kind === "tree") {
    const bad = untrusted(resource.tree);
    return bad === undefined ? listRemaining(resource.tree).map(toRemaining) : [bad];
  }
  if (resource.kind === "session") {
    const open = processesInSession(resource.session);
    return open === undefined ? [unreadable(resource)] : open.flatMap((leader) => left(resource, leader));
  }
  return left(resource, resource.process);
}

function left(resource: SavedResource, leader: ProcessIdentity): Remaining[] {
  const members = descendants(leader);
  return members === undefined ? [unreadable(resource)] : members.map(rowRemaining);
}

/** Every Claude in it gets its grace, `now` or not; another that is opened meanwhile is ended too. */
async function sweepSession(resource: SavedResource & { kind: "session" }, proofMs: number): Promise<Swept> {
  const began = performance.now();
  const done = (remaining: Remaining[]): Swept => {
    const durationMs = Math.round(performance.now() - began);
    return { resource, proven: remaining.length === 0, killed, remaining, durationMs };
  };
  let killed = 0;
  for (;;) {
    const open = processesInSession(resource.session);
    if (open === undefined) return done([unreadable(resource)]);
    if (open.length === 0) return done([]);
    const { id, what } = resource;
    const swept = await Promise.all(
      open.map((process) =>
        sweepProcess({ id, kind: "process", process, what }, { kind: "graceful", graceMs: SESSION_GRACE_MS, proofMs }),
      ),
    );
    killed += swept.reduce((sum, one) => sum + one.killed, 0);
    const remaining = swept.flatMap((one) => one.remaining);
    if (remaining.length > 0) return done(remaining);
    if (performance.now() - began > SESSION_GRACE_MS + 2 * proofMs) return done(stillThere(resource));
  }
}

/** A record that would have signalled init, a group or ourselves: somebody changed it, and nothing is signalled by it. */
function untrusted(tree: ContainmentRecord): Remaining | undefined {
  const checked = checkRecord(tree);
  if (checked.ok || checked.reason !== "bad-record") return undefined;
  return { kind: "untrusted", id: String(tree.leader.pid), identity: checked.message };
}

async function sweepProcess(
  resource: SavedResource & { kind: "process" },
  options: Required<SweepOptions>,
): Promise<Swept> {
  const began = performance.now();
  const { process: leader } = resource;
  const done = (remaining: Remaining[], killed: number): Swept => {
    const durationMs = Math.round(performance.now() - began);
    return { resource, proven: remaining.length === 0, killed, remaining, durationMs };
  };
  if (isAlive(leader) && !maySignal(leader.pid)) {
    return done([{ kind: "untrusted", id: String(leader.pid), identity: "a process that is never signalled" }], 0);
  }
  const seen = new Map<number, ProcessIdentity>();
  const look = (): ProcessRow[] | undefined => {
    const rows = descendants(leader, [...seen.values()]);
    for (const row of rows ?? []) seen.set(row.pid, identityOf(row));
    return rows;
  };
  look();
  if (options.kind === "graceful") {
    signal(leader, "SIGTERM");
    signal(leader, "SIGCONT");
    const end = performance.now() + options.graceMs;
    while (isAlive(leader) && performance.now() < end) await pause(10);
  }
  const end = performance.now() + options.proofMs;
  const killed = new Set<number>();
  for (let empty = 0; empty < 2; ) {
    const rows = look();
    empty = rows?.length === 0 ? empty + 1 : 0;
    for (const row of rows ?? []) {
      killed.add(row.pid);
      signal(identityOf(row), "SIGKILL");
    }
    if (performance.now() >= end) return done(rows === undefined ? [unreadable(resource)] : rows.map(rowRemaining), 0);
    if (empty < 2) await pause(empty > 0 ? 1 : 5);
  }
  return done([], killed.size);
}

/** The process and what descends from it, by parentage and session; it carries no mark of its own. */
function descendants(leader: ProcessIdentity, remembered: readonly ProcessIdentity[] = []): ProcessRow[] | undefined {
  if (!isProcessNumber(leader.pid)) return undefined;
  // Its number belongs to somebody else by now, even where the start ticks happen to agree.
  if (isOfEarlierBoot(leader)) return [];
  const census = takeCensus({ leader, mark: newMark(undefined), remembered });
  return census.complete ? census.members : undefined;
}

function rowRemaining(row: ProcessRow): Remaining {
  return { kind: "process", id: String(row.pid), identity: commandOf(row.pid) };
}

function toRemaining(left: { kind: string; id: string; detail: string }): Remaining {
  return { kind: left.kind, id: left.id, identity: left.detail };
}

function unreadable(resource: SavedResource): Remaining {
  return { kind: "unknown", id: resource.id, identity: "the process table can't be read" };
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

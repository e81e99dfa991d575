/**
 * Ends a contained tree and proves it. Everything here works from the record alone, in any process of the same user:
 * the supervisor, a later Pi that recovers, the control command. Calling it again, or in two processes at once, is fine.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type {
  ContainmentRecord,
  ProcessIdentity,
  RemainingResource,
  StopOutcome,
} from "../../core/contracts/worker.ts";
import { isAlive, isOfEarlierBoot } from "../process/identity.ts";
import { signal, signalGroup } from "../process/signal.ts";
import { identityOf } from "../process/tree.ts";
import { cgroupPids, cgroupState, killCgroup, removeCgroup } from "./cgroup.ts";
import { censusOf, remainingOf } from "./inspect.ts";
import { checkRecord } from "./record.ts";

export interface StopTreeOptions {
  /** `graceful`: TERM to the leader, then the grace; `now`: kill at once. */
  kind: "graceful" | "now";
  /** Milliseconds between TERM and kill. The grace ends as soon as the leader is gone, whatever of its tree is left. */
  graceMs: number;
  /** False: the leader was already told to end (EOF, an earlier TERM), it only gets the grace. Default true. */
  signalLeaderTerm?: boolean;
  /** Aborting ends the grace at once: a graceful stop that becomes an immediate one. */
  hurry?: AbortSignal;
  /** Milliseconds for kill and proof together. Default 5000. */
  proofMs?: number;
}

/** TERM, grace, kill, proof. Takes at most `graceMs + proofMs` and one census. Never throws for what it finds. */
export async function stopTree(record: ContainmentRecord, options: StopTreeOptions): Promise<StopOutcome> {
  const began = performance.now();
  const checked = checkRecord(record);
  const durationMs = (): number => Math.round(performance.now() - began);
  if (!checked.ok) {
    const remaining: RemainingResource[] = [
      { kind: "unknown", id: String(record.leader?.pid), detail: checked.message },
    ];
    return { proven: false, remaining, durationMs: durationMs() };
  }
  const method = record.kind;
  // Another boot: every process of the record is gone, and its numbers belong to others now.
  if (isOfEarlierBoot(record.leader)) return { proven: true, method, killed: 0, durationMs: durationMs() };

  const hunt = new Hunt(record);
  if (options.kind === "graceful") await grace(hunt, options);
  const proven = await hunt.kill(options.proofMs ?? 5000);
  if (!proven) return { proven: false, remaining: remainingOf(record, hunt.remembered), durationMs: durationMs() };
  return { proven: true, method, killed: hunt.killed, durationMs: durationMs() };
}

/** Kills at once and proves it. */
export function killNow(record: ContainmentRecord): Promise<StopOutcome> {
  return stopTree(record, { kind: "now", graceMs: 0 });
}

async function grace(hunt: Hunt, options: StopTreeOptions): Promise<void> {
  const { leader } = hunt.record;
  // Who is a member is best seen while the leader still holds the tree together.
  hunt.look();
  if (options.signalLeaderTerm !== false) signal(leader, "SIGTERM");
  // A stopped process acts on TERM and on the end of its input only when it goes on.
  signal(leader, "SIGCONT");
  const end = performance.now() + options.graceMs;
  let nextLook = performance.now() + 100;
  while (isAlive(leader) && performance.now() < end && options.hurry?.aborted !== true) {
    await sleep(10);
    if (performance.now() < nextLook) continue;
    hunt.look();
    nextLook = performance.now() + 100;
  }
}

/** One stop's memory: whom it saw, whom it killed. */
class Hunt {
  readonly record: ContainmentRecord;
  readonly #seen = new Map<string, ProcessIdentity>();
  readonly #killed = new Set<string>();

  constructor(record: ContainmentRecord) {
    this.record = record;
  }

  get remembered(): ProcessIdentity[] {
    return [...this.#seen.values()];
  }

  get killed(): number {
    return this.#killed.size;
  }

  /** A census that remembers. `undefined` when the process table can't be read. */
  look(): ProcessIdentity[] | undefined {
    const census = censusOf(this.record, this.remembered);
    if (!census.complete) return undefined;
    const found = census.members.map(identityOf);
    for (const each of found) this.#seen.set(keyOf(each), each);
    return found;
  }

  /**
   * Kills until the cgroup is empty and the census finds nothing: twice in a row, because a process that forks while the
   * table is read can hide in a gap. With an empty cgroup one look is enough; it only adds what left the cgroup.
   */
  async kill(proofMs: number): Promise<boolean> {
    const end = performance.now() + proofMs;
    const enough = this.record.kind === "cgroup" ? 1 : 2;
    for (let empty = 0; ; ) {
      const closed = await this.#killCgroup(end);
      const found = this.look();
      if (closed && found?.length === 0) empty += 1;
      else empty = 0;
      if (empty >= enough) return true;
      for (const each of found ?? []) this.#kill(each);
      if (performance.now() >= end) return false;
      await sleep(empty > 0 ? 1 : 5);
    }
  }

  #kill(member: ProcessIdentity): void {
    this.#killed.add(keyOf(member));
    signalGroup(member, "SIGKILL");
    signal(member, "SIGKILL");
  }

  /** True when there is no cgroup to speak of, or it is empty. */
  async #killCgroup(end: number): Promise<boolean> {
    const { cgroup } = this.record;
    if (cgroup === undefined) return true;
    let state = cgroupState(cgroup);
    if (state === "populated") {
      for (const pid of cgroupPids(cgroup)) this.#killed.add(String(pid));
      killCgroup(cgroup);
      for (state = cgroupState(cgroup); state === "populated" && performance.now() < end; state = cgroupState(cgroup)) {
        await sleep(1);
      }
    }
    if (state === "empty") removeCgroup(cgroup);
    return state === "empty" || state === "gone";
  }
}

function keyOf(identity: ProcessIdentity): string {
  return String(identity.pid);
}

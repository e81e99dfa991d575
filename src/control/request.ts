/**
 * A stop or pause from anywhere: latch first, then tell every live controller, and end from outside what is left when a
 * controller is dead, hung or too slow. What is reported rests on the process table, not on anybody's word.
 */
import type { Result } from "../core/result.ts";
import { type Clock, systemClock } from "../platform/clock.ts";
import { probeFileLock } from "../platform/file-lock.ts";
import { isAlive } from "../platform/process/index.ts";
import { changeRecord, type FileDeps, readRecordFile, readSnapshot } from "./files.ts";
import { type ControlFolder, instanceLockPath } from "./folder.ts";
import { sendNudge } from "./nudge.ts";
import { PROTOCOL_SCHEMA } from "./protocol.ts";
import type { CleanupStep, ControlRecord, Remaining } from "./record.ts";
import { type Latched, type LatchRequest, setLatch } from "./set-latch.ts";
import type { ControlState } from "./states.ts";
import { stillThere, sweepResource } from "./sweep.ts";

export interface RequestDeps extends FileDeps {
  /** Hides secrets in command lines before they are shown or kept. */
  redact: (text: string) => string;
  /** Longest wait for a controller's acknowledgement, milliseconds. Default 1000. */
  ackMs?: number;
  /**
   * Longest wait for live controllers to finish, milliseconds. Default 10000, after which the rest is ended from
   * outside; with `after-call` 120000.
   */
  waitMs?: number;
  /** Milliseconds for kill and proof of what is ended from outside. Default 3000. */
  proofMs?: number;
}

export interface RecordReport {
  identity: string;
  state: ControlState | "unknown";
  epoch: number;
  /** What the controller did: it is gone, it finished by itself, or somebody else had to. */
  owner: "gone" | "answered" | "silent";
  acknowledgedAt?: string;
  verifiedAt?: string;
  remaining: Remaining[];
}

export interface StopReport {
  ok: boolean;
  /** 0 all gone and everybody answered; 1 something may remain, or the latch is not durable; 4 an owner was silent. */
  exitCode: 0 | 1 | 4;
  verb: "stop" | "pause";
  epoch: number;
  durable: Latched["durable"];
  alreadyEnded: boolean;
  records: RecordReport[];
  notes: string[];
  durationMs: number;
}

/** Fails only where nothing was asked for: see `setLatch`. */
export async function requestStop(
  folder: ControlFolder,
  request: LatchRequest,
  deps: RequestDeps,
): Promise<Result<{ report: StopReport }>> {
  const clock = deps.clock ?? systemClock;
  const began = clock.mono();
  const set = await setLatch(folder, request, deps);
  if (!set.ok) return set;
  const { latched } = set;
  const told: Context["told"] = new Map();
  const records = await Promise.all(
    latched.affected.map((identity) => bringDown(folder, identity, { request, latched, deps, clock, told })),
  );
  const proven = records.every((record) => record.remaining.length === 0 && isDown(record.state));
  const silent = records.some((record) => record.owner === "silent");
  const exitCode = !proven || latched.durable === "no" ? 1 : silent ? 4 : 0;
  return {
    ok: true,
    report: {
      ok: exitCode === 0,
      exitCode,
      verb: request.verb,
      epoch: latched.epoch,
      durable: latched.durable,
      alreadyEnded: latched.alreadyEnded,
      records,
      notes: latched.notes,
      durationMs: Math.round(clock.mono() - began),
    },
  };
}

interface Context {
  request: LatchRequest;
  latched: Latched;
  deps: RequestDeps;
  clock: Clock;
  /** One message a socket, however many identities lie behind it. */
  told: Map<string, Promise<readonly string[]>>;
}

async function bringDown(folder: ControlFolder, identity: string, context: Context): Promise<RecordReport> {
  const first = readRecordFile(folder, identity);
  if (first.state !== "read") {
    const why = first.state === "unclear" ? first.fault.message : "its record is gone";
    const remaining = [{ kind: "record", id: identity, identity: why }];
    return { identity, state: "unknown", epoch: context.latched.epoch, owner: "gone", remaining };
  }
  const owner = isOwnerAlive(folder, first.value) ? await waitForOwner(folder, first.value, context) : "gone";
  return verify(folder, identity, owner, context);
}

/** Dead only on proof: its process is gone, or the kernel holds no lock of it. */
export function isOwnerAlive(folder: ControlFolder, record: ControlRecord): boolean {
  if (record.controller === undefined || !isAlive(record.controller)) return false;
  return probeFileLock(instanceLockPath(folder, record.identity), { ownership: folder.ownership }) !== false;
}

async function waitForOwner(
  folder: ControlFolder,
  record: ControlRecord,
  context: Context,
): Promise<"answered" | "silent"> {
  const { deps, latched, clock, request } = context;
  const began = clock.mono();
  const waitMs = deps.waitMs ?? (request.how === "after-call" ? 120_000 : 10_000);
  const ackMs = Math.min(deps.ackMs ?? 1000, waitMs);
  const nudged = nudge(folder, record, ackMs, context);
  let answered = false;
  void nudged.then((identities) => {
    answered ||= identities.includes(record.identity);
  });
  for (let pauseMs = 5; ; pauseMs = Math.min(pauseMs * 1.5, 50)) {
    const reading = readRecordFile(folder, record.identity);
    if (reading.state === "read" && reading.value.epoch >= latched.epoch) {
      answered ||= reading.value.acknowledgedAt !== undefined;
      if (answered && isDown(reading.value.state)) return "answered";
      if (answered && reading.value.state === "failed-to-stop") return "answered";
    } else if (answered && latched.durable !== "full" && isGone(record)) {
      // It could not write down what it did.
      return "answered";
    }
    const elapsed = clock.mono() - began;
    if (elapsed >= waitMs) return answered ? "answered" : "silent";
    if (!answered && elapsed >= ackMs) {
      // The owner may have died meanwhile, which is no silence.
      return isOwnerAlive(folder, record) ? "silent" : "answered";
    }
    await new Promise<void>((resolve) => clock.setTimer(pauseMs, resolve));
  }
}

async function nudge(
  folder: ControlFolder,
  record: ControlRecord,
  deadlineMs: number,
  { request, latched, clock, told }: Context,
): Promise<readonly string[]> {
  const socket = record.controller?.socket;
  if (socket === undefined) return [];
  const reply =
    told.get(socket) ??
    sendNudge(
      socket,
      {
        schema: PROTOCOL_SCHEMA,
        requestId: request.requestId,
        scope: request.scope,
        verb: request.verb,
        epoch: latched.epoch,
        how: request.how,
        cause: request.cause,
        reason: request.reason,
        requestedAt: record.requestedAt ?? clock.now().toISOString(),
        actor: request.actor,
      },
      { deadlineMs, ownership: folder.ownership },
    ).then((outcome) => (outcome.ok ? (outcome.reply.acknowledged ?? []) : []));
  told.set(socket, reply);
  return reply;
}

/** Ends whatever of the saved resources is left, looks again, and writes down what was found. */
async function verify(
  folder: ControlFolder,
  identity: string,
  owner: RecordReport["owner"],
  { request, latched, deps, clock }: Context,
): Promise<RecordReport> {
  const reading = readRecordFile(folder, identity);
  const epoch = latched.epoch;
  if (reading.state !== "read") {
    const remaining = [{ kind: "record", id: identity, identity: "its record can't be read any more" }];
    return { identity, state: "unknown", epoch, owner, remaining };
  }
  const record = reading.value;
  const { remaining, steps } = await endResources(record, deps, clock);
  const final: ControlState = remaining.length > 0 ? "failed-to-stop" : request.verb === "stop" ? "stopped" : "paused";
  const at = clock.now().toISOString();
  const changed = await changeRecord(folder, identity, deps, (now) => finish(now, epoch, final, remaining, steps, at));
  const stands = changed.ok ? changed.record : record;
  return {
    identity,
    // What was found, also where a full disk kept it from being written.
    state: stands.epoch > epoch ? stands.state : final,
    epoch: Math.max(epoch, stands.epoch),
    owner,
    ...(stands.acknowledgedAt === undefined ? {} : { acknowledgedAt: stands.acknowledgedAt }),
    ...(stands.verifiedAt === undefined ? {} : { verifiedAt: stands.verifiedAt }),
    remaining,
  };
}

/**
 * Rebuilds the teardown of records whose controller is gone, so that `failed-to-stop` ends when absence is verified.
 * Call it under no lock; records of live controllers are left alone.
 */
export async function settleOrphans(folder: ControlFolder, deps: RequestDeps): Promise<void> {
  const read = readSnapshot(folder);
  if (!read.ok) return;
  const clock = deps.clock ?? systemClock;
  for (const reading of read.snapshot.records.values()) {
    if (reading.state !== "read") continue;
    const record = reading.value;
    if (record.state !== "stopping" && record.state !== "pausing" && record.state !== "failed-to-stop") continue;
    if (isOwnerAlive(folder, record)) continue;
    const { remaining, steps } = await endResources(record, deps, clock);
    const down = record.desired === "paused" ? "paused" : "stopped";
    const at = clock.now().toISOString();
    await changeRecord(folder, record.identity, deps, (now) =>
      finish(now, record.epoch, remaining.length > 0 ? "failed-to-stop" : down, remaining, steps, at),
    );
  }
}

/** Kills what is left of a record's resources. What a controller reported as remaining beside processes stays listed. */
export async function endResources(
  record: ControlRecord,
  deps: Pick<RequestDeps, "redact" | "proofMs">,
  clock: Clock,
  graceMs = 0,
): Promise<{ remaining: Remaining[]; steps: CleanupStep[] }> {
  const steps: CleanupStep[] = [];
  const left = await Promise.all(
    record.resources.map(async (resource) => {
      if (stillThere(resource).length === 0) return [];
      const swept = await sweepResource(resource, {
        kind: graceMs > 0 ? "graceful" : "now",
        graceMs,
        ...(deps.proofMs === undefined ? {} : { proofMs: deps.proofMs }),
      });
      steps.push({
        resource: resource.id,
        step: "kill from outside",
        outcome: swept.proven ? "done" : "failed",
        detail: `${swept.killed} processes in ${swept.durationMs} ms`,
        at: clock.now().toISOString(),
      });
      return swept.remaining;
    }),
  );
  const others = record.remaining.filter((entry) => !isOfProcesses(entry));
  const remaining = [...left.flat(), ...others].map((entry) => ({ ...entry, identity: deps.redact(entry.identity) }));
  return { remaining, steps };
}

/** Kinds that a look at the process table answers; anything else stays until its own authority says it is gone. */
export function isOfProcesses(entry: Remaining): boolean {
  return ["process", "cgroup", "unknown", "untrusted"].includes(entry.kind);
}

function finish(
  now: ControlRecord,
  epoch: number,
  state: ControlState,
  remaining: Remaining[],
  steps: CleanupStep[],
  at: string,
): ControlRecord | undefined {
  if (now.epoch > epoch) return undefined;
  if (now.state === state && steps.length === 0 && remaining.length === 0 && now.verifiedAt !== undefined) {
    return undefined;
  }
  const { verifiedAt, ...kept } = now;
  const cleanup = [...now.cleanup, ...steps];
  // Whoever was to record it is gone or did not do it in time; nothing waits for it any more.
  const isLost = now.evidenceStatus === "pending" && now.acknowledgedAt === undefined;
  return {
    ...kept,
    state,
    remaining,
    cleanup,
    ...(isLost ? { evidenceStatus: "failed" as const, evidenceDetail: "Its supervisor did not answer." } : {}),
    ...(remaining.length === 0 ? { verifiedAt: at, resources: [] } : {}),
  };
}

function isGone(record: ControlRecord): boolean {
  return record.resources.every((resource) => stillThere(resource).length === 0);
}

function isDown(state: ControlState | "unknown"): boolean {
  return state === "stopped" || state === "paused";
}

/** Taking an identity: its lock, its record, and proof that nothing of an earlier owner is left. */
import { type Failure, failure, type Result } from "../core/result.ts";
import type { Clock } from "../platform/clock.ts";
import { type FileLock, isLockHeld, takeFileLock } from "../platform/file-lock.ts";
import { bootId, isAlive } from "../platform/process/index.ts";
import type { StopChecker } from "./check.ts";
import { changeRecord, type FileDeps, holderNote, readRecordFile, underLock, writeRecord } from "./files.ts";
import { type ControlFolder, instanceLockPath, listIdentities, refuseWorkspace } from "./folder.ts";
import { caseTwin, checkIdentity } from "./identity.ts";
import { type ControllerInfo, type ControlRecord, historyWith, RECORD_SCHEMA } from "./record.ts";
import { endResources } from "./request.ts";

export interface EnrollInput {
  identity: string;
  taskId: string;
  /** The workspace; the control folder may not lie in it. */
  cwd: string;
  /**
   * Milliseconds that what an earlier owner left may take to leave by itself: Claude whose Pi has just died may be saving
   * its session. Default 0.
   */
  graceMs?: number;
}

export interface EnrollContext {
  folder: ControlFolder;
  checker: StopChecker;
  clock: Clock;
  files: FileDeps;
  redact: (text: string) => string;
  controller: ControllerInfo;
  /** The shared folder and person that this run keeps to. */
  shared?: NonNullable<ControlRecord["shared"]>;
}

/**
 * Reasons: `bad-identity`, `control-dir-in-workspace`, `busy` (a live controller has it), `estop` (a stop is in force),
 * `failed-to-stop` (something of an earlier owner still runs), `damaged`, or a disk fault. Nothing is held then.
 */
export async function enroll(input: EnrollInput, context: EnrollContext): Promise<Result<{ lock: FileLock }>> {
  const { folder, checker } = context;
  const named = checkIdentity(input.identity);
  if (!named.ok) return named;
  const listed = listIdentities(folder);
  if (!listed.ok) return listed;
  const twin = caseTwin(input.identity, listed.identities);
  if (twin !== undefined) {
    return failure("bad-identity", `${input.identity} differs from ${twin} only in case. Choose another identity.`);
  }
  const apart = refuseWorkspace(folder, input.cwd);
  if (!apart.ok) return apart;
  const before = checker.check(input.identity);
  if (!before.clear) return estop(before);
  const outcome = takeFileLock(instanceLockPath(folder, input.identity), {
    info: { ...holderNote(), taskId: input.taskId, since: context.clock.now().toISOString() },
    what: `identity ${input.identity}`,
    ownership: folder.ownership,
  });
  if (!outcome.ok) return isLockHeld(outcome) ? failure("busy", outcome.message) : outcome;
  const { lock } = outcome;
  const taken = await take(input, context);
  if (taken.ok) return { ok: true, lock };
  lock.release();
  return taken;
}

async function take(input: EnrollInput, context: EnrollContext): Promise<Result> {
  const { folder, checker } = context;
  const reading = readRecordFile(folder, input.identity);
  if (reading.state === "unclear") return reading.fault;
  if (reading.state === "read") {
    const free = await freeOfEarlierOwner(reading.value, input, context);
    if (!free.ok) return free;
  }
  // The last look and the record lie under one lock: a stop comes before, and refuses, or after, and names this record.
  const written = await underLock(folder, context.files, (): Result => {
    const check = checker.check(input.identity);
    if (!check.clear) return estop(check);
    const now = readRecordFile(folder, input.identity);
    if (now.state === "unclear") return now.fault;
    const previous = now.state === "read" ? now.value : undefined;
    return writeRecord(folder, fresh(input, previous, context), now, context.files);
  });
  if (!written.ok) return written;
  return written.value;
}

/** The kernel lock says that it is gone; a process that still shows with its number and start counts all the same. */
async function freeOfEarlierOwner(
  record: ControlRecord,
  { graceMs = 0 }: EnrollInput,
  context: EnrollContext,
): Promise<Result> {
  const { controller } = record;
  if (controller !== undefined && controller.instanceId !== context.controller.instanceId && isAlive(controller)) {
    return failure(
      "busy",
      `${record.identity} is driven by process ${controller.pid} since ${controller.since}. Use it there, or stop it.`,
    );
  }
  // What a person runs in the task's session is theirs, unless a stop is in force.
  const resources = record.resources.filter((resource) => resource.kind !== "session");
  if (resources.length === 0 && record.remaining.length === 0) return { ok: true };
  const { remaining, steps } = await endResources({ ...record, resources }, context, context.clock, graceMs);
  if (remaining.length === 0) return { ok: true };
  await changeRecord(context.folder, record.identity, context.files, (now) => ({
    ...now,
    state: "failed-to-stop",
    remaining,
    cleanup: [...now.cleanup, ...steps],
  }));
  const first = remaining[0];
  return failure(
    "failed-to-stop",
    `Something of ${record.identity} may still run: ${first?.kind} ${first?.id}. Run: pi-claude-supervisor-control ${record.identity} stop --reason "clean up".`,
  );
}

function fresh(input: EnrollInput, previous: ControlRecord | undefined, context: EnrollContext): ControlRecord {
  const at = context.clock.now().toISOString();
  return {
    schema: RECORD_SCHEMA,
    identity: input.identity,
    taskId: input.taskId,
    cwd: input.cwd,
    state: "running",
    desired: "running",
    cause: "start",
    epoch: previous?.epoch ?? 0,
    how: "now",
    bootId: bootId(),
    controller: context.controller,
    ...(context.shared ? { shared: context.shared } : {}),
    resources: previous?.resources.filter(({ kind }) => kind === "session") ?? [],
    cleanup: [],
    remaining: [],
    evidenceStatus: "none",
    history: previous === undefined ? [] : historyWith(previous, at),
    extra: previous?.extra ?? {},
  };
}

export function estop(held: { message: string; remedy: string }): Failure {
  return failure("estop", `${held.message} ${held.remedy}`);
}

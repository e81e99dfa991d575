/**
 * One task's side of the emergency stop: its record, its instance lock, and what was asked of it. Everything that the
 * task starts is registered here before it runs, so that the command can end it when this process hangs or dies.
 */
import { type Failure, failure, type Result } from "../core/result.ts";
import type { Clock } from "../platform/clock.ts";
import type { FileLock } from "../platform/file-lock.ts";
import type { StopCheck, StopChecker } from "./check.ts";
import { noteHalted } from "./digest.ts";
import { type EvidenceEntry, type RecordEvidence, recordWithPatience } from "./evidence.ts";
import { changeRecord, type FileDeps } from "./files.ts";
import type { ControlFolder } from "./folder.ts";
import type { StopOrder } from "./orders.ts";
import {
  type CleanupStep,
  type ControllerInfo,
  type ControlRecord,
  historyWith,
  MOST_RESOURCES,
  type SavedResource,
} from "./record.ts";
import { endResources } from "./request.ts";
import { type Cause, type ControlState, isOrdinaryEnd, isStanding } from "./states.ts";
import { stillThere } from "./sweep.ts";

export interface StopResults {
  /** What was done, for people. */
  cleanup?: readonly { resource: string; step: string; outcome: CleanupStep["outcome"]; detail: string }[];
  /** What the supervisor itself knows to be left, beside the registered resources: a worktree that was not saved, … */
  remaining?: readonly { kind: string; id: string; detail: string }[];
  /** What the task is about, for the page that all accounts see. */
  title?: string;
}

/** What the supervisor holds of one task. */
export interface TaskControl {
  readonly identity: string;
  readonly taskId: string;
  /** The one check: account, shared folder and this identity. Before every move, and again after every await. */
  check(): StopCheck;
  /** Whether a move that began under `epoch` may still have its effect. */
  isCurrent(epoch: number): boolean;
  /**
   * Writes down what is about to run; call it before the containment's `release()`. Reason `estop` when a stop came in
   * between: then don't release. Takes about 5 ms.
   */
  register(resource: SavedResource): Promise<Result>;
  /** It is proven gone. */
  release(id: string): Promise<Result>;
  /** Latched in memory and abort sent; not that anything has ended. */
  acknowledge(epoch: number): Promise<Result>;
  /**
   * The teardown is over. What is registered is looked for again (and killed where it still lives), so that `stopped`
   * never rests on the caller's word.
   */
  report(epoch: number, results: StopResults): Promise<Result<{ state: ControlState }>>;
  /** The task ended in the ordinary way. Under a stop this changes nothing: the stop wins. */
  end(cause: Extract<Cause, "completed" | "ended">): Promise<Result>;
  /** This process lets go of the task; a stop in progress is verified or recorded as failed first. */
  close(): Promise<void>;
}

export interface TaskControlOptions {
  folder: ControlFolder;
  checker: StopChecker;
  lock: FileLock;
  identity: string;
  taskId: string;
  clock: Clock;
  files: FileDeps;
  redact: (text: string) => string;
  controller: ControllerInfo;
  evidence?: RecordEvidence;
  onClosed: () => void;
}

export class LiveTask implements TaskControl {
  readonly identity: string;
  readonly taskId: string;
  readonly #options: TaskControlOptions;
  /** The last order that was handed on. */
  order: StopOrder | undefined;
  #acknowledged = -1;
  #waiting: (() => void)[] = [];
  #state: "open" | "closed" = "open";

  constructor(options: TaskControlOptions) {
    this.#options = options;
    this.identity = options.identity;
    this.taskId = options.taskId;
  }

  check(): StopCheck {
    return this.#options.checker.check(this.identity);
  }

  isCurrent(epoch: number): boolean {
    const check = this.check();
    return check.clear && check.epoch === epoch;
  }

  async register(resource: SavedResource): Promise<Result> {
    let refusal: Failure | undefined;
    const changed = await this.#change((record) => {
      const check = this.check();
      const isFull = record.resources.length >= MOST_RESOURCES;
      if (!check.clear) refusal = failure("estop", check.message);
      else if (isFull) refusal = failure("too-many", `More than ${MOST_RESOURCES} live resources of one task.`);
      if (refusal !== undefined) return undefined;
      const others = record.resources.filter((one) => one.id !== resource.id);
      return { ...record, resources: [...others, { ...resource, what: this.#options.redact(resource.what) }] };
    });
    return refusal ?? plain(changed);
  }

  async release(id: string): Promise<Result> {
    const changed = await this.#change((record) =>
      record.resources.some((one) => one.id === id)
        ? { ...record, resources: record.resources.filter((one) => one.id !== id) }
        : undefined,
    );
    return plain(changed);
  }

  async acknowledge(epoch: number): Promise<Result> {
    this.#acknowledged = Math.max(this.#acknowledged, epoch);
    for (const wake of this.#waiting.splice(0)) wake();
    const at = this.#now();
    const changed = await this.#change((record) => {
      if (record.epoch > epoch || !isStanding(record) || record.acknowledgedAt !== undefined) return undefined;
      return { ...record, acknowledgedAt: at };
    });
    this.#tell({ type: "acknowledged", epoch });
    return plain(changed);
  }

  /** Resolves true when the order of this epoch was acknowledged, false when `ms` milliseconds are over. */
  acknowledged(epoch: number, ms: number): Promise<boolean> {
    if (this.#acknowledged >= epoch) return Promise.resolve(true);
    return new Promise((resolve) => {
      const cancel = this.#options.clock.setTimer(ms, () => resolve(false), { background: true });
      const look = (): void => {
        if (this.#acknowledged < epoch) {
          this.#waiting.push(look);
          return;
        }
        cancel();
        resolve(true);
      };
      this.#waiting.push(look);
    });
  }

  async report(epoch: number, results: StopResults): Promise<Result<{ state: ControlState }>> {
    const { redact, clock } = this.#options;
    const read = this.#options.checker.readRecord(this.identity);
    if (read.state === "unclear") return read.fault;
    if (read.state === "absent") return failure("unknown-identity", `The record of ${this.identity} is missing.`);
    const swept = await endResources({ ...read.value, remaining: [] }, { redact }, clock);
    const at = this.#now();
    const told = (results.remaining ?? []).map(({ kind, id, detail }) => ({ kind, id, identity: redact(detail) }));
    // The caller's processes were looked for just now; what it says of them is not needed any more.
    const others = told.filter((entry) => !["process", "cgroup"].includes(entry.kind));
    const remaining = [...swept.remaining, ...others];
    const steps = (results.cleanup ?? []).map((step) => ({ ...step, detail: redact(step.detail), at }));
    let state: ControlState = "running";
    let isHalt = false;
    const changed = await this.#change((record) => {
      isHalt = isStanding(record) && record.cause === "shared-folder";
      if (!isStanding(record)) {
        state = record.state;
        return undefined;
      }
      state = remaining.length > 0 ? "failed-to-stop" : record.desired === "paused" ? "paused" : "stopped";
      const { verifiedAt, ...kept } = record;
      return {
        ...kept,
        state,
        acknowledgedAt: record.acknowledgedAt ?? at,
        cleanup: [...steps, ...swept.steps],
        remaining,
        evidenceStatus: this.#options.evidence === undefined ? "none" : record.evidenceStatus,
        ...(remaining.length > 0 ? {} : { verifiedAt: at, resources: [] }),
      };
    });
    this.#tell({ type: remaining.length > 0 ? "failed" : "verified", epoch });
    if (!changed.ok) return changed;
    if (isHalt) await this.#tellPeople(changed.record, results.title ?? "");
    return { ok: true, state };
  }

  /** A run that the person's shared stop halted stands on the account's page of the day. What comes of that is a step. */
  async #tellPeople(record: ControlRecord, title: string): Promise<void> {
    const { folder, files, redact } = this.#options;
    const { shared, epoch, state, cleanup, remaining } = record;
    if (shared === undefined) return;
    const stop = { at: record.requestedAt ?? "", by: `user ${shared.person}`, reason: record.reason ?? "" };
    const left = [
      ...cleanup.map((step) => `${step.step}: ${step.outcome} (${step.detail})`),
      ...remaining.map((entry) => `remains: ${entry.kind} ${entry.id} ${entry.identity}`),
    ];
    const run = { identity: this.identity, title: redact(title), state, left };
    const noted = await noteHalted(folder, shared.folder, stop, run, files);
    const outcome = noted.ok ? ("done" as const) : ("failed" as const);
    const detail = noted.ok ? noted.path : noted.message;
    const step: CleanupStep = { resource: this.taskId, step: "page", outcome, detail, at: this.#now() };
    await this.#change((now) => (now.epoch === epoch ? { ...now, cleanup: [...now.cleanup, step] } : undefined));
  }

  async end(cause: "completed" | "ended"): Promise<Result> {
    const at = this.#now();
    const changed = await this.#change((record) => {
      // What runs on is a stop's or a recover's to end; the record keeps it.
      const left = record.resources.filter((resource) => stillThere(resource).length > 0);
      const { controller, ...kept } = record;
      // A halt by the shared folder stays the reason why it ended.
      if (isStanding(record) || isOrdinaryEnd(record) || left.length > 0) return kept;
      const history = historyWith(record, at);
      return { ...kept, state: "stopped", desired: "stopped", cause, resources: [], verifiedAt: at, history };
    });
    this.#close();
    return plain(changed);
  }

  async close(): Promise<void> {
    if (this.#state === "closed") return;
    const read = this.#options.checker.readRecord(this.identity);
    if (read.state === "read" && isStanding(read.value) && read.value.verifiedAt === undefined) {
      await this.report(read.value.epoch, {
        cleanup: [{ resource: this.taskId, step: "shutdown", outcome: "done", detail: "Pi let go of the task." }],
      });
    }
    // Nobody drives it from here on: whoever takes it next need not prove that this process is gone.
    await this.#change(({ controller, ...record }) => {
      return controller?.instanceId === this.#options.controller.instanceId ? record : undefined;
    });
    this.#close();
  }

  #close(): void {
    if (this.#state === "closed") return;
    this.#state = "closed";
    this.#options.lock.release();
    this.#options.onClosed();
  }

  #change(change: (record: ControlRecord) => ControlRecord | undefined): Promise<Result<{ record: ControlRecord }>> {
    return changeRecord(this.#options.folder, this.identity, this.#options.files, change);
  }

  /** Beside everything else; nobody waits for it. */
  #tell(entry: Pick<EvidenceEntry, "type" | "epoch" | "reason">): void {
    const { evidence, clock } = this.#options;
    if (evidence === undefined) return;
    const { identity, taskId } = this;
    void recordWithPatience(evidence, { ...entry, identity, taskId }, { clock }).then(async ({ status, detail }) => {
      await this.#change((record) => {
        if (record.epoch !== entry.epoch || record.evidenceStatus === "recorded") return undefined;
        const { evidenceDetail, ...kept } = record;
        return { ...kept, evidenceStatus: status, ...(detail === undefined ? {} : { evidenceDetail: detail }) };
      });
    });
  }

  #now(): string {
    return this.#options.clock.now().toISOString();
  }
}

function plain(outcome: Result): Result {
  return outcome.ok ? { ok: true } : outcome;
}

/** What the parts of a driver share: its state, its log, and the way to report what happened. */
import type { Redactor } from "../core/contracts/redaction.ts";
import type { WorkerAdapter } from "../core/contracts/worker.ts";
import type { EventDraft } from "../core/events.ts";
import type { TaskState } from "../core/machine/state.ts";
import type { Result } from "../core/result.ts";
import type { OwnedTask } from "../store/task-store.ts";
import type { Decider } from "./decider.ts";
import type { SupervisorDeps } from "./deps.ts";
import type { RawPayloads } from "./raw.ts";
import type { MoveGate } from "./task-stop.ts";
import type { TextArtifacts } from "./text-artifacts.ts";

/**
 * `written`: in the kernel. `kept`: the disk refuses for now, the record waits in memory in its place. `lost`: neither;
 * the machine has seen a lifecycle event all the same, so that stops work.
 */
export type Recorded = "written" | "kept" | "lost";

export interface DriverPort {
  readonly deps: SupervisorDeps;
  readonly task: OwnedTask;
  readonly redactor: Redactor;
  readonly raw: RawPayloads;
  readonly artifacts: TextArtifacts;
  readonly state: TaskState;
  readonly decider: Decider;
  /** The present worker, from its creation until its exit is recorded. */
  worker: WorkerAdapter | null;
  /** The last one whose exit is recorded, until its tree is proven gone: only its own `stop` sends its guardian home. */
  exited: WorkerAdapter | null;
  /** The emergency stop's one check: before every move, and again after every await. */
  readonly estop: MoveGate;
  /** Aborted when a stop is asked for: ends a running verification. */
  readonly stopSignal: AbortSignal;
  /** Appends the events one after another, steps each, runs the effects. */
  record(...drafts: EventDraft[]): Recorded;
  /** Resolves when `test` holds (true) or the signal fires (false); looked at after every event. Never rejects. */
  until(test: (state: TaskState) => boolean, signal: AbortSignal): Promise<boolean>;
  /** Resolves when everything recorded so far is on the disk. */
  synced(): Promise<Result>;
}

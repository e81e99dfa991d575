/** `task.json`: the projection of the state, written behind the log and at most a second late. */
import { createHash } from "node:crypto";
import { costUsd } from "../core/machine/budgets.ts";
import { stateName } from "../core/machine/project.ts";
import { initialState, type TaskState } from "../core/machine/state.ts";
import { type TaskHead, writeTaskRecordAsync } from "../store/task-record.ts";
import type { DriverPort } from "./effect-port.ts";
import { viewOf } from "./view.ts";

/** Milliseconds within which a change that is no change of the state name is written. */
const LAZY_MS = 500;

/** What `task.json` holds beside its head. */
export type Snapshotted = TaskHead & {
  stateSha256: string;
  stateShape: string;
  view: ReturnType<typeof viewOf>;
  owner: unknown;
  createdAt: string;
};

export function snapshotOf(state: TaskState, logPath: string): Snapshotted {
  return {
    v: 1,
    taskId: state.taskId,
    state: stateName(state),
    seq: state.seq,
    stateSha256: stateHash(state),
    stateShape: STATE_SHAPE,
    createdAt: state.createdAt,
    owner: state.owner.kind === "held" ? state.owner.owner : null,
    view: viewOf(state, logPath, null),
  };
}

/** Another one where a release has changed what a state is made of: then its hash says nothing about an older record. */
export const STATE_SHAPE = createHash("sha256")
  .update(JSON.stringify(initialState("shape")))
  .digest("hex")
  .slice(0, 16);

/** Equal exactly for equal states: what `replay` compares. */
export function stateHash(state: TaskState): string {
  return createHash("sha256").update(JSON.stringify(state)).digest("hex");
}

export class Snapshot {
  readonly #port: DriverPort;
  #cancel: (() => void) | null = null;
  #writing: Promise<void> | null = null;
  #dirty = false;
  /** The state name has changed since the last write began: what follows that write does not wait. */
  #urgent = false;
  #abandoned = false;

  constructor(port: DriverPort) {
    this.#port = port;
  }

  changed(before: TaskState, after: TaskState): void {
    if (this.#abandoned) return;
    this.#dirty = true;
    const urgent = stateName(before) !== stateName(after) || costUsd(before) !== costUsd(after);
    if (!urgent) {
      this.#later();
      return;
    }
    this.#cancel?.();
    this.#cancel = null;
    this.#urgent = true;
    void this.#write();
  }

  /** What is on disk is not this state, whoever is to blame for it. */
  touch(): void {
    this.#dirty = true;
    this.#later();
  }

  /** Resolves when the state of now is on disk, or can't be. */
  async flush(): Promise<void> {
    /* One write may be under way with an older state. */
    for (let i = 0; i < 2 && (this.#writing !== null || (this.#dirty && !this.#abandoned)); i += 1) await this.#write();
  }

  /** The state has left the log behind: what is on disk stays the truth. */
  abandon(): void {
    this.#cancel?.();
    this.#cancel = null;
    this.#abandoned = true;
  }

  /** Writes the last state; nothing is written after it. */
  async close(): Promise<void> {
    this.#cancel?.();
    this.#cancel = null;
    if (this.#writing) await this.#writing;
    await this.#write();
  }

  #write(): Promise<void> {
    this.#writing ??= this.#writeOnce().finally(() => {
      this.#writing = null;
      if (!this.#dirty || this.#abandoned) return;
      if (this.#urgent) void this.#write();
      else this.#later();
    });
    return this.#writing;
  }

  #later(): void {
    this.#cancel ??= this.#port.deps.clock.setTimer(LAZY_MS, () => {
      this.#cancel = null;
      void this.#write();
    });
  }

  /** The log first: a record never stands ahead of what a power cut would leave of the log. */
  async #writeOnce(): Promise<void> {
    if (!this.#dirty || this.#abandoned) return;
    this.#dirty = false;
    this.#urgent = false;
    const { state, task } = this.#port;
    const synced = await this.#port.synced();
    if (synced.ok && !this.#abandoned) await writeTaskRecordAsync(task.paths.record, snapshotOf(state, task.paths.log));
  }
}

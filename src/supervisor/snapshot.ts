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
/**
 * Milliseconds within which a new state name is written. A state that is left at once (a call that is answered) costs no
 * write of its own, and an answer that waits for the log's sync does not share the disk with this file's two.
 */
const SOON_MS = 25;

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
  #timer: { due: number; cancel: () => void } | null = null;
  #writing: Promise<void> | null = null;
  #dirty = false;
  /** The state name has changed since the last write began: what follows that write comes soon. */
  #urgent = false;
  #abandoned = false;

  constructor(port: DriverPort) {
    this.#port = port;
  }

  changed(before: TaskState, after: TaskState): void {
    if (this.#abandoned) return;
    this.#dirty = true;
    this.#urgent ||= stateName(before) !== stateName(after) || costUsd(before) !== costUsd(after);
    this.#later();
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
    this.#disarm();
    this.#abandoned = true;
  }

  /** Writes the last state; nothing is written after it. */
  async close(): Promise<void> {
    this.#disarm();
    if (this.#writing) await this.#writing;
    await this.#write();
    this.#disarm();
  }

  #write(): Promise<void> {
    this.#writing ??= this.#writeOnce().finally(() => {
      this.#writing = null;
      if (this.#dirty && !this.#abandoned) this.#later();
    });
    return this.#writing;
  }

  /** A write under way looks again at its end. */
  #later(): void {
    if (this.#writing !== null) return;
    const { clock } = this.#port.deps;
    const ms = this.#urgent ? SOON_MS : LAZY_MS;
    const due = clock.mono() + ms;
    if (this.#timer !== null && this.#timer.due <= due) return;
    this.#disarm();
    const cancel = clock.setTimer(ms, () => {
      this.#timer = null;
      void this.#write();
    });
    this.#timer = { due, cancel };
  }

  #disarm(): void {
    this.#timer?.cancel();
    this.#timer = null;
  }

  /** The log first: a record never stands ahead of what a power cut would leave of the log. */
  async #writeOnce(): Promise<void> {
    if (!this.#dirty || this.#abandoned) return;
    this.#disarm();
    this.#dirty = false;
    this.#urgent = false;
    const { state, task } = this.#port;
    const synced = await this.#port.synced();
    if (synced.ok && !this.#abandoned) await writeTaskRecordAsync(task.paths.record, snapshotOf(state, task.paths.log));
  }
}

/**
 * The emergency stop as one driver knows it: the one check before every move, the registration of everything that runs,
 * and what is done when an order comes. It decides nothing: an order becomes events of the task's own log, and the
 * machine does the rest.
 */
import type { EvidenceEntry, StopCheck, StopOrder, TaskControl } from "../control/index.ts";
import { isFurther, orderOf } from "../control/orders.ts";
import type { ContainmentRecord } from "../core/contracts/worker.ts";
import { type Failure, failure, type Result } from "../core/result.ts";
import { systemClock } from "../platform/clock.ts";
import { listRemaining } from "../platform/containment/index.ts";
import type { Driver } from "./driver.ts";
import { bringDown } from "./obey-stop.ts";

/** What a driver's parts ask before a move. */
export interface MoveGate {
  /** Null when the move may be made now. About 30 microseconds; a stop that stands is obeyed before this returns. */
  held(): Failure | null;
  /** Waits while nobody can tell whether a stop stands; false when the task was stopped, taken away or let go of. */
  clear(): Promise<boolean>;
  /** Writes down what is about to run; the process is released after this alone. Reason `estop`, or a disk fault. */
  register(tree: ContainmentRecord, what: string): Promise<Result>;
  /** Takes it off the record once it is proven gone. */
  release(tree: ContainmentRecord): Promise<void>;
}

const LOOK_MS = 250;
const HUNG = "An emergency stop came and went while this process could not act.";

/** For a task that is only to be stopped: nothing of it may begin. */
export const CLOSED_GATE: MoveGate = {
  held: () => failure("estop", "This task was taken only to be stopped; nothing of it goes on."),
  clear: async () => false,
  register: async () => failure("estop", "This task was taken only to be stopped; nothing of it starts."),
  release: async () => undefined,
};

/** Asked before an effect begins: null where nothing is held (nothing is waited for then), else the wait for it. */
export function heldUp(port: { readonly estop: MoveGate }): Promise<boolean> | null {
  return port.estop.held() === null ? null : port.estop.clear();
}

export class TaskStop implements MoveGate {
  #task: TaskControl;
  /** What moves of this driver began under; another one later means that a stop has been in between. */
  #epoch: number;
  #driver: Driver | undefined;
  /** The last order that was turned into events. */
  #obeyed: StopOrder | undefined;
  /** An order that came before the driver had its task. */
  #early: StopOrder | undefined;
  #begun = false;
  #said = "";
  readonly #refresh: () => void;

  constructor(task: TaskControl, refresh: () => void) {
    this.#task = task;
    this.#epoch = epochOf(task.check());
    this.#refresh = refresh;
  }

  get identity(): string {
    return this.#task.identity;
  }

  get isCurrent(): boolean {
    return this.#task.isCurrent(this.#epoch);
  }

  bind(driver: Driver): void {
    this.#driver = driver;
  }

  /** The driver has its task: an order that came before is obeyed now. */
  begin(): void {
    if (this.#begun) return;
    this.#begun = true;
    if (this.#early) this.obey(this.#early);
  }

  /** After a person lifted the stop: the identity was taken anew. */
  renew(task: TaskControl): void {
    this.#task = task;
    this.#epoch = epochOf(task.check());
    this.#obeyed = undefined;
    this.#said = "";
  }

  held(): Failure | null {
    const check = this.#task.check();
    if (check.clear && check.epoch === this.#epoch) return null;
    this.#look(check);
    if (!check.clear) return failure("estop", `${check.message} ${check.remedy}`);
    return failure("estop", `${HUNG} Recover the task when you have looked at it.`);
  }

  async clear(): Promise<boolean> {
    for (;;) {
      const driver = this.#driver;
      if (driver === undefined || driver.closing !== null || isOver(driver)) return false;
      const held = this.held();
      if (held === null) return true;
      if (isOver(driver)) return false;
      this.#say(held.message);
      await new Promise<void>((resolve) => systemClock.setTimer(LOOK_MS, resolve, { background: true }));
    }
  }

  async register(tree: ContainmentRecord, what: string): Promise<Result> {
    const held = this.held();
    if (held !== null) return held;
    const registered = await this.#task.register({ id: tree.marker, kind: "tree", tree, what });
    // A stop may have come while it was written.
    return registered.ok ? (this.held() ?? registered) : registered;
  }

  async release(tree: ContainmentRecord): Promise<void> {
    if (listRemaining(tree).length > 0) return;
    // What stays on the record is looked for again by the next stop; nothing waits for this.
    await this.#task.release(tree.marker);
  }

  /** Writes down that a person has the session: from then on a stop ends whatever Claude is open in it. Reason `estop`. */
  async lend(session: string): Promise<Result> {
    const held = this.held();
    if (held !== null) return held;
    const what = "the Claude of the person who took the task over";
    const registered = await this.#task.register({ id: session, kind: "session", session, what });
    return registered.ok ? (this.held() ?? registered) : registered;
  }

  /** The session is the worker's again. */
  async giveBack(session: string): Promise<void> {
    await this.#task.release(session);
  }

  /** Turns an order into events and a teardown. The same order again changes nothing. */
  obey(order: StopOrder): void {
    const driver = this.#driver;
    if (driver === undefined || !this.#begun) {
      this.#early = order;
      return;
    }
    if (!isFurther(order, this.#obeyed)) return;
    const isNew = this.#obeyed?.epoch !== order.epoch;
    this.#obeyed = order;
    driver.attend(bringDown(driver, this.#task, order, isNew));
  }

  /** What the stop's room records beside its own file; told beside the stop, never waited for. */
  async note(type: EvidenceEntry["type"], epoch: number): Promise<void> {
    const driver = this.#driver;
    if (driver === undefined || driver.closing !== null) throw new Error("Its log is closed.");
    if (type === "acknowledged") driver.record({ type: "estop.acknowledged", data: { epoch } });
    else if (type === "verified") driver.record({ type: "estop.verified", data: { epoch } });
    else if (type === "failed") driver.record({ type: "estop.failed", data: { epoch } });
    const synced = await driver.synced();
    if (!synced.ok) throw new Error(synced.message);
  }

  async ended(cause: "completed" | "ended"): Promise<void> {
    await this.#task.end(cause);
  }

  /** Pi lets go of a task that is not over. */
  async close(): Promise<void> {
    await this.#task.close();
  }

  /** A stop that has an epoch is obeyed at once; the controller gives a bare file one. */
  #look(check: StopCheck): void {
    if (check.clear) {
      const { identity, taskId } = this.#task;
      const at = new Date().toISOString();
      const { epoch } = check;
      this.obey({
        identity,
        taskId,
        verb: "stop",
        how: "now",
        epoch,
        cause: "missed",
        source: "latch",
        reason: HUNG,
        at,
      });
      return;
    }
    const order = orderOf(check, this.#task, new Date());
    const hasEpoch = check.source === "latch" || check.source === "identity" || check.source === "memory";
    if (order !== undefined && hasEpoch) this.obey(order);
    else this.#refresh();
  }

  /** A hold that nobody asked for is named once in the log. */
  #say(message: string): void {
    if (this.#said === message || this.#driver === undefined) return;
    this.#said = message;
    const text = this.#driver.redactor.text(`Nothing goes on: ${message}`).slice(0, 1_000);
    this.#driver.record({ type: "notice", data: { level: "warning", text } });
  }
}

/** A stop in between leaves a number that no later check agrees with. */
function epochOf(check: StopCheck): number {
  return check.clear ? check.epoch : -1;
}

function isOver({ state }: Driver): boolean {
  const { stop, ended, owner, control } = state;
  return stop.kind !== "none" || ended.kind !== "no" || owner.kind !== "held" || control.kind !== "supervised";
}

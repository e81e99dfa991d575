/**
 * The emergency stop's room in this process: opened when the first task needs it, and nothing before. Where it cannot be
 * opened nothing may begin, because nothing could be stopped; looking at tasks and stopping them works all the same.
 */
import type { ControlPort } from "../control/control-port.ts";
import { openControl } from "../control/controller.ts";
import type { LastRequest } from "../control/last-request.ts";
import type { StopOrder } from "../control/orders.ts";
import { type Failure, failure, type Result } from "../core/result.ts";
import { configOf } from "./config.ts";
import type { SupervisorDeps } from "./deps.ts";
import { TaskStop } from "./task-stop.ts";

export interface StopIdentity {
  taskId: string;
  /** Real path of the workspace. */
  cwd: string;
  /** The person's own name for it; default: the task's id. */
  controlId?: string | undefined;
  /** Milliseconds that a worker whose Pi has died may take to leave by itself. Default 0. */
  graceMs?: number;
}

export class StopRoom {
  readonly #deps: SupervisorDeps;
  #control: ControlPort | undefined;
  #opening: Promise<Result<{ control: ControlPort }>> | undefined;
  readonly #stops = new Map<string, TaskStop>();
  #closed = false;

  constructor(deps: SupervisorDeps) {
    this.#deps = deps;
  }

  /** Null when something new may begin in this account. Reasons: `estop`, or why no stop could be received. */
  async refusal(): Promise<Failure | null> {
    const opened = await this.#open();
    if (!opened.ok) return opened;
    const check = opened.control.check();
    return check.clear ? null : failure("estop", `${check.message} ${check.remedy}`);
  }

  /**
   * Takes the task's name in the stop's own folder, before anything of the task runs. Reasons: `estop`, `busy`,
   * `bad-identity`, `failed-to-stop`, `control-dir-in-workspace`, or why no stop could be received.
   */
  async enroll({ taskId, cwd, controlId, graceMs = 0 }: StopIdentity): Promise<Result<{ stop: TaskStop }>> {
    const opened = await this.#open();
    if (!opened.ok) return opened;
    const { control } = opened;
    const identity = controlId ?? taskId;
    const foreign = heldByOther(control, identity, taskId);
    if (foreign !== undefined) return foreign;
    const enrolled = await control.enroll({ identity, taskId, cwd, graceMs });
    if (!enrolled.ok) return enrolled;
    const known = this.#stops.get(identity);
    if (known !== undefined) known.renew(enrolled.task);
    const stop = known ?? new TaskStop(enrolled.task, () => void control.refresh());
    this.#stops.set(identity, stop);
    // An order between the record and this line was delivered to nobody.
    void control.refresh();
    return { ok: true, stop };
  }

  /** What was asked of a task, under its own name or another; nothing where no stop could be received here. */
  async lastRequest(identity: string): Promise<LastRequest | undefined> {
    const opened = await this.#open();
    return opened.ok ? opened.control.lastRequest(identity) : undefined;
  }

  /** The task is over, or this process lets go of it. */
  async leave(stop: TaskStop, how: "completed" | "ended" | "quit"): Promise<void> {
    if (this.#stops.get(stop.identity) === stop) this.#stops.delete(stop.identity);
    if (how === "quit") await stop.close();
    else await stop.ended(how);
  }

  /** Nothing of it ran: the name is free again. */
  async abandon(stop: TaskStop): Promise<void> {
    await this.leave(stop, "ended");
    this.#control?.forget(stop.identity);
  }

  /** The task's record is dropped: so is what the stop keeps of it, unless a stop stands on it. */
  async forget(taskIds: readonly string[]): Promise<void> {
    if (taskIds.length === 0) return;
    const opened = await this.#open();
    if (opened.ok) opened.control.forgetTasks(new Set(taskIds));
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#opening;
    await this.#control?.close();
    this.#control = undefined;
  }

  #open(): Promise<Result<{ control: ControlPort }>> {
    if (this.#closed) return Promise.resolve(failure("closing", "Pi is ending; nothing new is begun."));
    if (this.#control !== undefined) return Promise.resolve({ ok: true, control: this.#control });
    this.#opening ??= this.#openOnce().finally(() => {
      this.#opening = undefined;
    });
    return this.#opening;
  }

  async #openOnce(): Promise<Result<{ control: ControlPort }>> {
    const { env, salt, createRedactor } = this.#deps;
    const loaded = configOf(this.#deps, undefined);
    const redactor = createRedactor({ salt });
    const opened = await openControl({
      env,
      ...this.#deps.sharedStop,
      redact: (text) => redactor.text(text),
      evidence: async ({ type, identity, epoch }) => {
        const stop = this.#stops.get(identity);
        if (stop === undefined) throw new Error("Its task is not driven here any more.");
        await stop.note(type, epoch);
      },
      // A stop that a broken configuration could refuse would be none.
      agentMayPause: loaded.ok ? loaded.config.settings.agentMayPause : true,
    });
    if (!opened.ok) return { ...opened, message: `No emergency stop could be received here: ${opened.message}` };
    this.#control = opened.control;
    opened.control.onStop((order: StopOrder) => this.#stops.get(order.identity)?.obey(order));
    return opened;
  }
}

/** A name that a person chose is one task's until that has ended. */
function heldByOther(control: ControlPort, identity: string, taskId: string): Failure | undefined {
  const owner = control.taskOf(identity);
  if (owner === undefined || owner === taskId) return undefined;
  return failure(
    "bad-identity",
    `The name ${identity} belongs to task ${owner}, which has not ended. Choose another in PI_CLAUDE_SUPERVISOR_CONTROL_ID.`,
  );
}

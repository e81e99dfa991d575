/** The tasks of one state folder as this process sees them: its own drivers, and everybody's records on disk. */
import type { PersonCalled } from "../core/contracts/notice.ts";
import type { EventMap } from "../core/events.ts";
import { type PersonCommand, refusal } from "../core/machine/admit.ts";
import { isTerminal } from "../core/machine/project.ts";
import type { TaskState } from "../core/machine/state.ts";
import { type Failure, failure, type Result } from "../core/result.ts";
import { clearSecretFinder, knownValues } from "../redaction/index.ts";
import { type CwdLock, takeCwdLock } from "../store/cwd-lock.ts";
import { type OwnedTask, openTaskVerified } from "../store/task-store.ts";
import type { TaskUpdate, TaskView } from "./api.ts";
import { type AutomationSwitch, automationSwitch } from "./automation-switch.ts";
import { configOf, webhookSecrets } from "./config.ts";
import { createDayLedger, type DayLedger } from "./day-ledger.ts";
import type { SupervisorDeps } from "./deps.ts";
import { Driver } from "./driver.ts";
import { guardedRedactor } from "./guarded-redactor.ts";
import { createNotices, type NoticeOutcome, type Notices } from "./notices.ts";
import { ORPHAN_GRACE_MS } from "./run-worker.ts";
import { shownUpdate } from "./shown-update.ts";
import { ownerIdentity } from "./start.ts";
import { StopRoom } from "./stop-room.ts";
import { foldLog, presentSnapshot, readSnapshot, viewOfStored } from "./stored-task.ts";
import { takeFolder } from "./take-folder.ts";
import type { TaskStop } from "./task-stop.ts";
import { viewOf } from "./view.ts";

export class Scope {
  readonly deps: SupervisorDeps;
  readonly drivers = new Map<string, Driver>();
  readonly listeners = new Set<(update: TaskUpdate) => void>();
  readonly callListeners = new Set<(call: PersonCalled) => void>();

  readonly automation: AutomationSwitch;
  readonly days: { ledger: DayLedger; told: Set<string> };
  readonly notices: Notices;
  /** Faults whose report a person has been shown in this process: `<task>:<fault>`. */
  readonly faultsShown = new Set<string>();
  readonly estop: StopRoom;

  constructor(deps: SupervisorDeps) {
    this.deps = deps;
    this.estop = new StopRoom(deps);
    this.automation = automationSwitch(deps);
    this.days = { ledger: createDayLedger(deps), told: new Set() };
    this.notices = createNotices({
      deps,
      record: (taskId, event) => this.#noted(taskId, event),
      called: (call) => {
        for (const listener of [...this.callListeners]) listener(call);
      },
    });
  }

  /** A person is being shown this task: with a fault, where its report is and what it says. */
  sawFault({ taskId, faultReport, reason }: TaskView): void {
    if (faultReport !== null) this.faultsShown.add(`${taskId}:${reason}`);
  }

  tell(update: TaskUpdate): void {
    for (const listener of [...this.listeners]) listener(update);
  }

  /** A task that has ended has no log to write to any more: what is to be said is only shown. */
  #noted(taskId: string, event: NoticeOutcome): void {
    const driver = this.drivers.get(taskId);
    if (driver && driver.closing === null) driver.record(event);
    else if (event.type === "notice") this.tell(shownUpdate(taskId, event.data));
  }

  /** Makes the driver of a task that this process has locked. `state` is what its log folds to. */
  drive(task: OwnedTask, cwdLock: CwdLock | null, state: TaskState, stop: TaskStop | null): Driver {
    const { env, salt } = this.deps;
    const names = state.spec?.workerEnvNames ?? [];
    const values = Object.fromEntries(names.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]]])));
    const config = configOf(this.deps, undefined);
    const hidden = config.ok ? webhookSecrets(config.config.settings) : [];
    const known = [...knownValues(values), ...hidden];
    const redactor = this.deps.createRedactor({ salt, known });
    const driver: Driver = new Driver({
      deps: this.deps,
      task,
      cwdLock,
      redactor: guardedRedactor(redactor, (detail) =>
        driver.record({ type: "gate.incident", data: { fault: "secret-risk", detail } }),
      ),
      clearSecretIn: clearSecretFinder(redactor, known),
      state,
      automation: this.automation,
      days: this.days,
      stop,
      onLeaving: (one, how) => this.estop.leave(one, how),
      onUpdate: (update) => {
        this.notices.update(update);
        this.tell(update);
      },
      onReleased: () => this.drivers.delete(task.taskId),
    });
    this.drivers.set(task.taskId, driver);
    return driver;
  }

  /** The driver of a task that this process owns and goes on owning: one that is letting go is waited for. */
  async driver(taskId: string): Promise<Driver | undefined> {
    await this.drivers.get(taskId)?.closing;
    return this.drivers.get(taskId);
  }

  liveView(taskId: string): TaskView | null {
    const driver = this.drivers.get(taskId);
    return driver ? viewOf(driver.state, driver.task.paths.log, this.deps.clock.mono()) : null;
  }

  /** Live from memory, else as the log has it. Reasons: those of `presentSnapshot`. */
  async look(taskId: string): Promise<Result<{ task: TaskView }>> {
    const live = this.liveView(taskId);
    if (live) return { ok: true, task: live };
    const read = await presentSnapshot(this.deps.layout, taskId);
    return read.ok ? { ok: true, task: viewOfStored(read.record) } : read;
  }

  /** Live from memory, else from the record, which is up to a second late. Reasons: those of `readSnapshot`. */
  view(taskId: string): Result<{ task: TaskView }> {
    const live = this.liveView(taskId);
    if (live) return { ok: true, task: live };
    const read = readSnapshot(this.deps.layout, taskId);
    return read.ok ? { ok: true, task: viewOfStored(read.record) } : read;
  }

  /** The driver of a task that this process owns and whose state takes the command; else why not. */
  async owned(taskId: string, command: PersonCommand): Promise<Result<{ driver: Driver }>> {
    const driver = await this.driver(taskId);
    if (!driver) {
      const view = await this.look(taskId);
      return view.ok ? notOwned(view.task) : view;
    }
    const held = command === "stop" || command === "pause" ? null : driver.estop.held();
    if (held !== null) return held;
    const refused = refusal(driver.state, command);
    if (!refused) return { ok: true, driver };
    driver.record({ type: "rejected", data: { what: command, reason: refused.reason, message: refused.message } });
    return refused;
  }

  /**
   * Becomes the owner of a task whose owner is gone: its lock, its whole log checked and folded, its folder's lock. A stop
   * needs no folder: it works while another task has it, and when it is gone. Reasons: `live`, `cwd-busy`, `cwd`,
   * `log-damaged`, `no-task`, or a disk fault; then nothing has changed.
   */
  async claim(
    taskId: string,
    why: EventMap["owner.claimed"]["why"],
  ): Promise<Result<{ driver: Driver; claim: Claim }>> {
    const { layout, clock } = this.deps;
    const self = ownerIdentity(this.deps);
    if (!self.ok) return self;
    const known = readSnapshot(layout, taskId);
    const anchor = known.ok ? { anchor: { seq: known.record.seq } } : {};
    const holder = { ...self.owner, taskId, since: clock.now().toISOString() };
    const opened = await openTaskVerified(
      layout,
      { taskId, holder, ...anchor },
      { clock, ...(this.deps.logFs ? { logFs: this.deps.logFs } : {}) },
    );
    if (!opened.ok) return opened;
    const { task } = opened;
    const abandon = async (fault: Failure): Promise<Failure> => {
      await task.log.close();
      task.lock.release();
      return fault;
    };
    let knownStop = 0;
    const folded = await foldLog(task.paths.log, taskId, undefined, ({ type, data }) => {
      if (type === "estop.requested") knownStop = (data as EventMap["estop.requested"]).epoch;
    });
    if (!folded.ok) return abandon(folded);
    const { spec } = folded.state;
    if (!spec) return abandon(failure("log-damaged", `The log of task ${taskId} does not begin with its creation.`));
    const cwdLock =
      why === "stop" ? takeCwdLock(layout, spec.cwd, holder) : await takeFolder(this.deps, spec.cwd, holder);
    if (!cwdLock.ok && why !== "stop") return abandon(cwdLock);
    const graceMs = why === "stop" ? 0 : ORPHAN_GRACE_MS;
    const enrolled = await this.estop.enroll({ taskId, cwd: spec.cwd, controlId: spec.controlId, graceMs });
    if (!enrolled.ok && why !== "stop") {
      if (cwdLock.ok) cwdLock.lock.release();
      return abandon(enrolled);
    }
    const driver = this.drive(task, cwdLock.ok ? cwdLock : null, folded.state, enrolled.ok ? enrolled.stop : null);
    if (!known.ok || known.record.seq !== folded.state.seq) driver.renewRecord();
    const { recovered, missing } = opened;
    if (recovered || missing !== undefined) {
      const torn = recovered ? { tornBytes: recovered.bytes, file: recovered.file } : { tornBytes: 0 };
      driver.record({ type: "log.recovered", data: { ...torn, ...(missing === undefined ? {} : { missing }) } });
    }
    const missed = await this.estop.lastRequest(spec.controlId ?? taskId);
    /* Nobody drove it when that came: its log says so from here on, and nothing follows from it any more. */
    if (missed !== undefined && missed.epoch > knownStop)
      driver.record({ type: "estop.requested", data: { ...missed, late: true } });
    return { ok: true, driver, claim: { type: "owner.claimed", data: { owner: self.owner, why } } };
  }
}

/** A task that this process still has goes on: under a newer epoch when a person lifted a stop meanwhile. */
async function enrollAgain(scope: Scope, driver: Driver): Promise<Result> {
  if (driver.taskStop?.isCurrent) return { ok: true };
  const { taskId, spec } = driver.state;
  if (!spec) return failure("log-damaged", `The log of task ${taskId} does not begin with its creation.`);
  const enrolled = await scope.estop.enroll({ taskId, cwd: spec.cwd, controlId: spec.controlId });
  if (!enrolled.ok) return enrolled;
  /* It has ended meanwhile and lets go: what it leaves by then is not this. */
  if (driver.closing) await scope.estop.abandon(enrolled.stop);
  else driver.take(enrolled.stop);
  return { ok: true };
}

/** The driver of a task of this process that is there to stay, known to the emergency stop; undefined when it has none. */
export async function stayingDriver(scope: Scope, taskId: string): Promise<Result<{ driver: Driver | undefined }>> {
  for (;;) {
    const driver = await scope.driver(taskId);
    if (!driver?.holdsFolder) return { ok: true, driver };
    const enrolled = await enrollAgain(scope, driver);
    if (!enrolled.ok) return enrolled;
    if (!driver.closing) return { ok: true, driver };
  }
}

/** The record by which a claim counts; the caller appends it together with what it claims the task for. */
export interface Claim {
  type: "owner.claimed";
  data: EventMap["owner.claimed"];
}

export function notOwned(view: TaskView): Failure {
  const { taskId, owner, state } = view;
  if (owner?.alive) {
    return failure(
      "live",
      `Task ${taskId} is driven by another Pi (process ${owner.pid} on ${owner.host}, since ${owner.since}); use that one.`,
    );
  }
  if (state === "completed") return failure("completed", `Task ${taskId} is completed; start a new one for more work.`);
  if (state === "failed_to_stop") {
    return failure(
      "remaining",
      `Task ${taskId} could not be stopped whole; run \`/supervise stop ${taskId}\` again first.`,
    );
  }
  if (isTerminal(state))
    return failure("ended", `Task ${taskId} is ${state}; \`/supervise recover ${taskId}\` goes on with it.`);
  if (state === "taken_over")
    return failure("taken-over", `A person has task ${taskId}; \`/supervise handback ${taskId}\` gives it back.`);
  return failure(
    "recoverable",
    `Task ${taskId} has no owner any more; \`/supervise recover ${taskId}\` goes on with it.`,
  );
}

export function logFull(): Failure {
  return failure(
    "log-unavailable",
    "The event log can't be written (is the disk full?), so nothing was done. Make room and try again.",
  );
}

/**
 * The emergency stop inside a Pi process: one port for all its tasks.
 *
 *     const opened = await openControl({ redact, … });          // before anything else is looked at
 *     const { control } = opened;
 *     control.onStop((order) => …abort, control.task(order.identity)?.acknowledge(order.epoch), tear down, report…);
 *     const enrolled = await control.enroll({ identity, taskId, cwd });   // before the first spawn
 *     enrolled.task.check();                                    // before every move, again after every await
 *
 * Memory: one small record and a few stat keys for each enrolled task; the socket holds at most 32 lines of 4 KiB.
 */
import { randomBytes } from "node:crypto";
import { hostname } from "node:os";
import { failure, type Result } from "../core/result.ts";
import { type Clock, systemClock } from "../platform/clock.ts";
import { createIds } from "../platform/ids.ts";
import { bootId, identify } from "../platform/process/index.ts";
import { type Adoption, adoptMarker, adoptShared } from "./adopt.ts";
import { keepAgentPause } from "./agent-pause.ts";
import { type StopCheck, StopChecker, type StopHeld } from "./check.ts";
import type { ControlPort, OpenControlOptions } from "./control-port.ts";
import { Endpoint, removeDeadSockets, socketPathOf } from "./endpoint.ts";
import { type EnrollInput, enroll, estop } from "./enroll.ts";
import type { FileDeps } from "./files.ts";
import { type ControlFolder, openControlFolder } from "./folder.ts";
import { forgetRecord, forgetRecordsOf, taskOfRecord } from "./forget.ts";
import { type LastRequest, lastRequestOf } from "./last-request.ts";
import { isFurther, orderOf, type StopOrder } from "./orders.ts";
import type { Nudge, NudgeReply } from "./protocol.ts";
import { checkReason } from "./reason.ts";
import type { Actor, ControllerInfo } from "./record.ts";
import { type RequestDeps, requestStop, type StopReport, settleOrphans } from "./request.ts";
import { type Resumed, resume } from "./resume.ts";
import { ALL, keepSpare, type LatchRequest, setLatch } from "./set-latch.ts";
import { SharedStop } from "./shared-stop.ts";
import { type ControlStatus, readStatus } from "./status.ts";
import { LiveTask, type TaskControl } from "./task-control.ts";
import { type FolderWatch, watchFolder } from "./watcher.ts";

/** Fails where a stop could not be received: then nothing may start. */
export async function openControl(options: OpenControlOptions): Promise<Result<{ control: ControlPort }>> {
  const opened = openControlFolder(options);
  if (!opened.ok) return opened;
  const { folder } = opened;
  const instanceId = options.instanceId ?? randomBytes(6).toString("hex");
  const socket = socketPathOf(folder, instanceId);
  if (!socket.ok) return socket;
  const setting = keepAgentPause(folder, options.agentMayPause ?? true);
  if (!setting.ok) return setting;
  const controller = new Controller(folder, socket.path, instanceId, options);
  const listening = await controller.begin();
  return listening.ok ? { ok: true, control: controller } : listening;
}

class Controller implements ControlPort {
  readonly folder: ControlFolder;
  readonly socket: string;
  readonly #options: OpenControlOptions;
  readonly #clock: Clock;
  readonly #files: FileDeps;
  readonly #shared: SharedStop;
  readonly #checker: StopChecker;
  readonly #endpoint: Endpoint;
  readonly #info: ControllerInfo;
  readonly #ids: ReturnType<typeof createIds>;
  readonly #tasks = new Map<string, LiveTask>();
  readonly #listeners = new Set<(order: StopOrder) => void>();
  readonly #watches: FolderWatch[] = [];
  /** Looks come one after the other; the last one asked for has seen everything before it. */
  #looking: Promise<void> = Promise.resolve();
  #queued: Promise<void> | undefined;

  constructor(folder: ControlFolder, socket: string, instanceId: string, options: OpenControlOptions) {
    this.folder = folder;
    this.socket = socket;
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#files = { clock: this.#clock, ...(options.fs ? { fs: options.fs } : {}) };
    const { account, platformFolder } = options;
    this.#shared = new SharedStop({
      ownership: folder.ownership,
      ...(account ? { account } : {}),
      ...(platformFolder === undefined ? {} : { platformFolder }),
    });
    this.#checker = new StopChecker(folder, this.#shared.check);
    this.#ids = createIds({ clock: this.#clock });
    const self = identify(process.pid) ?? { pid: process.pid, startTicks: "", bootId: bootId() };
    this.#info = { ...self, instanceId, socket, since: this.#clock.now().toISOString() };
    this.#endpoint = new Endpoint(folder, socket, { clock: this.#clock, answer: (nudge) => this.#answer(nudge) });
  }

  async begin(): Promise<Result> {
    const listening = await this.#endpoint.listen();
    if (!listening.ok) return listening;
    keepSpare(this.folder);
    const pollMs = this.#options.pollMs ?? 500;
    const look = (): void => void this.refresh();
    for (const path of new Set([this.folder.path, this.folder.socketDir])) {
      this.#watches.push(watchFolder(path, { clock: this.#clock, pollMs, look }));
    }
    // Records that a dead process left behind are verified beside our start, which never waits for them.
    void settleOrphans(this.folder, this.#requestDeps()).catch(warn);
    void removeDeadSockets(this.folder, this.#clock.now()).catch(warn);
    return { ok: true };
  }

  check(identity?: string): StopCheck {
    return this.#checker.check(identity);
  }

  task(identity: string): TaskControl | undefined {
    return this.#tasks.get(identity);
  }

  async enroll(input: EnrollInput): Promise<Result<{ task: TaskControl }>> {
    const present = this.#tasks.get(input.identity);
    if (present !== undefined) {
      const check = present.check();
      if (!check.clear) return estop(check);
      if (present.taskId !== input.taskId) {
        return failure(
          "busy",
          `${input.identity} is in use by task ${present.taskId} of this process. Choose another.`,
        );
      }
      await present.close();
    }
    const kept = this.#shared.begin();
    if (!kept.ok) return kept;
    const { pin } = kept;
    const context = {
      folder: this.folder,
      checker: this.#checker,
      clock: this.#clock,
      files: this.#files,
      redact: this.#options.redact,
      controller: this.#info,
      ...(pin ? { shared: { folder: pin.folder.path, person: pin.setting.person.uid } } : {}),
    };
    const taken = await enroll(input, context);
    if (!taken.ok) return taken;
    this.#checker.know(input.identity, pin);
    const task = new LiveTask({
      ...context,
      lock: taken.lock,
      identity: input.identity,
      taskId: input.taskId,
      ...(this.#options.evidence ? { evidence: this.#options.evidence } : {}),
      onClosed: () => {
        this.#tasks.delete(input.identity);
        this.#checker.forget(input.identity);
      },
    });
    this.#tasks.set(input.identity, task);
    // A stop between the record and this line has named the record, and nobody else will tell the task.
    void this.refresh();
    return { ok: true, task };
  }

  onStop(listener: (order: StopOrder) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  refresh(): Promise<void> {
    this.#queued ??= this.#looking.then(() => {
      this.#queued = undefined;
      this.#looking = this.#look().catch(warn);
      return this.#looking;
    });
    return this.#queued;
  }

  async request(input: Parameters<ControlPort["request"]>[0]): Promise<Result<{ report: StopReport }>> {
    const reason = checkReason(input.reason);
    if (!reason.ok) return reason;
    const { verb, scope, actor, how = "now" } = input;
    if (verb === "pause" && actor.kind === "agent" && this.#options.agentMayPause === false) {
      return failure("not-a-person", "Agents may not pause here (agentMayPause is false).");
    }
    const cause = actor.kind === "agent" ? "agent" : "operator";
    const request: LatchRequest = {
      verb,
      scope,
      how,
      reason: this.#options.redact(reason.text),
      cause,
      actor,
      requestId: this.#ids.uuid(),
    };
    const waitMs = input.waitMs === undefined ? {} : { waitMs: input.waitMs };
    return requestStop(this.folder, request, { ...this.#requestDeps(), ...waitMs });
  }

  async resume(input: Parameters<ControlPort["resume"]>[0]): Promise<Result<{ resumed: Resumed }>> {
    const reason = checkReason(input.reason);
    if (!reason.ok) return reason;
    const request = { ...input, reason: this.#options.redact(reason.text), requestId: this.#ids.uuid() };
    return resume(this.folder, request, this.#files);
  }

  status(scope: string): Result<{ status: ControlStatus }> {
    return readStatus(this.folder, scope, this.#clock.now(), this.#shared.check);
  }

  forget(identity: string): Result {
    return forgetRecord(this.folder, identity);
  }

  lastRequest(identity: string): LastRequest | undefined {
    return lastRequestOf(this.folder, identity);
  }

  taskOf(identity: string): string | undefined {
    return taskOfRecord(this.folder, identity);
  }

  forgetTasks(taskIds: ReadonlySet<string>): void {
    forgetRecordsOf(this.folder, taskIds);
  }

  async close(): Promise<void> {
    for (const watch of this.#watches.splice(0)) watch.close();
    await Promise.all([...this.#tasks.values()].map((task) => task.close()));
    this.#endpoint.close();
  }

  async #look(): Promise<void> {
    if (this.#watches.length === 0) return;
    for (const task of [...this.#tasks.values()]) {
      let check = task.check();
      // After a resume the same task may be stopped again.
      if (check.clear) task.order = undefined;
      if (check.clear || check.reason === "unclear") continue;
      if (needsEpoch(check, task.order)) check = await this.#adopt(check, task.identity);
      this.#deliver(task, check);
    }
    // Housekeeping comes after what is urgent.
    if (!this.#endpoint.isThere()) await this.#endpoint.listen();
    await this.#writePending();
  }

  #deliver(task: LiveTask, held: StopHeld): void {
    const order = orderOf(held, task, this.#clock.now());
    if (order === undefined || !isFurther(order, task.order)) return;
    task.order = order;
    if (order.how === "after-call") {
      const hurry = (): void => {
        if (task.order?.epoch === order.epoch && !task.check().clear) this.#deliver(task, { ...held, how: "now" });
      };
      this.#clock.setTimer(this.#options.afterCallMs ?? 60_000, hurry, { background: true });
    }
    for (const listener of this.#listeners) {
      try {
        listener(order);
      } catch (error) {
        // One listener that breaks must not keep the others from hearing of a stop.
        warn(error);
      }
    }
  }

  /** Gives a bare file an epoch; where that can't be written, memory holds it. */
  async #adopt(held: StopHeld, identity: string): Promise<StopHeld> {
    const adoption: Adoption = {
      folder: this.folder,
      files: this.#files,
      actor: { uid: this.folder.ownership.uid, kind: "file", tty: false, host: hostname().slice(0, 64) },
      requestId: this.#ids.uuid(),
      reason: held.message.slice(0, 400),
    };
    const adopted =
      held.source === "shared-folder"
        ? await adoptShared([...this.#tasks.keys()], adoption)
        : await adoptMarker(held.source === "marker" ? identity : ALL, adoption);
    return { ...held, epoch: adopted.ok ? adopted.epoch : held.epoch + 1 };
  }

  /** What a full disk kept in memory is written as soon as it can be. */
  async #writePending(): Promise<void> {
    for (const [scope, known] of [...this.#checker.pending]) {
      this.#checker.check(scope === ALL ? undefined : scope);
      if (!this.#checker.pending.has(scope)) continue;
      const { verb, how, cause, reason } = known;
      const actor: Actor = { uid: this.folder.ownership.uid, kind: "supervisor", tty: false, host: hostname() };
      await setLatch(this.folder, { verb, scope, how, cause, reason, actor, requestId: this.#ids.uuid() }, this.#files);
    }
  }

  async #answer(nudge: Nudge): Promise<NudgeReply> {
    const { requestId, scope } = nudge;
    const tasks =
      scope === ALL ? [...this.#tasks.values()] : [this.#tasks.get(scope)].filter((task) => task !== undefined);
    if (nudge.verb === "status") return { ok: true, requestId, identities: [...this.#tasks.keys()] };
    if (tasks.length === 0 && scope !== ALL) return { ok: false, requestId, reason: `${scope} is not driven here.` };
    if (!this.#isWritten(nudge)) {
      const { epoch, verb, how, cause, requestedAt } = nudge;
      const reason = this.#options.redact(nudge.reason);
      this.#checker.pending.set(scope, { epoch, verb, how, cause, reason, at: requestedAt });
    }
    await this.refresh();
    const answers = await Promise.all(
      tasks.map(async (task) => ((await task.acknowledged(nudge.epoch, 5000)) ? [task.identity] : [])),
    );
    return { ok: true, requestId, acknowledged: answers.flat() };
  }

  #isWritten(nudge: Nudge): boolean {
    const reading = nudge.scope === ALL ? this.#checker.readLatch() : this.#checker.readRecord(nudge.scope);
    return reading.state === "read" && reading.value.epoch >= nudge.epoch;
  }

  #requestDeps(): RequestDeps {
    return { ...this.#files, redact: this.#options.redact };
  }
}

/** STOP-ALL and markers are covered by latch or record once they have an epoch; the shared folder's stop never is. */
function needsEpoch(held: StopHeld, last: StopOrder | undefined): boolean {
  return held.source === "stop-all" || held.source === "marker" || (held.source === "shared-folder" && !last);
}

function warn(error: unknown): void {
  process.emitWarning(error instanceof Error ? error : String(error));
}

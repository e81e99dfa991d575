/** The supervisor of one state folder in one process: what people ask for, and what can be read. */
import type { PersonCalled } from "../core/contracts/notice.ts";
import type { StoredEvent } from "../core/events.ts";
import { isTerminal, stateName } from "../core/machine/project.ts";
import { initialState } from "../core/machine/state.ts";
import { failure, type Result } from "../core/result.ts";
import { isTaskId } from "../platform/ids.ts";
import { readEvents, tailOfLog, verifyLog } from "../store/log-reader.ts";
import { discard, prune } from "./acts/discard.ts";
import { answerRequest, sendMessage } from "./acts/messages.ts";
import { type RecoverOptions, recoverTask } from "./acts/recover.ts";
import { pauseTask, stopTask } from "./acts/stop.ts";
import { handBackTask, takeOverTask } from "./acts/takeover.ts";
import { verifyTask } from "./acts/verify.ts";
import type { RequestView, StartAnswer, StartInput, Supervisor, TaskRow, TaskUpdate, TaskView } from "./api.ts";
import type { SupervisorDeps } from "./deps.ts";
import { followLog } from "./follow.ts";
import { knownTasks } from "./known-tasks.ts";
import { checkPolicy, showPolicy } from "./policy-view.ts";
import { Scope } from "./scope.ts";
import { STATE_SHAPE, stateHash } from "./snapshot.ts";
import { startTask } from "./start.ts";
import { advance, isSettled } from "./state-of-log.ts";
import {
  foldLog,
  type ListedRow,
  listRows,
  presentSnapshot,
  readSnapshot,
  rowOf,
  viewOfStored,
} from "./stored-task.ts";
import { surveyTasks } from "./survey.ts";
import { stopCommand } from "./view.ts";

/** What notices still get when Pi quits (ms). */
const LAST_NOTICES_MS = 1_000;

/** Most records that one `log` answer carries. */
const MAX_LOG_EVENTS = 1_000;

export class LocalSupervisor implements Supervisor {
  readonly #scope: Scope;
  /** Set when Pi is ending; settles when every worker has been let go of. */
  #closing: Promise<void> | null = null;

  #lastRows: ListedRow[] = [];
  #lastRequests: RequestView[] = [];
  #looking: Promise<void> | null = null;

  constructor(deps: SupervisorDeps) {
    this.#scope = new Scope(deps);
  }

  /** Set once `shutdown` was called; settles when nothing is owned any more. */
  get closed(): Promise<void> | null {
    return this.#closing;
  }

  async start(input: StartInput): Promise<Result<StartAnswer>> {
    if (this.#closing) return failure("closing", "Pi is ending; start the task in a new Pi.");
    const started = await startTask(this.#scope.deps, this.#scope.estop, input);
    if (!started.ok) return started;
    const { task, cwdLock, stop, events, spec, firstMessage, notices } = started;
    const { taskId } = task;
    const driver = this.#scope.drive(task, cwdLock, advance(initialState(taskId), events.slice(0, 1)), stop);
    driver.raw.keepText("goal", firstMessage);
    driver.adopt(events.slice(1));
    return { ok: true, taskId, cwd: spec.cwd, mode: spec.mode, stopCommand: stopCommand(taskId), notices };
  }

  async status(taskId: string): Promise<Result<{ task: TaskView }>> {
    const found = await this.#scope.look(taskId);
    if (found.ok) this.#scope.sawFault(found.task);
    return found;
  }

  async defaultTask(): Promise<string | null> {
    const live = [...this.#scope.drivers.keys()].sort().at(-1);
    return live ?? (await this.#rows())[0]?.taskId ?? null;
  }

  async sessions(all: boolean) {
    const rows = (await this.#rows()).map(({ requests: _requests, ...row }): TaskRow => {
      const live = this.#scope.liveView(row.taskId);
      return live ? rowOf(live) : row;
    });
    const open = rows.filter(({ state }) => state === "unreadable" || state === "failed_to_stop" || !isTerminal(state));
    return { ok: true as const, tasks: all ? rows : open };
  }

  async send(taskId: string, text: string) {
    return (await this.#scope.estop.refusal()) ?? sendMessage(this.#scope, taskId, text);
  }

  async approvals() {
    const { drivers, deps } = this.#scope;
    const elsewhere = (await this.#rows()).filter((row) => row.requests > 0 && !drivers.has(row.taskId));
    const stored = await Promise.all(
      elsewhere.map(async ({ taskId }) => {
        const read = await presentSnapshot(deps.layout, taskId);
        return read.ok ? viewOfStored(read.record).requests : [];
      }),
    );
    const all = [...this.live().flatMap((view) => view.requests), ...stored.flat()];
    return { ok: true as const, requests: all.filter((one) => one.askedOf === "person" || one.deferred) };
  }

  async approve(requestId: string, note: string | undefined, via: "command" | "dialog") {
    const refused = await this.#scope.estop.refusal();
    return refused ?? answerRequest(this.#scope, requestId, { decision: "approve", via, note });
  }

  async deny(requestId: string, reason: string | undefined, via: "command" | "dialog") {
    const refused = await this.#scope.estop.refusal();
    return refused ?? answerRequest(this.#scope, requestId, { decision: "deny", via, note: reason });
  }

  async answer(requestId: string, text: string, via: "command" | "dialog") {
    const refused = await this.#scope.estop.refusal();
    return refused ?? answerRequest(this.#scope, requestId, { decision: "answer", via, text });
  }

  async verify(taskId: string, options: { reviewWaitMs?: number } = {}) {
    return (await this.#scope.estop.refusal()) ?? verifyTask(this.#scope, taskId, options);
  }

  stop(taskId: string, reason: string | undefined) {
    return stopTask(this.#scope, taskId, "graceful", reason ?? "A person stopped the task.");
  }

  kill(taskId: string) {
    return stopTask(this.#scope, taskId, "now", "A person killed the task.");
  }

  pause(taskId: string, reason: string | undefined) {
    return pauseTask(this.#scope, taskId, reason ?? "A person paused the task.");
  }

  async recover(taskId: string, options: RecoverOptions) {
    if (this.#closing) return failure("closing", "Pi is ending; recover the task in a new Pi.");
    return (await this.#scope.estop.refusal()) ?? recoverTask(this.#scope, taskId, options);
  }

  async takeover(taskId: string) {
    if (this.#closing) return failure("closing", "Pi is ending; take the task over in a new Pi.");
    return (await this.#scope.estop.refusal()) ?? takeOverTask(this.#scope, taskId);
  }

  async handback(taskId: string, note: string | undefined) {
    if (this.#closing) return failure("closing", "Pi is ending; hand the task back in a new Pi.");
    return (await this.#scope.estop.refusal()) ?? handBackTask(this.#scope, taskId, note);
  }

  async discard(taskId: string, apply: boolean) {
    const done = await discard(this.#scope, taskId, apply);
    if (done.ok && done.removal.removed) await this.#scope.estop.forget([taskId]);
    return done;
  }

  async prune(olderThanMs: number, apply: boolean) {
    const done = await prune(this.#scope, olderThanMs, apply);
    if (done.ok) {
      const gone = done.removals.flatMap(({ taskId, removed }) => (removed ? [taskId] : []));
      await this.#scope.estop.forget(gone);
    }
    return done;
  }

  async log(taskId: string, options: { since?: number; limit: number }) {
    const { layout } = this.#scope.deps;
    const found = await presentSnapshot(layout, taskId);
    if (!found.ok) return found;
    const { log } = layout.task(taskId);
    const limit = Math.min(options.limit, MAX_LOG_EVENTS);
    const end = tailOfLog(log, taskId);
    const lastSeq = (end.ok ? end.tail.last?.seq : undefined) ?? found.record.seq;
    const from = options.since ?? Math.max(1, lastSeq - limit + 1);
    const events: StoredEvent[] = [];
    for await (const item of readEvents(log, taskId, { from, to: from + limit - 1 })) {
      if (!item.ok) return item;
      events.push(item.event as StoredEvent);
    }
    return { ok: true as const, events, path: log, lastSeq };
  }

  async follow(
    taskId: string,
    since: number,
    onEvent: (event: StoredEvent) => void,
    signal: AbortSignal,
  ): Promise<Result> {
    const found = await presentSnapshot(this.#scope.deps.layout, taskId);
    return found.ok ? followLog(this.#scope.deps, taskId, since, onEvent, signal) : found;
  }

  async verifyLog(taskId: string) {
    const { layout } = this.#scope.deps;
    const found = await presentSnapshot(layout, taskId);
    if (!found.ok && found.reason === "no-task") return found;
    const checked = await verifyLog(layout.task(taskId).log, taskId);
    return checked.ok ? { ok: true as const, records: checked.records, bytes: checked.bytes } : checked;
  }

  async replay(taskId: string, to?: number) {
    const { layout } = this.#scope.deps;
    /* A task of ours may be a step ahead of its record. */
    if (to === undefined) await this.#scope.drivers.get(taskId)?.stored();
    const found = readSnapshot(layout, taskId);
    if (!found.ok && !isTaskId(taskId)) return found;
    const folded = await foldLog(layout.task(taskId).log, taskId, to ?? (found.ok ? found.record.seq : undefined));
    if (!folded.ok) return found.ok || found.reason !== "no-task" ? folded : found;
    const { state } = folded;
    const name = stateName(state);
    if (!found.ok) {
      const differences = [`the record can't be read: ${found.message}`];
      return { ok: true as const, state: name, matches: false, seq: state.seq, differences };
    }
    const { record } = found;
    if (to !== undefined && to !== record.seq) {
      return {
        ok: true as const,
        state: name,
        matches: false,
        seq: state.seq,
        differences: ["another point than the stored one"],
      };
    }
    const differences = [
      ...(state.seq === record.seq ? [] : [`the log ends at ${state.seq}, the record was made at ${record.seq}`]),
      ...(name === record.state ? [] : [`the log says ${name}, the record says ${record.state}`]),
      ...(stateHash(state) === record.stateSha256 || record.stateShape !== STATE_SHAPE
        ? []
        : ["the recomputed state differs from the stored one"]),
    ];
    return { ok: true as const, state: name, matches: differences.length === 0, seq: state.seq, differences };
  }

  async history(taskId: string, onEvent: (event: StoredEvent) => void) {
    const found = await this.#scope.look(taskId);
    if (!found.ok) return found;
    this.#scope.sawFault(found.task);
    let damage: string | null = null;
    for await (const item of readEvents(this.#scope.deps.layout.task(taskId).log, taskId)) {
      if (item.ok) onEvent(item.event as StoredEvent);
      else damage = item.message;
    }
    return { ok: true as const, view: found.task, damage };
  }

  async survey(onTask: (task: TaskView) => void, withinMs: number) {
    return surveyTasks(this.#scope, await this.#rows(), onTask, withinMs);
  }

  policyCheck(command: string, cwd: string, trustedProject?: string) {
    return checkPolicy(this.#scope.deps, command, cwd, trustedProject);
  }

  policyShow(cwd: string, trustedProject?: string) {
    return showPolicy(this.#scope.deps, cwd, trustedProject);
  }

  async settled(taskId: string): Promise<TaskView> {
    const driver = this.#scope.drivers.get(taskId);
    if (driver) await driver.until(isSettled, new AbortController().signal);
    const view = await this.#scope.look(taskId);
    if (!view.ok) throw new Error(view.message);
    return view.task;
  }

  live(): TaskView[] {
    return [...this.#scope.drivers.keys()].sort().flatMap((taskId) => this.#scope.liveView(taskId) ?? []);
  }

  subscribe(listener: (update: TaskUpdate) => void): () => void {
    this.#scope.listeners.add(listener);
    return () => this.#scope.listeners.delete(listener);
  }

  subscribeCalls(listener: (call: PersonCalled) => void): () => void {
    this.#scope.callListeners.add(listener);
    return () => this.#scope.callListeners.delete(listener);
  }

  shutdown(deadlineMs: number): Promise<void> {
    const exitMs = Math.max(100, deadlineMs / 4);
    const { drivers, estop, notices } = this.#scope;
    notices.flush();
    this.#closing ??= Promise.all([...drivers.values()].map((driver) => driver.quit(exitMs))).then(async () => {
      await estop.close();
      await notices.close(Math.min(LAST_NOTICES_MS, deadlineMs / 4));
    });
    return this.#closing;
  }

  known() {
    /* Completions can't wait for the disk: they get what was seen last time, and cause the next look. */
    this.#looking ??= this.#lookAround().finally(() => {
      this.#looking = null;
    });
    return knownTasks(this.live(), this.#lastRows, this.#lastRequests);
  }

  /** Never rejects: what can't be read is offered to nobody. */
  async #lookAround(): Promise<void> {
    const found = await this.approvals().catch(() => null);
    if (found !== null) this.#lastRequests = found.requests;
  }

  async #rows(): Promise<ListedRow[]> {
    this.#lastRows = await listRows(this.#scope.deps.layout);
    return this.#lastRows;
  }
}

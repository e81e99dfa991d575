/** The supervisor of one state folder in one process: finds the task, asks the machine, records, waits for the outcome. */
import type { StoredEvent } from "../core/events.ts";
import { type PersonCommand, refusal, requestRefusal } from "../core/machine/admit.ts";
import { isTerminal, stateName } from "../core/machine/project.ts";
import { initialState, type RequestState, type TaskState } from "../core/machine/state.ts";
import { isActive } from "../core/machine/verification.ts";
import { type Failure, failure, type Result } from "../core/result.ts";
import { explain, judge } from "../policy/index.ts";
import { knownValues } from "../redaction/index.ts";
import { takeCwdLock } from "../store/cwd-lock.ts";
import { readEvents, verifyLog } from "../store/log-reader.ts";
import { openTask } from "../store/task-store.ts";
import { answersOf } from "./answers.ts";
import type { RequestView, StartInput, StopFailure, Supervisor, TaskUpdate, TaskView } from "./api.ts";
import type { SupervisorDeps } from "./deps.ts";
import { advance, Driver, isSettled } from "./driver.ts";
import { explanationText } from "./explanation.ts";
import { followLog } from "./follow.ts";
import { policyContext } from "./policy-context.ts";
import { diskFacts } from "./policy-facts.ts";
import { stateHash } from "./snapshot.ts";
import { ownerIdentity, startTask } from "./start.ts";
import { foldLog, listTasks, readSnapshot, rowOf, viewOfStored } from "./stored-task.ts";
import { stopCommand, viewOf } from "./view.ts";

/** How long `stop` waits for its proof before it answers with what remains (ms); the stop itself goes on. */
const STOP_WAIT_MS = 9_000;
/** Most records that one `log` answer carries. */
const MAX_LOG_EVENTS = 1_000;

export class LocalSupervisor implements Supervisor {
  readonly #deps: SupervisorDeps;
  readonly #drivers = new Map<string, Driver>();
  readonly #listeners = new Set<(update: TaskUpdate) => void>();
  #closing = false;

  constructor(deps: SupervisorDeps) {
    this.#deps = deps;
  }

  async start(input: StartInput): Promise<ReturnType<Supervisor["start"]> extends Promise<infer A> ? A : never> {
    if (this.#closing) return failure("closing", "Pi is ending; start the task in a new Pi.");
    const started = await startTask(this.#deps, input);
    if (!started.ok) return started;
    const { task, cwdLock, events, spec, goal, notices } = started;
    const driver = this.#drive(
      task,
      cwdLock,
      advance(initialState(task.taskId), events.slice(0, 1)),
      spec.workerEnvNames,
    );
    driver.raw.keepText("goal", goal);
    driver.adopt(events.slice(1));
    const { taskId } = task;
    return { ok: true, taskId, cwd: spec.cwd, mode: spec.mode, stopCommand: stopCommand(taskId), notices };
  }

  async status(taskId: string): Promise<Result<{ task: TaskView }>> {
    return this.#view(taskId);
  }

  async defaultTask(): Promise<string | null> {
    const live = [...this.#drivers.keys()].sort().at(-1);
    return live ?? listTasks(this.#deps.layout)[0]?.taskId ?? null;
  }

  async sessions(all: boolean) {
    const rows = listTasks(this.#deps.layout).map(({ taskId, view, problem }) =>
      rowOf(taskId, this.#liveView(taskId) ?? view, problem),
    );
    const shown = all
      ? rows
      : rows.filter((row) => row.state === "unreadable" || row.state === "failed_to_stop" || !isTerminal(row.state));
    return { ok: true as const, tasks: shown };
  }

  async send(taskId: string, text: string) {
    if (text.trim() === "")
      return failure("empty", "Say what the worker is to be told: `/supervise send <ID> <text>`.");
    const found = this.#owned(taskId, "send");
    if (!found.ok) return found;
    const { driver } = found;
    const stored = driver.redactor.text(text);
    const promptId = this.#deps.ids.uuid();
    driver.raw.keepText(promptId, text);
    const busy = driver.state.turn.kind !== "idle";
    if (
      !driver.record({
        type: "prompt.queued",
        data: { promptId, source: "person", text: stored, redacted: stored !== text },
      })
    )
      return logFull();
    const synced = await driver.synced();
    return synced.ok ? { ok: true as const, promptId, queued: busy } : synced;
  }

  async approvals() {
    const stored = listTasks(this.#deps.layout).flatMap(({ taskId, view }) =>
      this.#drivers.has(taskId) ? [] : (view?.requests ?? []),
    );
    const live = this.live().flatMap((view) => view.requests);
    return { ok: true as const, requests: [...live, ...stored] };
  }

  approve(requestId: string, note: string | undefined, via: "command" | "dialog") {
    return this.#answer(requestId, "approve", via, () => ({ ok: true, data: note === undefined ? {} : { note } }));
  }

  deny(requestId: string, reason: string | undefined, via: "command" | "dialog") {
    return this.#answer(requestId, "deny", via, () => ({
      ok: true,
      data: reason === undefined ? {} : { note: reason },
    }));
  }

  answer(requestId: string, text: string, via: "command" | "dialog") {
    return this.#answer(requestId, "answer", via, (driver, request) => {
      const answers = answersOf(driver.raw.input(request.callId) ?? request.input, text);
      return answers.ok ? { ok: true, data: { answers: answers.answers } } : answers;
    });
  }

  async verify(taskId: string) {
    const found = this.#owned(taskId, "verify");
    if (!found.ok) return found;
    const { driver } = found;
    const before = driver.state.budgets.rounds;
    if (!driver.record({ type: "verify.requested", data: { by: "person" } })) return logFull();
    const over = (state: TaskState): boolean => {
      if (state.stop.kind !== "none" || state.ended.kind !== "no") return true;
      return state.budgets.rounds > before && !isActive(state.verification);
    };
    await driver.until(over, new AbortController().signal);
    const { state } = driver;
    const facts = state.lastVerification;
    if (state.budgets.rounds === before || !facts) {
      return failure("stopped", `Task ${taskId} was stopped before its verification could run.`);
    }
    const outcome = facts.outcome === "pass" && state.ended.kind !== "completed" ? "error" : facts.outcome;
    const message =
      outcome === facts.outcome ? facts.message : "The verification passed, but the workspace has changed since.";
    return { ok: true as const, outcome, state: stateName(state), message, treeId: facts.treeId };
  }

  stop(taskId: string, reason: string | undefined) {
    return this.#stop(taskId, "graceful", reason ?? "A person stopped the task.");
  }

  kill(taskId: string) {
    return this.#stop(taskId, "now", "A person killed the task.");
  }

  async log(taskId: string, options: { since?: number; limit: number }) {
    const found = readSnapshot(this.#deps.layout, taskId);
    if (!found.ok) return found;
    const { log } = this.#deps.layout.task(taskId);
    const limit = Math.min(options.limit, MAX_LOG_EVENTS);
    const lastSeq = this.#drivers.get(taskId)?.task.log.seq ?? found.record.seq;
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
    const found = readSnapshot(this.#deps.layout, taskId);
    if (!found.ok) return found;
    return followLog(this.#deps, taskId, since, onEvent, signal);
  }

  async verifyLog(taskId: string) {
    const found = readSnapshot(this.#deps.layout, taskId);
    if (!found.ok) return found;
    const checked = await verifyLog(this.#deps.layout.task(taskId).log, taskId);
    return checked.ok ? { ok: true as const, records: checked.records, bytes: checked.bytes } : checked;
  }

  async replay(taskId: string, to?: number) {
    const found = readSnapshot(this.#deps.layout, taskId);
    if (!found.ok) return found;
    const { record } = found;
    const folded = await foldLog(this.#deps.layout.task(taskId).log, taskId, to ?? record.seq);
    if (!folded.ok) return folded;
    const { state } = folded;
    const name = stateName(state);
    if (to !== undefined && to !== record.seq)
      return { ok: true as const, state: name, matches: false, seq: state.seq, differences: [] };
    const differences = [
      ...(state.seq === record.seq ? [] : [`the log ends at ${state.seq}, the record was made at ${record.seq}`]),
      ...(name === record.state ? [] : [`the log says ${name}, the record says ${record.state}`]),
      ...(stateHash(state) === record.stateSha256 ? [] : ["the recomputed state differs from the stored one"]),
    ];
    return { ok: true as const, state: name, matches: differences.length === 0, seq: state.seq, differences };
  }

  async history(taskId: string) {
    const found = this.#view(taskId);
    if (!found.ok) return found;
    const { log } = this.#deps.layout.task(taskId);
    const events: StoredEvent[] = [];
    for await (const item of readEvents(log, taskId)) {
      if (!item.ok) return item;
      events.push(item.event as StoredEvent);
    }
    return { ok: true as const, view: found.task, events, state: advance(initialState(taskId), events) };
  }

  async policyCheck(command: string, cwd: string) {
    const { deps, facts, context } = this.#policyAt(cwd);
    if (command.trim() === "")
      return failure("empty", 'Give the command to judge: `/supervise policy check "<command>"`.');
    const call = { toolName: "Bash", input: { command }, cwd: context.workspace };
    const decision = judge(call, context, facts);
    const redactor = deps.createRedactor({ salt: deps.salt });
    return { ok: true as const, decision, explanation: redactor.text(explanationText(explain(call, context, facts))) };
  }

  async settled(taskId: string): Promise<TaskView> {
    const driver = this.#drivers.get(taskId);
    if (driver) await driver.until(isSettled, new AbortController().signal);
    const view = this.#view(taskId);
    if (!view.ok) throw new Error(view.message);
    return view.task;
  }

  live(): TaskView[] {
    return [...this.#drivers.keys()].sort().flatMap((taskId) => this.#liveView(taskId) ?? []);
  }

  subscribe(listener: (update: TaskUpdate) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async shutdown(deadlineMs: number): Promise<void> {
    this.#closing = true;
    await Promise.all([...this.#drivers.values()].map((driver) => driver.quit(Math.max(100, deadlineMs / 4))));
  }

  known() {
    const live = this.live();
    const ids = new Set(live.map((view) => view.taskId));
    const stored = listTasks(this.#deps.layout).flatMap(({ taskId, view }) => (view && !ids.has(taskId) ? [view] : []));
    return [...live, ...stored].map(({ taskId, goal, state, requests }) => ({
      taskId,
      goal,
      state,
      requests: requests.map((request: RequestView) => request.requestId),
    }));
  }

  #drive(
    task: ConstructorParameters<typeof Driver>[0]["task"],
    cwdLock: ConstructorParameters<typeof Driver>[0]["cwdLock"],
    state: TaskState,
    envNames: readonly string[],
  ): Driver {
    const { env, salt } = this.#deps;
    const values = Object.fromEntries(envNames.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]]])));
    const driver = new Driver({
      deps: this.#deps,
      task,
      cwdLock,
      redactor: this.#deps.createRedactor({ salt, known: knownValues(values) }),
      state,
      onUpdate: (update) => {
        for (const listener of [...this.#listeners]) listener(update);
      },
      onReleased: () => this.#drivers.delete(task.taskId),
    });
    this.#drivers.set(task.taskId, driver);
    return driver;
  }

  #liveView(taskId: string): TaskView | null {
    const driver = this.#drivers.get(taskId);
    return driver ? viewOf(driver.state, driver.task.paths.log, this.#deps.clock.mono()) : null;
  }

  #view(taskId: string): Result<{ task: TaskView }> {
    const live = this.#liveView(taskId);
    if (live) return { ok: true, task: live };
    const read = readSnapshot(this.#deps.layout, taskId);
    return read.ok ? { ok: true, task: viewOfStored(read.record) } : read;
  }

  /** The driver of a task that this process owns and whose state takes the command. */
  #owned(taskId: string, command: PersonCommand): Result<{ driver: Driver }> {
    const driver = this.#drivers.get(taskId);
    if (!driver) {
      const view = this.#view(taskId);
      return view.ok ? notOwned(view.task) : view;
    }
    const refused = refusal(driver.state, command);
    if (!refused) return { ok: true, driver };
    driver.record({ type: "rejected", data: { what: command, reason: refused.reason, message: refused.message } });
    return refused;
  }

  async #answer(
    requestId: string,
    decision: "approve" | "deny" | "answer",
    via: "command" | "dialog",
    make: (
      driver: Driver,
      request: RequestState,
    ) => Result<{ data: { note?: string; answers?: Record<string, string> } }>,
  ): Promise<Result<{ taskId: string }>> {
    for (const driver of this.#drivers.values()) {
      const request = driver.state.requests[requestId];
      if (!request) continue;
      const { taskId } = driver.state;
      const refused = refusal(driver.state, decision) ?? requestRefusal(request, decision);
      if (refused) return refused;
      const made = make(driver, request);
      if (!made.ok) return made;
      const note = made.data.note === undefined ? {} : { note: driver.redactor.text(made.data.note) };
      const answers = made.data.answers === undefined ? {} : { answers: driver.redactor.data(made.data.answers) };
      if (made.data.answers) driver.raw.keepAnswers(requestId, made.data.answers);
      if (
        !driver.record({
          type: "request.answered",
          data: { requestId, decision, by: "person", via, ...note, ...answers },
        })
      )
        return logFull();
      const synced = await driver.synced();
      return synced.ok ? { ok: true, taskId } : synced;
    }
    return this.#strangeRequest(requestId);
  }

  /** A request that no driver of this process has open: elsewhere, lost, answered or unknown. */
  #strangeRequest(requestId: string): Failure {
    for (const { taskId } of listTasks(this.#deps.layout)) {
      if (this.#drivers.has(taskId)) continue;
      const read = readSnapshot(this.#deps.layout, taskId);
      if (!read.ok || !read.record.view.requests.some((request) => request.requestId === requestId)) continue;
      const view = viewOfStored(read.record);
      if (view.owner?.alive) return notOwned(view);
      return failure(
        "request-lost",
        `Request ${requestId} was lost with the worker of task ${taskId}; after \`/supervise recover ${taskId}\` Claude asks anew.`,
      );
    }
    return failure(
      "no-request",
      `There is no open request ${requestId.slice(0, 40)}; \`/supervise approvals\` lists them.`,
    );
  }

  async #stop(taskId: string, kind: "graceful" | "now", reason: string) {
    let driver = this.#drivers.get(taskId);
    if (!driver) {
      const view = this.#view(taskId);
      if (!view.ok) return view;
      const { state } = view.task;
      if (isTerminal(state) && state !== "failed_to_stop") return { ok: true as const, state };
      if (view.task.owner?.alive) return notOwned(view.task);
      const claimed = await this.#claim(taskId);
      if (!claimed.ok) return claimed;
      driver = claimed.driver;
    }
    const before = stateName(driver.state);
    if (isTerminal(before) && before !== "failed_to_stop") return { ok: true as const, state: before };
    const asked = driver.record({
      type: "stop.requested",
      data: { by: "person", kind, reason: driver.redactor.text(reason), end: "stopped" },
    });
    const deadline = AbortSignal.timeout(STOP_WAIT_MS);
    await driver.until(
      (state) => state.stop.kind === "proven" || state.stop.kind === "unproven" || state.ended.kind === "completed",
      deadline,
    );
    const { state } = driver;
    const name = stateName(state);
    if (name === "completed" || state.stop.kind === "proven") {
      await driver.synced();
      return { ok: true as const, state: name };
    }
    const remaining = state.stop.kind === "unproven" ? state.stop.remaining : [];
    const message = asked
      ? `Task ${taskId} is not proven stopped; run \`${stopCommand(taskId)}\` again. It may still have: ${remaining.map((one) => one.detail).join("; ") || "its teardown going on"}.`
      : "The stop could not be written to the log; the worker is being ended all the same.";
    const failed: StopFailure = { ok: false, reason: "failed-to-stop", message, state: name, remaining };
    return failed;
  }

  /** Becomes the owner of a task whose owner is gone, to stop it. */
  async #claim(taskId: string): Promise<Result<{ driver: Driver }>> {
    const { layout, clock } = this.#deps;
    const self = ownerIdentity(this.#deps);
    if (!self.ok) return self;
    const holder = { ...self.owner, taskId, since: clock.now().toISOString() };
    const opened = openTask(layout, { taskId, holder }, { clock });
    if (!opened.ok) return opened;
    const { task } = opened;
    const abandon = async <T>(fault: T): Promise<T> => {
      await task.log.close();
      task.lock.release();
      return fault;
    };
    const folded = await foldLog(task.paths.log, taskId);
    if (!folded.ok) return abandon(folded);
    const { spec } = folded.state;
    if (!spec) return abandon(failure("log-damaged", `The log of task ${taskId} does not begin with its creation.`));
    const cwdLock = takeCwdLock(layout, spec.cwd, holder);
    if (!cwdLock.ok) return abandon(cwdLock);
    const driver = this.#drive(task, cwdLock, folded.state, spec.workerEnvNames);
    if (opened.recovered)
      driver.record({
        type: "log.recovered",
        data: { tornBytes: opened.recovered.bytes, file: opened.recovered.file },
      });
    driver.record({ type: "owner.claimed", data: { owner: self.owner, why: "stop" } });
    return { ok: true, driver };
  }

  #policyAt(cwd: string) {
    const deps = this.#deps;
    const spec = {
      cwd,
      profile: "standard" as const,
      verify: {
        commands: [],
        cwd,
        where: "workspace" as const,
        carry: [],
        runs: 1,
        envNames: [],
        inputs: {},
        scripts: [],
      },
    };
    const facts = diskFacts({ workspace: cwd, home: deps.home, stateDir: deps.layout.root, changed: () => new Set() });
    return { deps, facts, context: policyContext(deps, spec) };
  }
}

function notOwned(view: TaskView): Failure {
  const { taskId, owner, state } = view;
  if (owner?.alive) {
    return failure(
      "live",
      `Task ${taskId} is driven by another Pi (process ${owner.pid} on ${owner.host}, since ${owner.since}); use that one.`,
    );
  }
  if (isTerminal(state)) return failure(state === "completed" ? "completed" : "ended", `Task ${taskId} is ${state}.`);
  return failure(
    "recoverable",
    `Task ${taskId} has no owner any more; \`/supervise recover ${taskId}\` goes on with it.`,
  );
}

function logFull(): Failure {
  return failure(
    "log-unavailable",
    "The event log can't be written (is the disk full?), so nothing was done. Make room and try again.",
  );
}

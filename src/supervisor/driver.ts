/**
 * Drives one task that this process owns: an event is appended to the log, stepped, and the effects that come out of it
 * are run; their outcomes are events again. The driver holds no state of its own about the task's life.
 */
import type { PolicyContext } from "../core/contracts/policy.ts";
import type { Redactor } from "../core/contracts/redaction.ts";
import type { WorkerAdapter } from "../core/contracts/worker.ts";
import type { EventDraft, EventType, StoredEvent, TaskEvent } from "../core/events.ts";
import { violations } from "../core/invariants.ts";
import { deferralPlan } from "../core/machine/deferral.ts";
import type { Effect } from "../core/machine/effects.ts";
import { isTerminal, stateName } from "../core/machine/project.ts";
import type { TaskState } from "../core/machine/state.ts";
import { step } from "../core/machine/step.ts";
import type { Result } from "../core/result.ts";
import { durableWrite } from "../platform/durable-write.ts";
import type { CwdLock } from "../store/cwd-lock.ts";
import type { OwnedTask } from "../store/task-store.ts";
import { resumeCommand, resumeLaunch } from "./acts/resume-command.ts";
import type { TaskUpdate } from "./api.ts";
import type { AutomationSwitch } from "./automation-switch.ts";
import { clearSecretDetail, findClearSecret } from "./clear-secrets.ts";
import { spentBetween } from "./day-budget.ts";
import type { DayLedger } from "./day-ledger.ts";
import { createDecider, type Decider } from "./decider.ts";
import type { SupervisorDeps } from "./deps.ts";
import type { DriverPort, Recorded } from "./effect-port.ts";
import { faultOf, faultReport, faultReportPath, harmless, verifierFailed } from "./fault.ts";
import { createGateKeeper, type GateKeeper } from "./gate-keeper.ts";
import { Onlookers } from "./onlookers.ts";
import { OutsideLook } from "./outside-look.ts";
import { perform } from "./perform.ts";
import { policyContext } from "./policy-context.ts";
import { diskFacts } from "./policy-facts.ts";
import { RawPayloads } from "./raw.ts";
import { endWorker } from "./run-worker.ts";
import { shownUpdate } from "./shown-update.ts";
import { Snapshot } from "./snapshot.ts";
import { CLOSED_GATE, type MoveGate, type TaskStop } from "./task-stop.ts";
import { TaskTimer } from "./task-timer.ts";
import { TextArtifacts } from "./text-artifacts.ts";
import { viewOf } from "./view.ts";
import { writeEvidence } from "./write-evidence.ts";

export interface DriverOptions {
  deps: SupervisorDeps;
  task: OwnedTask;
  /** Null for a task that is only to be stopped, and whose folder is another's by now. */
  cwdLock: CwdLock | null;
  redactor: Redactor;
  /** The kind of a secret that stands in this text in clear, although it was redacted. */
  clearSecretIn(text: string): string | null;
  /** Null for a task that is only to be stopped: then nothing of it can begin. */
  stop: TaskStop | null;
  /** The state that the log folds to so far. */
  state: TaskState;
  automation: AutomationSwitch;
  /** What all tasks have spent today, and the warnings about it that were given in this process. */
  days: { ledger: DayLedger; told: Set<string> };
  onUpdate(update: TaskUpdate): void;
  /** The driver lets go of its task; awaited before the locks are free. */
  onLeaving(stop: TaskStop, how: "completed" | "ended" | "quit"): Promise<void>;
  /** The task is over and nothing of it is left: the driver has let go of its locks. */
  onReleased(): void;
}

/** How long a quit waits for what is under way: the end of a verification, the proof that nothing is left (ms). */
const QUIT_EFFECTS_MS = 2_000;

/** Claude confirms a deferral within a tenth of a second (2.1.268). */
const QUIT_DEFERRAL_MS = 1_500;

/** Records that may be lost on a full disk: nothing is decided by them. */
const EXPENDABLE: ReadonlySet<EventType> = new Set<EventType>([
  "worker.text",
  "worker.stderr",
  "worker.heartbeat",
  "worker.unknown",
  "worker.retry",
  "notice",
  "person.called",
]);

/** Nothing automatic follows from these, and there are many of them: the switch is not looked at. */
const MOVES_NOTHING: ReadonlySet<EventType> = new Set<EventType>([
  ...EXPENDABLE,
  "automation.changed",
  "budget.exhausted",
  "budget.renewed",
  "budget.warning",
  "prompt.ack",
  "tool.use",
  "tool.result",
]);

export class Driver implements DriverPort {
  readonly deps: SupervisorDeps;
  readonly task: OwnedTask;
  readonly redactor: Redactor;
  readonly raw = new RawPayloads();
  readonly artifacts: TextArtifacts;
  worker: WorkerAdapter | null = null;
  exited: WorkerAdapter | null = null;
  state: TaskState;
  readonly policy: PolicyContext;
  readonly decider: Decider;
  estop: MoveGate;
  #taskStop: TaskStop | null;
  readonly #cwdLock: CwdLock | null;
  readonly #outside: OutsideLook;
  readonly #days: DayLedger;
  readonly #gate: GateKeeper;
  readonly #clearSecretIn: DriverOptions["clearSecretIn"];
  /** The newest record that was looked at for secrets in clear. */
  #lookedTo: number;
  readonly #snapshot: Snapshot;
  /** Aborted by a stop or a pause; a new one when the task goes on. */
  #stop = new AbortController();
  #logFault: string | null = null;
  readonly #onUpdate: DriverOptions["onUpdate"];
  readonly #onLeaving: DriverOptions["onLeaving"];
  readonly #onReleased: DriverOptions["onReleased"];
  /** Events that came while another one was being stepped. */
  #waiting: EventDraft[] = [];
  #stepping = false;
  readonly #timer: TaskTimer;
  /** Effects under way. */
  readonly #effects = new Set<Promise<void>>();
  /** Set once the driver lets go of its task; settles when the locks are free. */
  #letGo: Promise<void> | null = null;
  readonly #onlookers = new Onlookers(() => this.state);
  #markReleased: () => void = () => undefined;
  /** Resolves when the locks are free. */
  readonly released: Promise<void> = new Promise((resolve) => {
    this.#markReleased = resolve;
  });

  constructor(options: DriverOptions) {
    this.deps = options.deps;
    this.task = options.task;
    this.redactor = options.redactor;
    this.artifacts = new TextArtifacts(options.task.paths.artifacts);
    this.state = options.state;
    this.#cwdLock = options.cwdLock;
    this.#days = options.days.ledger;
    this.#onUpdate = options.onUpdate;
    this.#onLeaving = options.onLeaving;
    this.#onReleased = options.onReleased;
    this.#taskStop = options.stop;
    this.#clearSecretIn = options.clearSecretIn;
    this.#lookedTo = options.state.seq;
    this.estop = options.stop ?? CLOSED_GATE;
    const { spec } = options.state;
    if (!spec) throw new Error("A driver needs a task that was created.");
    this.policy = policyContext(this.deps, spec);
    const facts = diskFacts({
      workspace: spec.cwd,
      home: this.deps.home,
      stateDir: this.deps.layout.root,
      since: Date.parse(options.state.createdAt),
    });
    this.#gate = createGateKeeper(this, this.policy, facts);
    this.#snapshot = new Snapshot(this);
    this.decider = createDecider(this);
    this.#timer = new TaskTimer(this, () => this.#settle());
    this.#outside = new OutsideLook(this, options.automation, options.days);
    this.#taskStop?.bind(this);
  }

  /** Set while and after the driver lets go of its task; resolves when the locks are free. */
  get closing(): Promise<void> | null {
    return this.#letGo;
  }

  /** The record does not show the state that the log folds to: it is written anew. */
  renewRecord(): void {
    this.#snapshot.touch();
  }

  /** Whether a worker may be started: the folder is this task's. */
  get holdsFolder(): boolean {
    return this.#cwdLock !== null;
  }

  /** What this driver's moves are checked against; another one after a person lifted a stop. */
  get taskStop(): TaskStop | null {
    return this.#taskStop;
  }

  take(stop: TaskStop): void {
    this.#taskStop = stop;
    this.estop = stop;
    stop.bind(this);
    this.#settle();
  }

  get stopSignal(): AbortSignal {
    return this.#stop.signal;
  }

  record(...drafts: EventDraft[]): Recorded {
    if (this.#letGo) return "lost";
    if (this.#stepping) {
      this.#waiting.push(...drafts);
      return "written";
    }
    const outcomes = drafts.map((draft) => this.#append(draft));
    for (let draft = this.#waiting.shift(); draft; draft = this.#waiting.shift()) this.#append(draft);
    this.#settle();
    return outcomes.find((outcome) => outcome !== "written") ?? "written";
  }

  synced(): Promise<Result> {
    return this.task.log.sync();
  }

  /** Resolves when log and record of the present state are on disk, or can't be: before an answer says that something is so. */
  async stored(): Promise<void> {
    await this.synced();
    await this.#snapshot.flush();
  }

  /** Takes over events that were appended before this driver existed (the task's creation), running their effects. */
  adopt(events: readonly StoredEvent[]): void {
    for (const event of events) this.#apply(event, true);
    this.record();
  }

  /** Work that is done beside the events: the task is not let go of before it is over. */
  attend(work: Promise<void>): void {
    this.#track("the emergency stop", work);
  }

  /** Tells of each event after it was stepped. Returns how to stop listening. */
  listen(listener: (event: StoredEvent) => void): () => void {
    return this.#onlookers.listen(listener);
  }

  until(test: (state: TaskState) => boolean, signal: AbortSignal): Promise<boolean> {
    return this.#onlookers.until(test, signal);
  }

  /** Makes what waits for a person durable, and gives Claude a moment to confirm it. */
  async deferRequests(ms: number): Promise<void> {
    const plan =
      this.worker?.capabilities.defer === true && this.state.worker.kind === "live" ? deferralPlan(this.state) : [];
    if (plan.length === 0) return;
    this.record(...plan);
    const settled = ({ requests }: TaskState): boolean =>
      Object.values(requests).every((one) => one.deferral !== "asked");
    await this.until(settled, AbortSignal.timeout(ms));
  }

  /** Lets go of the task on Pi's quit: from here on nothing follows from anything; the state stays where it is. */
  async quit(exitMs: number): Promise<void> {
    if (this.#letGo) return this.#letGo;
    await this.deferRequests(QUIT_DEFERRAL_MS);
    this.record({ type: "owner.released", data: { why: "quit" } });
    this.#stop.abort();
    if (this.worker && this.state.stop.kind === "none") {
      await endWorker(this, { kind: "end-worker", why: "quit", exitMs });
    } else if (this.worker) {
      await this.worker.stop({ kind: "now", graceMs: 0 });
    }
    await Promise.race([this.#effectsOver(), this.#pause(QUIT_EFFECTS_MS)]);
    await this.release("quit");
  }

  async #effectsOver(): Promise<void> {
    while (this.#effects.size > 0) await Promise.allSettled([...this.#effects]);
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => this.deps.clock.setTimer(ms, resolve, { background: true }));
  }

  /** Closes the log and frees the locks; later events are not recorded any more. */
  release(why: "quit" | "ended" | "failed"): Promise<void> {
    if (this.#letGo) return this.#letGo;
    if (this.state.owner.kind === "held") this.#append({ type: "owner.released", data: { why } });
    this.#letGo = this.#close();
    return this.#letGo;
  }

  async #close(): Promise<void> {
    this.#outside.close();
    this.decider.dispose();
    this.#timer.cancel();
    if (this.#taskStop) await this.#onLeaving(this.#taskStop, this.#endOfTask());
    await this.#snapshot.close();
    await this.task.log.close();
    if (isTerminal(stateName(this.state))) {
      const written = await writeEvidence(
        this.task.paths,
        viewOf(this.state, this.task.paths.log, null),
        this.deps.clock.now().toISOString(),
      );
      if (!written.ok) this.#complainOfEvidence(written.message);
    }
    this.#cwdLock?.lock.release();
    this.task.lock.release();
    this.#onReleased();
    this.#markReleased();
  }

  #complainOfEvidence(message: string): void {
    const { taskId } = this.state;
    const text = `evidence.json could not be written: ${this.redactor.text(message)} \`/supervise report ${taskId} --html FILE\` makes it anew.`;
    this.#onUpdate(shownUpdate(taskId, { level: "warning", text }, this.state));
  }

  #endOfTask(): "completed" | "ended" | "quit" {
    const { ended, stop } = this.state;
    if (ended.kind === "completed") return "completed";
    return ended.kind === "failed" || stop.kind === "proven" ? "ended" : "quit";
  }

  #append(draft: EventDraft): Recorded {
    if (!MOVES_NOTHING.has(draft.type)) for (const seen of this.#outside.seen()) this.#append(seen);
    const { worker } = this.state;
    const workerId = "workerId" in worker && worker.workerId !== "" ? { workerId: worker.workerId } : {};
    const key = "promptId" in draft.data ? { idempotencyKey: String(draft.data.promptId) } : {};
    const keep = !EXPENDABLE.has(draft.type);
    const outcome = this.task.log.appendSoon([{ ...draft, ...workerId, ...key }], { keep });
    const stored = outcome.ok ? outcome.events : outcome.kept;
    for (const event of stored) this.#apply(event as StoredEvent, outcome.ok);
    if (stored.length === 0 && keep && draft.type !== "gate.verdict") this.#applyUnlogged(draft);
    if (outcome.ok) return "written";
    this.#complain(outcome.message);
    return stored.length > 0 ? "kept" : "lost";
  }

  /**
   * The disk refuses and memory holds what it may: the task's life goes on in memory, so that a stop still stops. The
   * record of it ends here; `task.json` is not written any more, and the next owner finds the log as far as it goes.
   */
  #applyUnlogged(draft: EventDraft): void {
    const { taskId, seq } = this.state;
    const at = this.deps.clock.now().toISOString();
    const event = { ...draft, v: 1 as const, seq, taskId, workerId: null, at, mono: this.deps.clock.mono(), prev: "" };
    this.#snapshot.abandon();
    this.#apply(event, false);
  }

  /** Says once what is wrong with the log. */
  #complain(message: string): void {
    if (this.#logFault === message) return;
    this.#logFault = message;
    const text = `The event log can't be written: ${this.redactor.text(message)} Nothing more is sent or approved until it can.`;
    this.#onUpdate(shownUpdate(this.state.taskId, { level: "error", text }, this.state));
  }

  #apply(event: StoredEvent, written: boolean): void {
    const before = this.state;
    if (event.type === "owner.claimed") this.#outside.claimed = true;
    this.#stepping = true;
    const stepped = step(before, event as TaskEvent);
    const broken = (this.deps.violations ?? violations)(before, event as TaskEvent, stepped);
    const { state } = stepped;
    const effects = broken.length === 0 ? stepped.effects : harmless(stepped.effects);
    this.state = state;
    const goesOn = state.stop.kind === "none" && state.control.kind === "supervised" && state.owner.kind === "held";
    if (!goesOn) this.#stop.abort();
    else if (this.#stop.signal.aborted) this.#stop = new AbortController();
    /* Records of the machine itself come before everything that is still waiting. */
    const records = effects.filter((effect) => effect.kind === "record");
    this.#waiting.unshift(...records.map((effect) => effect.event));
    for (const effect of effects) if (effect.kind !== "record") this.#run(effect, written);
    if (broken.length > 0 && event.type !== "gate.incident" && state.hold?.fault !== true)
      this.#waiting.unshift(faultOf(broken, event));
    this.#stepping = false;
    this.#writeFaultReport(before, event);
    this.decider.look(state);
    this.#snapshot.changed(before, state);
    const spent = spentBetween(before, state);
    if (spent.usd > 0 || spent.decisions > 0) this.#days.add(state.taskId, spent);
    if (event.type === "turn.result" && written) this.#track("look-for-secrets", this.#lookForSecrets(event.seq));
    this.#onUpdate({ taskId: this.state.taskId, event, before, after: state });
    this.#onlookers.tell(event);
  }

  /** What this turn has left on the disk is looked at once more: redaction may have missed something. */
  async #lookForSecrets(to: number): Promise<void> {
    const from = this.#lookedTo + 1;
    this.#lookedTo = to;
    if (!(await this.synced()).ok) return;
    const { taskId } = this.state;
    const { log, artifacts } = this.task.paths;
    const found = await findClearSecret({ taskId, log, artifacts, from, to }, this.#clearSecretIn);
    if (found === null) return;
    this.record({ type: "gate.incident", data: { fault: "secret-risk", detail: clearSecretDetail(found) } });
  }

  #run(effect: Exclude<Effect, { kind: "record" }>, written: boolean): void {
    if (effect.kind === "reply") {
      const allows = effect.reply.decision !== "deny";
      const reply =
        allows && !written
          ? ({ decision: "deny", reason: "The supervisor can't write its log; end your turn." } as const)
          : effect.reply;
      this.#gate.reply(effect.callId, effect.toolUseId, effect.requestId, reply);
      return;
    }
    this.#track(effect.kind, perform(this, this.#gate, effect));
  }

  #track(what: string, work: Promise<void>): void {
    const done: Promise<void> = work
      .catch((error: unknown) => this.#broken(what, error))
      .finally(() => {
        this.#effects.delete(done);
        this.#settle();
      });
    this.#effects.add(done);
  }

  /** With the automation switched off by a fault its report is written beside the log, before anybody is told. */
  #writeFaultReport(before: TaskState, event: StoredEvent): void {
    const { hold, taskId } = this.state;
    if (hold?.fault !== true || before.hold?.fault === true) return;
    /* The session in the person's own Claude, under the same isolation: the way on without us. */
    const resume = resumeCommand(resumeLaunch(this.deps, this.state));
    const written = durableWrite(faultReportPath(this.task.paths, hold.reason), faultReport(this.state, event, resume));
    if (written.ok) return;
    const text = `The fault report of ${taskId} could not be written: ${this.redactor.text(written.message)}`;
    this.#onUpdate(shownUpdate(taskId, { level: "error", text }, this.state));
  }

  /** An effect threw: a bug. The task is stopped, with the error in its log; where it was the verifier, it may go on later. */
  #broken(what: string, error: unknown): void {
    const detail = error instanceof Error ? `${error.message}\n${error.stack ?? ""}` : String(error);
    const text = this.redactor.text(`Internal error in ${what}: ${detail}`).slice(0, 2_000);
    this.record({ type: "notice", data: { level: "error", text } });
    if (what === "verify" || what === "confirm-tree") {
      this.record(...verifierFailed(this.state, text));
      return;
    }
    if (this.state.stop.kind !== "none" || this.state.ended.kind !== "no") return;
    const reason = `An internal error happened (${what}); the log has the details.`;
    this.record({
      type: "stop.requested",
      data: { by: "supervisor", kind: "graceful", reason, end: "failed", cause: "internal-error" },
    });
  }

  /** After events and effects: re-arm the timer, and let go of a task that is over. */
  #settle(): void {
    if (this.#letGo || this.#stepping) return;
    this.#timer.arm();
    if (this.state.owner.kind !== "held") return;
    this.#taskStop?.begin();
    const over = this.state.ended.kind !== "no" || this.state.stop.kind === "proven";
    const gone = this.worker === null && this.state.resources.length === 0;
    if (over && gone && this.#effects.size === 0) void this.release("ended");
  }
}

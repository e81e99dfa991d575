/** The effects that concern the worker process: spawn, send, end, sweep, teardown. */
import { rm } from "node:fs/promises";
import type {
  ContainmentRecord,
  RemainingResource,
  StopOptions,
  StopOutcome,
  WorkerAdapter,
} from "../core/contracts/worker.ts";
import type { Effect } from "../core/machine/effects.ts";
import { workerBriefing } from "../core/prompts.ts";
import { type Failure, failure, type Result } from "../core/result.ts";
import { type StopTreeOptions, stopTree } from "../platform/containment/index.ts";
import { isAlive } from "../platform/process/index.ts";
import { executableDrift, findClaude, systemDeps } from "../worker/index.ts";
import { claudePath, configOf } from "./config.ts";
import type { DriverPort } from "./effect-port.ts";
import type { GateKeeper } from "./gate-keeper.ts";
import { projectGuidance } from "./repository.ts";
import { heldUp } from "./task-stop.ts";
import { linkWorker } from "./worker-link.ts";
import { makeTmpDir } from "./worker-tmp.ts";

type EffectOf<K extends Effect["kind"]> = Extract<Effect, { kind: K }>;

/** An interrupt is answered within 20 ms (2.1.268); a worker that takes longer than this does not listen. */
const INTERRUPT_MS = 2_000;
/** Then the end of its input will hardly move it: TERM follows soon. */
const DEAF_EXIT_MS = 1_000;
/** How long a teardown waits for its record to be on the disk (ms). */
const SYNC_MS = 1_000;
const INCIDENT_GRACE_MS = 2_000;
/** A little more than the guardian's own grace; it ends as soon as Claude is gone. */
export const ORPHAN_GRACE_MS = 2_500;

const OVERTAKEN = failure("overtaken", "The message was not sent: the worker was stopped or left first.");

/** After a stop overtook the spawn nothing more may start. */
function stillWanted(port: DriverPort, workerId: string): boolean {
  const { worker, stop, owner, control } = port.state;
  return (
    owner.kind === "held" &&
    stop.kind === "none" &&
    control.kind === "supervised" &&
    worker.kind !== "gone" &&
    "workerId" in worker &&
    worker.workerId === workerId
  );
}

export async function spawnWorker(port: DriverPort, gate: GateKeeper, effect: EffectOf<"spawn">): Promise<void> {
  const { deps, state } = port;
  const { spec } = state;
  if (!spec) return;
  const workerId = deps.ids.workerId();
  const { sessionId, resume } = effect;
  const refuse = (fault: Failure): void => {
    port.record({
      type: "worker.start-failed",
      data: { reason: fault.reason, message: port.redactor.text(fault.message) },
    });
  };
  const wait = heldUp(port);
  if (wait && (!(await wait) || port.state.worker.kind !== "spawning")) return;
  port.record({ type: "worker.spawning", data: { workerId, sessionId, resume } });
  const synced = await port.synced();
  if (!stillWanted(port, workerId)) return;
  if (!synced.ok) return refuse(synced);
  const loaded = configOf(deps, undefined);
  if (!loaded.ok) return refuse(loaded);
  const found = await findClaude({ configured: claudePath(loaded.config.settings), host: deps.env });
  if (!stillWanted(port, workerId)) return;
  if (!found.ok) return refuse(found);
  const drift = state.executable ? executableDrift(state.executable, found.executable) : undefined;
  if (state.executable && drift !== undefined && port.state.driftSeen !== found.executable.sha256) {
    const message = `${drift} Look at it, then \`/supervise recover ${state.taskId}\` goes on with the new one.`;
    port.record({ type: "worker.drift", data: { before: state.executable, now: found.executable, message } });
    return;
  }
  /* History first: what is wrong with it is known before the worker asks anything. */
  if (resume && spec.mode === "auto") await port.decider.prepare();
  if (!stillWanted(port, workerId)) return;
  const tmp = await makeTmpDir();
  if (!tmp.ok) return refuse(tmp);
  if ((await heldUp(port)) === false || !stillWanted(port, workerId))
    return rm(tmp.path, { recursive: true, force: true });

  const guidance = spec.trust === "project" ? undefined : projectGuidance(spec.cwd);
  const worker = deps.createWorker(
    spec.transport,
    {
      taskId: state.taskId,
      workerId,
      executable: found.executable,
      cwd: spec.cwd,
      sessionId,
      resume,
      trust: spec.trust,
      ...(spec.model === undefined ? {} : { model: spec.model }),
      ...(spec.limits.maxTurns === undefined ? {} : { maxTurns: spec.limits.maxTurns }),
      appendSystemPrompt: workerBriefing(spec.cwd, guidance),
      workerEnvNames: spec.workerEnvNames,
      tmpDir: tmp.path,
      cgroup: spec.cgroup,
      startupTimeoutMs: spec.limits.startupMs,
      artifactDir: port.task.paths.artifacts,
    },
    systemDeps({
      redactor: port.redactor,
      clock: deps.clock,
      hostEnv: deps.env,
      recorded: async (containment) => {
        const registered = await port.estop.register(containment, `Claude Code of ${state.taskId}`);
        const written = await port.synced();
        const failed = [registered, written].find((one) => !one.ok);
        if (failed?.ok === false) throw new Error(failed.message);
      },
    }),
  );
  port.worker = worker;
  let argv: string[] = [];
  let envNames: string[] = [];
  worker.subscribe((event) => {
    if (event.type === "spawned") ({ argv, envNames } = event);
  });
  worker.subscribe(linkWorker(port, gate));
  const started = await worker.start();
  if (!started.ok) {
    port.worker = null;
    if (stillWanted(port, workerId)) refuse(started);
    return;
  }
  if (port.worker !== worker || !stillWanted(port, workerId)) return;
  port.record({
    type: "worker.started",
    data: {
      executable: found.executable,
      argv: argv.map((word) => port.redactor.text(word)),
      envNames,
      cwd: spec.cwd,
      permissionMode: started.permissionMode,
      sessionId,
      resume,
    },
  });
}

export async function sendPrompt(port: DriverPort, effect: EffectOf<"send">): Promise<void> {
  const { raw, deps } = port;
  const promptId = effect.promptId ?? deps.ids.uuid();
  const own = raw.text(effect.source === "goal" ? "goal" : promptId) ?? (effect.redacted ? undefined : effect.text);
  const prefaced = (words: string): string => (effect.preface === undefined ? words : `${effect.preface}\n\n${words}`);
  const wrapUp = effect.wrapUp === true ? { wrapUp: true } : {};
  const fail = (fault: Failure): void => {
    port.record({
      type: "prompt.failed",
      data: {
        promptId,
        reason: fault.reason,
        message: port.redactor.text(fault.message),
        ...(effect.alone ? wrapUp : {}),
      },
    });
  };
  if (own === undefined) {
    return fail(
      failure(
        "text-redacted",
        "The message held a secret, so only its redacted form was kept and it can't be sent again; send it anew.",
      ),
    );
  }
  const { source, redacted } = effect;
  /* Nothing was begun: what waits in the queue stays there. */
  const wait = heldUp(port);
  if (wait && !(await wait)) return;
  if (
    port.record({
      type: "prompt.intent",
      data: { promptId, source, text: prefaced(effect.text), redacted, ...wrapUp },
    }) !== "written"
  ) {
    return fail(failure("log-unavailable", "The log can't be written, so nothing is sent."));
  }
  const synced = await port.synced();
  if (!synced.ok) return fail(synced);
  const { state, worker } = port;
  const overtaken =
    state.owner.kind !== "held" ||
    state.stop.kind !== "none" ||
    state.ended.kind !== "no" ||
    state.control.kind !== "supervised" ||
    state.worker.kind !== "live" ||
    state.turn.kind !== "sending";
  if (overtaken || !worker || port.estop.held() !== null) return fail(OVERTAKEN);
  const sent = await worker.send(prefaced(own), promptId);
  raw.dropText(promptId);
  if (!sent.ok) return fail(sent);
  port.record({ type: "prompt.written", data: { promptId } });
}

export async function endWorker(port: DriverPort, effect: EffectOf<"end-worker">): Promise<void> {
  const { worker } = port;
  if (!worker) return;
  port.record({ type: "worker.ending", data: { why: effect.why } });
  if (effect.why === "incident") {
    await worker.stop({ kind: "graceful", graceMs: INCIDENT_GRACE_MS });
    return;
  }
  if (effect.why === "takeover") {
    /* That automation is off is on the disk before the worker is touched; a disk that refuses delays no person. */
    await port.synced();
    await worker.takeover(effect.exitMs);
    return;
  }
  const { kind } = port.state.turn;
  const atRest = kind === "idle" || kind === "none" || kind === "waiting" || effect.why === "quit";
  const exitMs = atRest || (await leavesTurn(port, worker)) ? effect.exitMs : DEAF_EXIT_MS;
  await worker.pause(exitMs);
}

/** The end of input alone does not end a turn (2.1.268): it is interrupted first. False when the worker does not answer. */
async function leavesTurn(port: DriverPort, worker: WorkerAdapter): Promise<boolean> {
  if (!worker.capabilities.interrupt) return true;
  let cancel = (): void => undefined;
  const late = new Promise<boolean>((resolve) => {
    cancel = port.deps.clock.setTimer(INTERRUPT_MS, () => resolve(false));
  });
  const answered = worker.interrupt().then((outcome) => outcome.ok);
  const left = await Promise.race([answered, late]);
  cancel();
  return left;
}

/**
 * Ends what a worker left behind, and proves it. One whose Pi has just died may be saving its session: it gets the rest
 * of the time that its guardian gives it, else its conversation would be lost to whoever recovers it.
 */
export async function sweep(port: DriverPort): Promise<void> {
  const trees = port.state.resources;
  const { proven, remaining, killed, durationMs, method } = await endTrees(
    port,
    { kind: "now", graceMs: 0 },
    ({ guardian }) => ({
      kind: "graceful",
      graceMs: ORPHAN_GRACE_MS,
      signalLeaderTerm: guardian === undefined || !isAlive(guardian),
    }),
  );
  port.record({ type: "worker.swept", data: { method, killed, durationMs, proven, remaining } });
  await Promise.all(trees.map((tree) => port.estop.release(tree)));
}

export async function teardown(port: DriverPort, effect: EffectOf<"teardown">): Promise<void> {
  /* A disk that hangs delays no stop. */
  const synced = await Promise.race([port.synced(), soon(port)]);
  const { proven, remaining, killed, durationMs, method } = await endTrees(port, {
    kind: effect.how,
    graceMs: effect.graceMs,
  });
  if (port.state.stop.kind !== "requested") return;
  if (proven) port.record({ type: "stop.proven", data: { method, killed, durationMs } });
  else port.record({ type: "stop.failed", data: { remaining, durationMs } });
  if (synced.ok) await port.synced();
}

function soon(port: DriverPort): Promise<Result> {
  const late = failure("log-unavailable", "The log did not answer in time.");
  return new Promise((resolve) => port.deps.clock.setTimer(SYNC_MS, () => resolve(late), { background: true }));
}

/** The worker's tree through its adapter, which dismisses the guardian; then all that is recorded, by the records alone. */
async function endTrees(
  port: DriverPort,
  options: StopOptions,
  ofRecord: (record: ContainmentRecord) => StopTreeOptions = () => options,
): Promise<Merged> {
  const worker = port.worker ?? port.exited;
  const own = worker ? [await worker.stop(options)] : [];
  if (port.exited === worker && own[0]?.proven === true) port.exited = null;
  const rest = await Promise.all(port.state.resources.map((record) => stopTree(record, ofRecord(record))));
  return merged([...own, ...rest]);
}

interface Merged {
  proven: boolean;
  method: string;
  killed: number;
  durationMs: number;
  remaining: RemainingResource[];
}

function merged(outcomes: readonly StopOutcome[]): Merged {
  const all: Merged = { proven: true, method: "nothing-to-end", killed: 0, durationMs: 0, remaining: [] };
  for (const outcome of outcomes) {
    all.durationMs = Math.round(Math.max(all.durationMs, outcome.durationMs));
    if (outcome.proven) {
      all.method = outcome.method;
      all.killed += outcome.killed;
    } else {
      all.proven = false;
      all.remaining.push(...outcome.remaining);
    }
  }
  return all;
}

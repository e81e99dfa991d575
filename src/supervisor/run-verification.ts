/** The effects that concern the verifier. */
import type { VerifyReport } from "../core/contracts/verifier.ts";
import type { ContainmentRecord } from "../core/contracts/worker.ts";
import type { EventMap } from "../core/events.ts";
import type { Effect } from "../core/machine/effects.ts";
import type { SignOffWhy, TaskState } from "../core/machine/state.ts";
import { changedScripts } from "../core/machine/verification.ts";
import { reviewSummary } from "../core/prompts.ts";
import { type Leftover, leftovers } from "../platform/containment/index.ts";
import { signal } from "../platform/process/index.ts";
import { createVerifier, treeId } from "../verifier/index.ts";
import type { DriverPort } from "./effect-port.ts";
import { LEFTOVER_WAIT_MS } from "./limits.ts";
import { heldUp } from "./task-stop.ts";

type EffectOf<K extends Effect["kind"]> = Extract<Effect, { kind: K }>;

const LOOK_MS = 250;
/** Names that a sign-off lists. */
const MOST_PATHS = 50;

export async function verify(port: DriverPort, effect: EffectOf<"verify">): Promise<void> {
  const { deps, state, redactor, stopSignal } = port;
  const { spec } = state;
  if (!spec) return;
  await quietTree(port);
  if (stopSignal.aborted || (await heldUp(port)) === false || stopSignal.aborted) return;
  const { by, round } = effect;
  const where = spec.verify.where;
  port.record({
    type: "verify.started",
    data: { by, round, where, commands: spec.verify.commands.map((one) => one.text) },
  });
  const scratch = deps.layout.folder("scratch");
  if (!scratch.ok) {
    return finish(port, effect, { outcome: "error", reason: scratch.reason, message: scratch.message });
  }
  const verifier = createVerifier({ scratchDir: scratch.path, cgroup: spec.cgroup, hostEnv: deps.env });
  const trees: ContainmentRecord[] = [];
  const report = await verifier.verify(spec.verify, {
    redactor,
    signal: stopSignal,
    round,
    artifactSink: port.artifacts,
    onContained: async (tree) => {
      const registered = await port.estop.register(tree, `a verification command of ${state.taskId}`);
      if (!registered.ok) throw new Error(registered.message);
      trees.push(tree);
    },
    ...(spec.startTree === undefined ? {} : { since: { tree: spec.startTree, ...spec.startHead } }),
  });
  await finish(port, effect, report);
  await Promise.all(trees.map((tree) => port.estop.release(tree)));
}

function finish(
  port: DriverPort,
  effect: EffectOf<"verify">,
  report: Pick<VerifyReport, "outcome" | "message"> & Partial<VerifyReport>,
): Promise<void> {
  const { by, round } = effect;
  const commands = report.commands ?? [];
  /* A stop that stands by now wins: the verdict is only noted. */
  port.estop.held();
  const telling = commands.find((command) => command.outcome !== "pass") ?? commands.at(-1);
  const late = port.state.stop.kind !== "none" ? { late: true as const } : {};
  const data: EventMap["verify.finished"] = {
    outcome: report.outcome,
    exitCode: telling?.exitCode ?? null,
    treeId: report.treeBefore ?? "",
    ...(report.treeAfter === undefined || report.treeAfter === "" ? {} : { treeAfter: report.treeAfter }),
    ...(report.reason === undefined ? {} : { reason: report.reason }),
    message: port.redactor.text(report.message),
    by,
    round,
    where: report.where ?? "workspace",
    durationMs: report.durationMs ?? 0,
    commands,
    findings: report.findings ?? [],
    ...(report.versions === undefined ? {} : { versions: report.versions }),
    ...(report.changes === undefined ? {} : { changes: report.changes }),
    ...late,
  };
  port.record({ type: "verify.finished", data });
  return port.synced().then(() => undefined);
}

/**
 * A verification starts when the worker's tree holds nothing but Claude itself; what is still there after two minutes is
 * ended and named.
 */
async function quietTree(port: DriverPort): Promise<void> {
  const { clock } = port.deps;
  const containment = port.worker?.getStatus().containment;
  if (!containment) return;
  const end = clock.mono() + LEFTOVER_WAIT_MS;
  for (;;) {
    const left = leftovers(containment);
    if (left?.length === 0 || port.stopSignal.aborted) return;
    if (clock.mono() >= end) {
      for (const one of left ?? []) signal(one.identity, "SIGKILL");
      const text = port.redactor.text(left === undefined ? UNTOLD : endedOnes(left));
      port.record({ type: "notice", data: { level: "warning", text } });
      return;
    }
    await new Promise<void>((done) => clock.setTimer(LOOK_MS, done));
  }
}

/** What changes the workspace meanwhile still makes the verdict void: it is bound to the tree before and after. */
const UNTOLD = "Before the verification it could not be told whether processes of the worker were left.";

function endedOnes(left: readonly Leftover[]): string {
  const names = left.slice(0, 5).map((one) => `${one.identity.pid} ${one.command}`);
  const what = left.length === 1 ? "1 process of the worker was" : `${left.length} processes of the worker were`;
  return `Before the verification, ${what} ended: ${names.join("; ")}`;
}

/** The request by which a person signs a pass: durable, and open until they answer or the worker goes on. */
export async function askSignOff(port: DriverPort): Promise<void> {
  const { verification } = port.state;
  if (verification.kind !== "signing" || verification.request !== null) return;
  const { facts, why } = verification;
  const paths = changedScripts(facts);
  const requestId = port.deps.ids.requestId();
  const message = signOffMessage(port.state, why, requestId, paths);
  const { treeId, round } = facts;
  port.record({
    type: "signoff.requested",
    data: { requestId, why, treeId, round, message, paths: paths.slice(0, MOST_PATHS) },
  });
  await port.synced();
}

function signOffMessage(state: TaskState, why: SignOffWhy, requestId: string, paths: readonly string[]): string {
  const sign = `\`/supervise approve ${requestId}\` then completes task ${state.taskId}.`;
  const said = state.lastReview === null ? "" : reviewSummary(state.lastReview);
  switch (why) {
    case "changed-script":
      return `The verification passed, but the worker changed what it runs (${summary(paths)}). Look at that; ${sign}`;
    case "review-person":
      return `The verification passed, and the reviewer leaves it to you: ${said} Look at it; ${sign}`;
    case "review-unavailable":
      return `The verification passed, but there is no review: ${said} Look at it yourself; ${sign}`;
  }
}

function summary(paths: readonly string[]): string {
  const more = paths.length - 5;
  return `${paths.slice(0, 5).join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}

export async function confirmTree(port: DriverPort, effect: EffectOf<"confirm-tree">): Promise<void> {
  const { spec } = port.state;
  if (!spec || (await heldUp(port)) === false) return;
  const scratch = port.deps.layout.folder("scratch");
  const now = await treeId(spec.cwd, {
    signal: port.stopSignal,
    hostEnv: port.deps.env,
    ...(scratch.ok ? { scratchDir: scratch.path } : {}),
  });
  const wait = heldUp(port);
  const may = wait === null || (await wait);
  const late = may && port.state.stop.kind === "none" ? {} : { late: true as const };
  if (now.ok && now.id === effect.treeId) {
    port.record({ type: "task.completed", data: { treeId: now.id, round: effect.round, by: effect.by, ...late } });
    await port.synced();
    return;
  }
  const presentTree = now.ok ? now.id : `unknown (${now.reason})`;
  port.record({ type: "verify.stale", data: { passedTree: effect.treeId, presentTree, ...late } });
}

/**
 * A full stop on a dummy worker, in the real control folder and through the real socket, with the time of every stage.
 * It touches no other task: its epoch belongs to its own identity. The last one is kept for `status`.
 */
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync, unlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { failure, type Result } from "../core/result.ts";
import { type Clock, systemClock } from "../platform/clock.ts";
import { durableWrite } from "../platform/durable-write.ts";
import { errnoOf } from "../platform/errno.ts";
import { identify, newMark } from "../platform/process/index.ts";
import type { ControlPort, OpenControlOptions } from "./control-port.ts";
import { openControl } from "./controller.ts";
import { readFloorFile, underLock, writeFloor } from "./files.ts";
import { drillPath, instanceLockPath, recordPath } from "./folder.ts";
import type { Actor, SavedResource } from "./record.ts";
import { requestStop } from "./request.ts";
import { sweepResource } from "./sweep.ts";

export interface DrillReport {
  ok: boolean;
  at: string;
  exitCode: number;
  /** Milliseconds from the request. Absent where the stage was not reached. */
  toOrderMs?: number;
  toAcknowledgedMs?: number;
  toEmptyMs?: number;
  toVerifiedMs?: number;
  processes: number;
}

/** Ignores TERM, and has a command in a session of its own, as Claude's Bash tool starts them. */
const WORKER = `trap '' TERM; setsid sh -c 'trap "" TERM; echo up; while :; do sleep 1; done' & wait; while :; do sleep 1; done`;
/** macOS has no setsid(1); there the command stays in the group. */
const PLAIN = `trap '' TERM; sh -c 'trap "" TERM; echo up; while :; do sleep 1; done' & wait; while :; do sleep 1; done`;

/** Reasons: those of `openControl` and `enroll`; `spawn-failed`. Leaves nothing running. */
export async function runDrill(
  options: OpenControlOptions & { actor: Actor },
): Promise<Result<{ drill: DrillReport }>> {
  const clock = options.clock ?? systemClock;
  const opened = await openControl(options);
  if (!opened.ok) return opened;
  const { control } = opened;
  const identity = `drill-${randomBytes(4).toString("hex")}`;
  const cwd = mkdtempSync(join(tmpdir(), "pi-claude-supervisor-drill-"));
  try {
    const drill = await drillOn(control, identity, cwd, clock, options);
    if (drill.ok) durableWrite(drillPath(control.folder), `${JSON.stringify(drill.drill)}\n`);
    return drill;
  } finally {
    await control.close();
    await erase(control, identity);
    rmSync(cwd, { recursive: true, force: true });
  }
}

async function drillOn(
  control: ControlPort,
  identity: string,
  cwd: string,
  clock: Clock,
  options: OpenControlOptions & { actor: Actor },
): Promise<Result<{ drill: DrillReport }>> {
  const enrolled = await control.enroll({ identity, taskId: identity, cwd });
  if (!enrolled.ok) return enrolled;
  const { task } = enrolled;
  const worker = await startWorker(cwd, clock);
  if (!worker.ok) return worker;
  const times: { order?: number; acknowledged?: number; empty?: number } = {};
  let began = clock.mono();
  const since = (): number => Math.round(clock.mono() - began);
  control.onStop((order) => {
    if (order.identity !== identity) return;
    times.order = since();
    void (async () => {
      await task.acknowledge(order.epoch);
      times.acknowledged = since();
      const swept = await sweepResource(worker.resource, { kind: "now", graceMs: 0 });
      if (swept.proven) times.empty = since();
      await task.report(order.epoch, {});
    })();
  });
  try {
    const registered = await task.register(worker.resource);
    if (!registered.ok) return registered;
    const requestId = randomBytes(16).toString("hex");
    const { actor } = options;
    began = clock.mono();
    const outcome = await requestStop(
      control.folder,
      { verb: "stop", scope: identity, how: "now", reason: "drill", cause: "drill", actor, requestId },
      { clock, redact: options.redact },
    );
    if (!outcome.ok) return outcome;
    const { report } = outcome;
    return {
      ok: true,
      drill: {
        ok: report.ok,
        at: clock.now().toISOString(),
        exitCode: report.exitCode,
        ...(times.order === undefined ? {} : { toOrderMs: times.order }),
        ...(times.acknowledged === undefined ? {} : { toAcknowledgedMs: times.acknowledged }),
        ...(times.empty === undefined ? {} : { toEmptyMs: times.empty }),
        ...(report.exitCode === 1 ? {} : { toVerifiedMs: report.durationMs }),
        processes: 2,
      },
    };
  } finally {
    await sweepResource(worker.resource, { kind: "now", graceMs: 0 });
  }
}

async function startWorker(cwd: string, clock: Clock): Promise<Result<{ resource: SavedResource }>> {
  const mark = newMark();
  const child = spawn("/bin/sh", ["-c", process.platform === "darwin" ? PLAIN : WORKER], {
    cwd,
    detached: true,
    env: { PATH: "/usr/bin:/bin", [mark.name]: mark.value },
    stdio: ["ignore", "pipe", "ignore"],
  });
  child.unref();
  const leader = child.pid === undefined ? undefined : identify(child.pid);
  if (leader === undefined) return failure("spawn-failed", "The drill's worker could not be started. Check /bin/sh.");
  const tree = { kind: "census" as const, marker: mark.marker, leader };
  const isUp = await new Promise<boolean>((resolve) => {
    const cancel = clock.setTimer(5000, () => resolve(false));
    child.once("error", () => resolve(false));
    child.stdout.once("data", () => {
      cancel();
      resolve(true);
    });
  });
  child.stdout.destroy();
  const resource: SavedResource = { id: "drill-worker", kind: "tree", tree, what: "a dummy worker" };
  if (isUp) return { ok: true, resource };
  await sweepResource(resource, { kind: "now", graceMs: 0 });
  return failure("spawn-failed", "The drill's worker did not come up within 5 seconds.");
}

/** Its record is nobody's, so no resume is needed for it. */
async function erase(control: ControlPort, identity: string): Promise<void> {
  const { folder } = control;
  await underLock(folder, {}, () => {
    const floor = readFloorFile(folder);
    if (floor.state === "read") {
      const standing = { ...floor.value.standing };
      delete standing[identity];
      writeFloor(folder, { ...floor.value, standing }, floor, {});
    }
    for (const path of [recordPath(folder, identity), instanceLockPath(folder, identity)]) {
      try {
        unlinkSync(path);
      } catch (error) {
        if (errnoOf(error) === undefined) throw error;
      }
    }
  });
}

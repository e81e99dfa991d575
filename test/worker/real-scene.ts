/** The real Claude Code in a lab with a scripted model, and the ways to end it while its Bash tool runs a tree. */
import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import type { ExecutableFacts } from "../../src/core/contracts/worker.ts";
import { findClaude } from "../../src/worker/index.ts";
import { claudeBinary, claudeEnv } from "../support/claude.ts";
import { bash, text } from "../support/model-reply.ts";
import { type ModelServer, startModelServer } from "../support/model-server.ts";
import { assertNoneLeft, processesWithMark } from "../support/processes.ts";
import { until } from "../support/until.ts";
import { createLab, type Lab } from "../support/workspace.ts";
import { allow, type Driven, type DriveOptions, drive } from "./driver.ts";

let found: Promise<ExecutableFacts> | undefined;

export function realClaude(): Promise<ExecutableFacts> {
  found ??= findClaude({ configured: claudeBinary(), host: process.env }).then((result) => {
    assert.ok(result.ok, JSON.stringify(result));
    return result.executable;
  });
  return found;
}

export interface Scene {
  lab: Lab;
  cwd: string;
  server: ModelServer;
  make(options?: Partial<DriveOptions>): Promise<Driven>;
  /** A worker that has passed its handshake. */
  ready(options?: Partial<DriveOptions>): Promise<Driven>;
}

export async function scene(t: TestContext, files: Record<string, string> = { "a.txt": "hello\n" }): Promise<Scene> {
  const executable = await realClaude();
  const lab = await createLab(t);
  const server = await startModelServer();
  lab.defer(() => server.close());
  const cwd = await lab.repo(files);
  const make: Scene["make"] = (options) => drive({ lab, cwd, executable, env: claudeEnv(lab, server.url), ...options });
  return {
    lab,
    cwd,
    server,
    make,
    async ready(options) {
      const driven = await make(options);
      assert.deepEqual(await driven.worker.start(), { ok: true, permissionMode: "default" });
      return driven;
    },
  };
}

const TREE = ["sleep 601", "sleep 602", "sleep 603"];

/** Claude while its Bash tool runs a background process, one in its own session, and one in the foreground. */
async function withTree(t: TestContext, cgroup: "auto" | "off"): Promise<{ driven: Driven; lab: Lab }> {
  const { server, ready, lab } = await scene(t);
  server.script("main", [bash(`${TREE[0]} & setsid ${TREE[1]} & ${TREE[2]}`), text("ok")]);
  const driven = await ready({ onHook: () => allow, input: { cgroup } });
  await driven.prompt("go");
  await until(
    () => TREE.every((name) => processesWithMark(lab.mark).some((process) => process.command === name)),
    30_000,
    "the tool's tree",
  );
  return { driven, lab };
}

export async function stopGracefully(t: TestContext, cgroup: "auto" | "off"): Promise<void> {
  const { driven, lab } = await withTree(t, cgroup);
  const outcome = await driven.worker.stop({ kind: "graceful", graceMs: 5000 });
  assert.equal(outcome.proven, true);
  assert.ok(outcome.durationMs < 5000, `took ${outcome.durationMs} ms`);
  await assertNoneLeft(lab.mark, 1000);
}

export async function killAtOnce(t: TestContext, cgroup: "auto" | "off"): Promise<void> {
  const { driven, lab } = await withTree(t, cgroup);
  const outcome = await driven.worker.killProcessGroup();
  assert.equal(outcome.proven, true);
  assert.ok(outcome.durationMs < 3000, `took ${outcome.durationMs} ms`);
  assert.equal((await driven.next("exited")).signal, "SIGKILL");
  await assertNoneLeft(lab.mark, 1000);
}

/** Recorded on 2.1.268: SIGTERM ends it with 143 and its tools with it; SIGKILL leaves the tools running. */
export async function endBySignal(
  t: TestContext,
  cgroup: "auto" | "off",
  signal: "SIGTERM" | "SIGINT" | "SIGKILL",
): Promise<void> {
  const { driven, lab } = await withTree(t, cgroup);
  const { leader } = driven.worker.getStatus();
  assert.ok(leader);
  process.kill(leader.pid, signal);
  const exited = await driven.next("exited", () => true, 15_000);
  if (signal === "SIGTERM") assert.equal(exited.code, 143);
  if (signal === "SIGKILL") assert.equal(exited.signal, "SIGKILL");
  assert.equal(driven.worker.getStatus().phase, "gone");
  const outcome = await driven.worker.stop({ kind: "now", graceMs: 0 });
  assert.equal(outcome.proven, true);
  await assertNoneLeft(lab.mark, 1000);
}

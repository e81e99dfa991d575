/** The adapter against the real Claude Code and a scripted model: the facts that everything else relies on. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { before, describe, type TestContext, test } from "node:test";
import type { ExecutableFacts } from "../../src/core/contracts/worker.ts";
import { findClaude } from "../../src/worker/index.ts";
import { claudeBinary, claudeEnv } from "../support/claude.ts";
import { bash, text } from "../support/model-reply.ts";
import { type ModelServer, startModelServer } from "../support/model-server.ts";
import { assertNoneLeft } from "../support/processes.ts";
import { createLab, type Lab } from "../support/workspace.ts";
import { allow, type Driven, type DriveOptions, drive } from "./driver.ts";

let executable: ExecutableFacts;

before(async () => {
  const found = await findClaude({ configured: claudeBinary(), host: process.env });
  assert.ok(found.ok, JSON.stringify(found));
  executable = found.executable;
});

interface Scene {
  lab: Lab;
  cwd: string;
  server: ModelServer;
  start(options?: Partial<DriveOptions>): Promise<Driven>;
}

async function scene(t: TestContext): Promise<Scene> {
  const lab = await createLab(t);
  const server = await startModelServer();
  lab.defer(() => server.close());
  const cwd = await lab.repo({ "a.txt": "hello\n" });
  return {
    lab,
    cwd,
    server,
    start: (options) => drive({ lab, cwd, executable, env: claudeEnv(lab, server.url), ...options }),
  };
}

async function ready(driven: Driven): Promise<void> {
  const started = await driven.worker.start();
  assert.deepEqual(started, { ok: true, permissionMode: "default" });
}

describe("the real Claude Code", () => {
  test("starts gated, takes a prompt, asks before ls, replies and stops with proof", async (t) => {
    const { server, lab, start } = await scene(t);
    server.script("main", [bash("ls"), text("All good.")]);
    const driven = await start({ onHook: () => allow });
    await ready(driven);
    assert.deepEqual(
      driven.events.slice(0, 1).map((event) => event.type),
      ["spawned"],
    );
    const key = await driven.prompt("List the files");
    const result = await driven.next("result");
    assert.equal(result.isError, false);
    assert.equal(result.text, "All good.");
    assert.equal(result.terminalReason, "completed");
    assert.equal(result.numTurns, 2);
    const hook = await driven.next("hook");
    assert.deepEqual(
      [hook.toolName, hook.input, hook.cwd],
      ["Bash", { command: "ls", description: "scripted" }, driven.input.cwd],
    );
    const toolResult = await driven.next("tool-result");
    assert.equal(toolResult.toolUseId, hook.toolUseId);
    assert.match(toolResult.text, /a\.txt/);
    assert.deepEqual(
      driven
        .of("prompt-ack")
        .filter((ack) => ack.promptId === key)
        .map((ack) => ack.state)
        .slice(0, 2),
      ["queued", "started"],
    );
    const init = await driven.next("init");
    assert.deepEqual([init.permissionMode, init.sessionId], ["default", driven.input.sessionId]);
    const outcome = await driven.worker.stop({ kind: "graceful", graceMs: 5000 });
    assert.equal(outcome.proven, true);
    assert.equal(driven.of("exited").length, 1);
    await assertNoneLeft(lab.mark, 5000);
  });
});

/** The adapter against the real Claude Code and a scripted model: the facts that everything else relies on. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { apiError, bash, hang, text, toolUse, toolUses } from "../support/model-reply.ts";
import { assertNoneLeft, processesWithMark } from "../support/processes.ts";
import { until } from "../support/until.ts";
import { writeTree } from "../support/workspace.ts";
import { allow, type Driven, type DriveOptions } from "./driver.ts";
import { endBySignal, killAtOnce, type Scene, scene, stopGracefully } from "./real-scene.ts";

/** Ends the worker at rest and starts another one on its session. */
async function resumed({ ready }: Scene, first: Driven, options: Partial<DriveOptions> = {}): Promise<Driven> {
  const outcome = await first.worker.pause(10_000);
  assert.equal(outcome.proven, true);
  const input = { ...options.input, sessionId: first.input.sessionId, resume: true };
  return ready({ ...options, input });
}

describe("a turn", () => {
  test("starts gated, takes a prompt, asks before ls, replies and stops with proof", async (t) => {
    const { server, lab, ready } = await scene(t);
    server.script("main", [bash("ls"), text("All good.")]);
    const driven = await ready({ onHook: () => allow });
    const key = await driven.prompt("List the files");
    const result = await driven.next("result");
    assert.deepEqual(
      [result.isError, result.text, result.terminalReason, result.numTurns, result.usage?.outputTokens !== undefined],
      [false, "All good.", "completed", 2, true],
    );
    const hook = await driven.next("hook");
    assert.equal(hook.toolName, "Bash");
    assert.deepEqual(hook.input, { command: "ls", description: "scripted" });
    assert.equal(hook.cwd, driven.input.cwd);
    const toolResult = await driven.next("tool-result");
    assert.equal(toolResult.toolUseId, hook.toolUseId);
    assert.match(toolResult.text, /a\.txt/);
    await driven.next("prompt-ack", (ack) => ack.promptId === key && ack.state === "completed");
    const init = await driven.next("init");
    assert.deepEqual([init.permissionMode, init.sessionId], ["default", driven.input.sessionId]);
    const outcome = await driven.worker.stop({ kind: "graceful", graceMs: 5000 });
    assert.equal(outcome.proven, true);
    assert.equal(driven.of("exited").length, 1);
    assert.deepEqual(driven.of("unknown"), []);
    await assertNoneLeft(lab.mark, 5000);
  });

  test("gives the guidance to the model without putting it on the command line", async (t) => {
    const { server, ready } = await scene(t);
    server.script("main", [text("ok")]);
    const driven = await ready({ input: { appendSystemPrompt: "House rule: tabs." } });
    await driven.prompt("go");
    await driven.next("result");
    assert.ok(server.of("main")[0]?.body.system.includes("House rule: tabs."));
    const spawned = await driven.next("spawned");
    assert.ok(!spawned.argv.join(" ").includes("House rule"));
  });

  test("delivers a prompt as written: no file is read for an @path, no /command is run", async (t) => {
    const { server, ready, cwd } = await scene(t, { "secret.txt": "the-content-of-the-file\n" });
    server.script("main", () => text("ok"));
    const driven = await ready();
    const prompts = [`look at @secret.txt and @${join(cwd, "secret.txt")}`, "/clear all of it", "  /cost"];
    for (const [index, prompt] of prompts.entries()) {
      await driven.prompt(prompt);
      await until(() => driven.of("result").length === index + 1, 30_000, "the result");
    }
    const requests = server.of("main");
    assert.equal(requests.length, 3);
    assert.equal(
      requests
        .at(-1)
        ?.userTexts()
        .filter((said) => prompts.includes(said)).length,
      3,
    );
    assert.ok(!requests.some((request) => request.everything().includes("the-content-of-the-file")));
    assert.deepEqual(driven.of("conversation-reset"), []);
  });

  test("calls the model once for a prompt that is sent twice", async (t) => {
    const { server, ready } = await scene(t);
    server.script("main", () => text("ok"));
    const driven = await ready();
    const key = randomUUID();
    const sent = await Promise.all([driven.worker.send("once", key), driven.worker.send("once", key)]);
    assert.deepEqual(sent, [{ ok: true }, { ok: true }]);
    const other = await driven.worker.send("another", key);
    assert.equal(other.ok ? "" : other.reason, "key-conflict");
    await driven.next("prompt-ack", (ack) => ack.promptId === key && ack.state === "completed");
    assert.equal(server.of("main").length, 1);
  });

  test("names the kind of an API failure in the result", async (t) => {
    const { server, ready } = await scene(t);
    server.script("main", () => apiError(400));
    const driven = await ready();
    await driven.prompt("go");
    const result = await driven.next("result");
    assert.deepEqual([result.isError, result.apiErrorStatus, result.apiError], [true, 400, "unknown"]);
  });

  test("passes a model and a bound of turns on", async (t) => {
    const { server, ready } = await scene(t);
    server.script("main", () => bash("ls"));
    const driven = await ready({ onHook: () => allow, input: { model: "claude-haiku-4-5", maxTurns: 2 } });
    await driven.prompt("go");
    const result = await driven.next("result");
    assert.deepEqual([result.subtype, result.isError, result.terminalReason], ["error_max_turns", true, "max_turns"]);
    assert.match(server.of("main")[0]?.body.model ?? "", /haiku/);
  });

  test("reports retries of the API while Claude goes on by itself", async (t) => {
    const { server, ready } = await scene(t);
    server.script("main", [apiError(529), text("ok")]);
    const driven = await ready();
    await driven.prompt("go");
    const retry = await driven.next("retry");
    assert.deepEqual([retry.attempt, retry.status], [1, 529]);
    assert.equal((await driven.next("result")).isError, false);
  });

  test("reports background work that outlives the result, and the second result after it", async (t) => {
    const { server, ready } = await scene(t);
    server.script("main", [
      toolUse("Agent", { description: "d", prompt: "do", subagent_type: "general-purpose", run_in_background: true }),
      text("first"),
      text("second"),
    ]);
    server.script("subagent", [bash("touch sub.txt"), text("sub done")]);
    const driven = await ready({ onHook: () => allow });
    await driven.prompt("go");
    await driven.next("background", (event) => event.tasks.length === 1);
    await driven.next("background", (event) => event.tasks.length === 0);
    await until(() => driven.of("result").length >= 2, 30_000, "the second result");
    const hook = await driven.next("hook", (event) => event.agentId !== undefined);
    assert.equal(hook.toolName, "Bash");
  });
});

describe("the gate", () => {
  test("a denied call does not run, and the model is told the reason", async (t) => {
    const { server, ready, cwd } = await scene(t);
    server.script("main", [bash("touch denied.txt"), text("ok")]);
    const driven = await ready({ onHook: () => ({ decision: "deny", reason: "not on my watch" }) });
    await driven.prompt("go");
    await driven.next("result");
    assert.equal(existsSync(join(cwd, "denied.txt")), false);
    const told = server.of("main")[1]?.newToolResults()[0];
    assert.deepEqual([told?.isError, told?.text.includes("not on my watch")], [true, true]);
    const result = await driven.next("tool-result");
    assert.deepEqual([result.isError, result.wrapped, result.aborted], [true, false, false]);
  });

  test("a held call waits, and runs when it is allowed later", async (t) => {
    const { server, ready, cwd } = await scene(t);
    server.script("main", [bash("touch held.txt"), text("ok")]);
    const driven = await ready();
    await driven.prompt("go");
    const hook = await driven.next("hook");
    await driven.next("heartbeat");
    assert.equal(existsSync(join(cwd, "held.txt")), false);
    assert.deepEqual(await driven.worker.reply(hook.callId, allow), { ok: true });
    const again = await driven.worker.reply(hook.callId, allow);
    assert.equal(again.ok ? "" : again.reason, "request-answered");
    await driven.next("result");
    assert.equal(existsSync(join(cwd, "held.txt")), true);
  });

  test("an allow with answers answers AskUserQuestion without another question", async (t) => {
    const { server, ready } = await scene(t);
    const options = [
      { label: "Red", description: "r" },
      { label: "Blue", description: "b" },
    ];
    const questions = [{ question: "Which colour?", header: "Colour", multiSelect: false, options }];
    server.script("main", [toolUse("AskUserQuestion", { questions }), text("ok")]);
    const driven = await ready({
      onHook: (hook) => ({
        decision: "allow",
        updatedInput: { ...(hook.input as object), answers: { "Which colour?": "Blue" } },
      }),
    });
    await driven.prompt("go");
    await driven.next("result");
    assert.deepEqual(driven.of("ask"), []);
    assert.match(server.of("main")[1]?.newToolResults()[0]?.text ?? "", /Blue/);
  });

  test("a deny with endTurn ends the turn", async (t) => {
    const { server, ready } = await scene(t);
    server.script("main", [bash("touch x"), text("never said")]);
    const driven = await ready({ onHook: () => ({ decision: "deny", reason: "enough", endTurn: true }) });
    await driven.prompt("go");
    assert.equal((await driven.next("result")).terminalReason, "hook_stopped");
    assert.equal(server.of("main").length, 1);
  });

  test("an interrupt takes a held call back; a late answer is refused", async (t) => {
    const { server, ready, cwd } = await scene(t);
    server.script("main", [bash("touch late.txt"), text("ok")]);
    const driven = await ready();
    await driven.prompt("go");
    const hook = await driven.next("hook");
    assert.equal((await driven.worker.interrupt()).ok, true);
    await driven.next("cancelled", (event) => event.callId === hook.callId);
    const late = await driven.worker.reply(hook.callId, allow);
    assert.equal(late.ok ? "" : late.reason, "request-cancelled");
    const result = await driven.next("result");
    assert.equal(result.isError, true);
    assert.equal(existsSync(join(cwd, "late.txt")), false);
    const cutOff = await driven.next("tool-result");
    assert.deepEqual([cutOff.isError, cutOff.aborted], [true, true]);
  });

  test("an interrupt at rest puts nothing into the conversation", async (t) => {
    const { server, ready } = await scene(t);
    server.script("main", () => text("ok"));
    const driven = await ready();
    await driven.prompt("first");
    await driven.next("result");
    assert.equal((await driven.worker.interrupt()).ok, true);
    await driven.prompt("second");
    await until(() => driven.of("result").length === 2, 30_000, "the second result");
    assert.ok(!server.of("main")[1]?.everything().includes("interrupted"));
  });

  test("a subagent's call and a can_use_tool cannot be deferred, and stay open", async (t) => {
    const { server, ready } = await scene(t);
    server.script("main", [
      toolUse("Agent", { description: "d", prompt: "do", subagent_type: "general-purpose" }),
      text("ok"),
      text("ok"),
    ]);
    server.script("subagent", [bash("touch sub.txt"), text("sub done")]);
    const driven = await ready({ onHook: (hook) => (hook.agentId === undefined ? allow : undefined) });
    await driven.prompt("go");
    const hook = await driven.next("hook", (event) => event.agentId !== undefined);
    const deferred = await driven.worker.reply(hook.callId, { decision: "defer" });
    assert.equal(deferred.ok ? "" : deferred.reason, "not-deferrable");
    assert.deepEqual(await driven.worker.reply(hook.callId, allow), { ok: true });
  });

  test("parallel calls each come to the gate", async (t) => {
    const { server, ready } = await scene(t);
    const call = (name: string) => ({ name: "Bash", input: { command: `touch ${name}`, description: "d" } });
    server.script("main", [toolUses(call("p1"), call("p2"), call("p3")), text("ok")]);
    const driven = await ready({ onHook: () => allow });
    await driven.prompt("go");
    await driven.next("result");
    assert.equal(driven.of("hook").length, 3);
    assert.equal(new Set(driven.of("tool-result").map((event) => event.toolUseId)).size, 3);
  });

  test("calls that Claude refuses before any hook are told apart by their wrapping", async (t) => {
    const { server, ready } = await scene(t);
    server.script("main", [toolUse("NoSuchTool", { a: 1 }), text("ok")]);
    const driven = await ready({ onHook: () => allow });
    await driven.prompt("go");
    await driven.next("result");
    const result = await driven.next("tool-result");
    assert.deepEqual([result.isError, result.wrapped], [true, true]);
    assert.deepEqual(driven.of("hook"), []);
  });
});

describe("settings", () => {
  const PERSONAL: [string, object][] = [
    ["disableAllHooks and a blanket allow", { disableAllHooks: true, permissions: { allow: ["Bash(*)"] } }],
    ["a bypass mode", { permissions: { defaultMode: "bypassPermissions" } }],
  ];
  for (const [what, settings] of PERSONAL) {
    test(`a person's own ${what} cannot take the gate away`, async (t) => {
      const { lab, server, ready, cwd } = await scene(t);
      await writeTree(lab.home, { ".claude/settings.json": JSON.stringify(settings) });
      server.script("main", [bash("touch made.txt"), text("ok")]);
      const driven = await ready({ onHook: () => ({ decision: "deny", reason: "no" }) });
      await driven.prompt("go");
      await driven.next("result");
      assert.equal(existsSync(join(cwd, "made.txt")), false);
      assert.equal((await driven.next("init")).permissionMode, "default");
    });
  }

  test("a person's own ask rule asks once more, under the same tool_use_id", async (t) => {
    const { lab, server, ready } = await scene(t);
    await writeTree(lab.home, { ".claude/settings.json": JSON.stringify({ permissions: { ask: ["Bash(ls:*)"] } }) });
    server.script("main", [bash("ls"), text("ok")]);
    const driven = await ready({ onHook: () => allow });
    await driven.prompt("go");
    const ask = await driven.next("ask");
    assert.equal(ask.toolUseId, (await driven.next("hook")).toolUseId);
    assert.deepEqual(await driven.worker.reply(ask.callId, allow), { ok: true });
    assert.match((await driven.next("tool-result")).text, /a\.txt/);
  });

  for (const [trust, runs] of [
    ["user", false],
    ["none", false],
    ["project", true],
  ] as const) {
    test(`a repository's hooks and MCP servers ${runs ? "run" : "do not run"} with trust ${trust}`, async (t) => {
      const { server, ready, cwd } = await scene(t, {
        ".claude/settings.json": JSON.stringify({
          hooks: { UserPromptSubmit: [{ hooks: [{ type: "command", command: "touch hook-ran" }] }] },
        }),
        ".mcp.json": JSON.stringify({ mcpServers: { evil: { command: "touch", args: ["mcp-ran"] } } }),
      });
      server.script("main", [text("ok")]);
      const driven = await ready({ input: { trust } });
      await driven.prompt("go");
      await driven.next("result");
      assert.equal(existsSync(join(cwd, "hook-ran")), runs);
      if (!runs) assert.equal(existsSync(join(cwd, "mcp-ran")), false);
    });
  }

  test("process-pipe answers one prompt in plain text and leaves", async (t) => {
    const { server, make } = await scene(t);
    server.script("main", [text("plain words")]);
    const driven = await make({ transport: "process-pipe" });
    assert.equal((await driven.worker.start()).ok, true);
    await driven.prompt("say something");
    assert.equal((await driven.next("exited")).code, 0);
    assert.equal(
      driven
        .of("text")
        .map((event) => event.text)
        .join(""),
      "plain words\n",
    );
  });
});

describe("deferring and resuming", () => {
  test("a deferred call is asked again by the resumed session, and runs when allowed", async (t) => {
    const here = await scene(t);
    here.server.script("main", [bash("touch deferred.txt"), text("ran after all")]);
    const first = await here.ready({ onHook: () => ({ decision: "defer" }) });
    await first.prompt("go");
    const result = await first.next("result");
    assert.deepEqual([result.terminalReason, result.deferred?.toolName], ["tool_deferred", "Bash"]);
    const second = await resumed(here, first, { onHook: () => allow });
    const again = await second.next("hook");
    assert.equal(again.toolUseId, result.deferred?.toolUseId);
    assert.equal((await second.next("result")).text, "ran after all");
    assert.equal(existsSync(join(here.cwd, "deferred.txt")), true);
  });

  test("a paused session goes on with what was said in it", async (t) => {
    const here = await scene(t);
    here.server.script("main", () => text("ok"));
    const first = await here.ready();
    await first.prompt("remember the number 4711");
    await first.next("result");
    const second = await resumed(here, first);
    await second.prompt("go on");
    await second.next("result");
    assert.ok(here.server.of("main").at(-1)?.userTexts().includes("remember the number 4711"));
    assert.equal((await second.next("init")).sessionId, first.input.sessionId);
  });

  test("a session that Claude does not have is no-session, and nothing is left running", async (t) => {
    const { make, lab } = await scene(t);
    const driven = await make({ input: { resume: true } });
    const started = await driven.worker.start();
    assert.ok(!started.ok);
    assert.equal(started.reason, "no-session");
    assert.match(started.message, new RegExp(driven.input.sessionId));
    await assertNoneLeft(lab.mark, 5000);
  });

  test("a takeover in mid-turn ends Claude gracefully and says how to go on", async (t) => {
    const here = await scene(t);
    here.server.script("main", [bash("sleep 600"), text("ok")]);
    const driven = await here.ready({ onHook: () => allow });
    await driven.prompt("go");
    await until(() => processesWithMark(here.lab.mark).some((p) => p.command === "sleep 600"), 30_000, "the tool");
    const taken = await driven.worker.takeover(10_000);
    assert.ok(taken.ok);
    assert.deepEqual(taken.resumeArgs, [
      `--resume=${driven.input.sessionId}`,
      "--setting-sources=user",
      "--strict-mcp-config",
    ]);
    assert.equal(taken.outcome.proven, true);
    await assertNoneLeft(here.lab.mark, 5000);
    here.server.script("main", () => text("still there"));
    const second = await here.ready({ input: { sessionId: driven.input.sessionId, resume: true } });
    await second.prompt("go on");
    assert.equal((await second.next("result")).isError, false);
  });
});

describe("ending", () => {
  for (const cgroup of ["auto", "off"] as const) {
    test(`a graceful stop leaves nothing of a running tool's tree (cgroup ${cgroup})`, (t) =>
      stopGracefully(t, cgroup));
    test(`a kill leaves nothing of a running tool's tree (cgroup ${cgroup})`, (t) => killAtOnce(t, cgroup));
  }
  test("SIGTERM to Claude itself is reported, and a stop proves the rest gone", (t) =>
    endBySignal(t, "off", "SIGTERM"));
  test("SIGKILL to Claude itself is reported, and a stop proves the rest gone", (t) =>
    endBySignal(t, "auto", "SIGKILL"));

  test("a stop while the model is silent does not wait for it", async (t) => {
    const { server, ready, lab } = await scene(t);
    server.script("main", () => hang());
    const driven = await ready();
    await driven.prompt("go");
    await server.waitForRequest((request) => request.kind === "main", 30_000);
    const outcome = await driven.worker.stop({ kind: "graceful", graceMs: 5000 });
    assert.equal(outcome.proven, true);
    assert.ok(outcome.durationMs < 3000, `took ${outcome.durationMs} ms`);
    await assertNoneLeft(lab.mark, 1000);
  });
});

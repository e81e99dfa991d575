/** Takeover and handback with the scripted `claude`: what it was told, and when; crashes and second Pi included. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import type { Result } from "../../src/core/result.ts";
import { assertNoneLeft, isAlive } from "../support/processes.ts";
import { until } from "../support/until.ts";
import { OPENING, openStage, type Stage, type StageOptions } from "./stage.ts";

const BUSY = [...OPENING, { obey: true }, { eof: true }, { exit: 0 }];

/** What the workers were told so far, in order. */
const told = (stage: Stage): string[] =>
  stage.fake.factsOf("stdin").flatMap(({ line }) => {
    const message = JSON.parse(line) as { type: string; message?: { content: string } };
    return message.type === "user" ? [message.message?.content ?? ""] : [];
  });

const spawns = (stage: Stage) => stage.fake.factsOf("start").length;

function refusedWith(answer: Result<object>, reason: string): void {
  assert.deepEqual([answer.ok, answer.ok ? null : answer.reason], [false, reason], JSON.stringify(answer));
}

/** A task of its own, taken over in the middle of its first turn. */
async function taken(t: Parameters<typeof openStage>[0], options: StageOptions = {}) {
  const stage = await openStage(t, { steps: BUSY, ...options });
  const taskId = await stage.start({ goal: "Mend the fence" });
  await stage.when(taskId, (view) => view.state === "running" && told(stage).length === 1, "a turn");
  const answer = await stage.supervisor.takeover(taskId);
  assert.ok(answer.ok, JSON.stringify(answer));
  return { stage, taskId, answer, sessionId: (await stage.view(taskId)).claudeSessionId ?? "" };
}

describe("a takeover", () => {
  test("in mid-turn: off in the log, the worker interrupted and gone, the words to go on complete", async (t) => {
    const { stage, taskId, answer, sessionId } = await taken(t);
    assert.equal(answer.state, "taken_over");
    const { cwd } = stage;
    assert.ok(answer.resumeCommand.startsWith(`cd ${cwd} && `), answer.resumeCommand);
    assert.ok(answer.resumeCommand.endsWith(`claude --resume=${sessionId} --setting-sources=user --strict-mcp-config`));
    assert.deepEqual(answer.launch.cwd, cwd);
    await assertNoneLeft(stage.lab.mark, 1_000);
    const events = (await stage.events(taskId)).map((event) => event.type);
    const asked = events.indexOf("takeover.requested");
    assert.ok(asked > 0 && asked < events.indexOf("worker.ending"), events.join(" "));
    assert.equal(events.filter((type) => type === "ungated").length, 1);
    assert.ok(stage.fake.factsOf("stdin").some(({ line }) => line.includes('"interrupt"')));
    const view = await stage.view(taskId);
    assert.deepEqual([view.state, view.waitsFor, view.recoverable], ["taken_over", null, false]);
  });

  test("answers the same again, and refuses everything that would reach the worker", async (t) => {
    const { stage, taskId, answer } = await taken(t);
    const { supervisor } = stage;
    assert.deepEqual(await supervisor.takeover(taskId), answer);
    refusedWith(await supervisor.send(taskId, "hello"), "taken-over");
    refusedWith(await supervisor.verify(taskId), "taken-over");
    refusedWith(await supervisor.recover(taskId, { fresh: false }), "taken-over");
    refusedWith(await supervisor.recover(taskId, { fresh: true }), "taken-over");
    refusedWith(await supervisor.pause(taskId, undefined), "taken-over");
    assert.deepEqual([told(stage).length, spawns(stage)], [1, 1]);
    assert.equal((await supervisor.replay(taskId)).ok, true);
  });

  test("of a paused task needs no worker; a stop ends it, and the task is recovered like any other", async (t) => {
    const stage = await openStage(t);
    const taskId = await stage.start();
    await stage.when(taskId, (view) => view.waitsFor === "result", "the result");
    assert.ok((await stage.supervisor.pause(taskId, undefined)).ok);
    const answer = await stage.supervisor.takeover(taskId);
    assert.ok(answer.ok && answer.state === "taken_over", JSON.stringify(answer));
    const stopped = await stage.supervisor.stop(taskId, undefined);
    assert.deepEqual(stopped, { ok: true, state: "stopped" });
    refusedWith(await stage.supervisor.handback(taskId, undefined), "ended");
    assert.ok((await stage.supervisor.recover(taskId, { fresh: false })).ok);
  });

  test("takes a request that waits with it: an answer of later reaches nobody", async (t) => {
    const stage = await openStage(t, {
      steps: [...OPENING, { hook: { tool: "Bash", input: { command: "node gen.mjs" } } }],
    });
    const taskId = await stage.start();
    const waiting = await stage.when(taskId, (view) => view.waitsFor === "approval", "the request");
    const requestId = waiting.requests[0]?.requestId ?? "";
    assert.ok((await stage.supervisor.takeover(taskId)).ok);
    assert.deepEqual(await stage.supervisor.approvals(), { ok: true, requests: [] });
    refusedWith(await stage.supervisor.approve(requestId, undefined, "command"), "no-request");
    const answers = stage.fake.factsOf("stdin").filter(({ line }) => line.includes('"permissionDecision":"allow"'));
    assert.deepEqual(answers, []);
  });

  test("is refused while the worker starts, and works when it is asked for again", async (t) => {
    const stage = await openStage(t);
    const taskId = await stage.start();
    refusedWith(await stage.supervisor.takeover(taskId), "starting");
    const answer = await until(
      async () => {
        const again = await stage.supervisor.takeover(taskId);
        if (!again.ok) assert.ok(["starting", "busy"].includes(again.reason), JSON.stringify(again));
        return again.ok ? again : undefined;
      },
      30_000,
      "the takeover",
    );
    assert.equal(answer.state, "taken_over");
  });
});

describe("a handback", () => {
  test("goes on in the same session, tells it of the person and the note, and never quotes the goal", async (t) => {
    const { stage, taskId, sessionId } = await taken(t);
    const back = await stage.supervisor.handback(taskId, "I moved the gate.");
    assert.ok(back.ok, JSON.stringify(back));
    const [, second = ""] = await until(
      () => (told(stage).length === 2 ? told(stage) : undefined),
      30_000,
      "the word of the handback",
    );
    assert.match(second, /A person has worked in this session/);
    assert.match(second, /The person says: I moved the gate\./);
    assert.ok(!second.includes("Mend the fence"));
    const [, resumed] = stage.fake.factsOf("start");
    assert.ok(resumed?.argv.includes(`--resume=${sessionId}`));
    const sources = (await stage.events(taskId)).flatMap(({ type, data }) =>
      type === "prompt.intent" ? [(data as { source: string }).source] : [],
    );
    assert.deepEqual(sources, ["goal", "handback"]);
  });

  test("waits for the person's Claude to be closed, and counts what the session got meanwhile", async (t) => {
    const { stage, taskId, sessionId } = await taken(t);
    const entry = (over: object) =>
      JSON.stringify({ type: "user", timestamp: new Date(Date.now() + 5).toISOString(), ...over });
    const lines = [
      entry({ message: { role: "user", content: "before" }, timestamp: "2020-01-01T00:00:00.000Z" }),
      entry({ message: { role: "user", content: "one" } }),
      entry({ message: { role: "user", content: [{ type: "text", text: "two" }] } }),
      entry({ message: { role: "user", content: [{ type: "tool_result", content: "x" }] } }),
      entry({ message: { role: "user", content: "a note" }, isMeta: true }),
      entry({ message: { role: "user", content: "a subagent's" }, isSidechain: true }),
      '{"type":"user","torn',
    ];
    const folder = join(stage.lab.home, ".claude", "projects", "-somewhere");
    assert.ok(folder === undefined || folder !== "", "the home of the account is not written to");
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, `${sessionId}.jsonl`), lines.join("\n"));
    const open = spawn("sh", ["-c", "sleep 60; true", sessionId], {
      env: { ...stage.lab.env },
      stdio: "ignore",
      detached: true,
    });
    const pid = open.pid ?? 0;
    stage.lab.defer(() => isAlive(pid) && process.kill(-pid, "SIGKILL"));
    const refused = await stage.supervisor.handback(taskId, undefined);
    refusedWith(refused, "session-busy");
    refusedWith(await stage.supervisor.takeover(taskId), "session-busy");
    assert.equal(spawns(stage), 1);
    process.kill(-pid, "SIGKILL");
    await until(() => !isAlive(pid), 10_000, "the end of the person's Claude");
    const back = await stage.supervisor.handback(taskId, undefined);
    assert.deepEqual([back.ok, back.ok && back.turns], [true, 2], JSON.stringify(back));
  });

  test("is refused where nobody has taken the task, and of a task that is over", async (t) => {
    const stage = await openStage(t);
    const taskId = await stage.start();
    await stage.when(taskId, (view) => view.waitsFor === "result", "the result");
    refusedWith(await stage.supervisor.handback(taskId, undefined), "not-taken-over");
    assert.ok((await stage.supervisor.stop(taskId, undefined)).ok);
    refusedWith(await stage.supervisor.handback(taskId, undefined), "ended");
    refusedWith(await stage.supervisor.takeover(taskId), "ended");
    refusedWith(await stage.supervisor.handback("t-nothing", undefined), "no-task");
  });
});

describe("when the Pi that took it over is gone", () => {
  test("nothing is sent and nothing recovered; another Pi hands it back", async (t) => {
    const { stage, taskId } = await taken(t);
    await stage.supervisor.shutdown(2_000);
    const other = await openStage(t, { lab: stage.lab, cwd: stage.cwd });
    const rows = await other.supervisor.sessions(false);
    assert.deepEqual(
      rows.tasks.map((row) => [row.taskId, row.state, row.recoverable]),
      [[taskId, "taken_over", false]],
    );
    refusedWith(await other.supervisor.recover(taskId, { fresh: false }), "taken-over");
    refusedWith(await other.supervisor.send(taskId, "hello"), "taken-over");
    assert.equal(spawns(other), 0);
    const again = await other.supervisor.takeover(taskId);
    assert.ok(again.ok && again.state === "taken_over", JSON.stringify(again));
    const back = await other.supervisor.handback(taskId, "From another Pi.");
    assert.ok(back.ok, JSON.stringify(back));
    await until(() => (told(other).length === 1 ? true : undefined), 30_000, "the word of the handback");
    assert.match(told(other)[0] ?? "", /From another Pi\./);
    await other.when(taskId, (view) => view.waitsFor === "result", "the result");
    const checked = await other.supervisor.verifyLog(taskId);
    assert.equal(checked.ok, true);
  });

  test("a recoverable task is taken over from any Pi, once what its worker left is gone", async (t) => {
    const stage = await openStage(t, { steps: BUSY });
    const taskId = await stage.start();
    await stage.when(taskId, (view) => view.state === "running" && told(stage).length === 1, "a turn");
    await stage.supervisor.shutdown(2_000);
    const other = await openStage(t, { lab: stage.lab, cwd: stage.cwd });
    const answer = await other.supervisor.takeover(taskId);
    assert.ok(answer.ok && answer.state === "taken_over", JSON.stringify(answer));
    await assertNoneLeft(stage.lab.mark, 1_000);
  });
});

/** The harness's faults are real ones: what Claude Code does about each, and how a terminal and a census behave. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { describe, type TestContext, test } from "node:test";
import { type ClaudeMessage, startRawClaude } from "../support/claude.ts";
import { JsonLines } from "../support/json-lines.ts";
import { apiError, cut, hang, held, type Reply, reset, text, toolUses } from "../support/model-reply.ts";
import { type ModelServer, type Script, startModelServer } from "../support/model-server.ts";
import { type Json, PiAnswers } from "../support/pi-answers.ts";
import { assertNoneLeft, isAlive, killMarked, processesWithMark } from "../support/processes.ts";
import { logProblems, readEvents, taskFolder } from "../support/task.ts";
import { startTmux, tmuxSkipReason } from "../support/tmux.ts";
import { gate, until } from "../support/until.ts";
import { createLab, writeTree } from "../support/workspace.ts";

async function oneTurn(
  t: TestContext,
  replies: Script,
  during?: (server: ModelServer) => Promise<void>,
): Promise<{ result: ClaudeMessage; messages: readonly ClaudeMessage[]; server: ModelServer }> {
  const lab = await createLab(t);
  const server = await startModelServer();
  lab.defer(() => server.close());
  server.script("main", replies);
  const claude = startRawClaude({ lab, modelUrl: server.url, cwd: await lab.repo({}) });
  await claude.initialize();
  claude.prompt("Go");
  await during?.(server);
  const result = await claude.waitFor((message) => message.type === "result", 60_000, "the result");
  await claude.end();
  return { result, messages: claude.messages, server };
}

describe("a scripted fault reaches the real Claude", () => {
  const faults: { name: string; fault: Reply; retryStatus: number | null | undefined }[] = [
    { name: "an overload", fault: apiError(529), retryStatus: 529 },
    { name: "a server error", fault: apiError(500), retryStatus: 500 },
    { name: "a rate limit with retry-after", fault: apiError(429, { retryAfter: 1 }), retryStatus: 429 },
    { name: "a reset connection", fault: reset(), retryStatus: null },
  ];
  for (const { name, fault, retryStatus } of faults) {
    test(`${name} is retried`, async (t) => {
      const { result, messages, server } = await oneTurn(t, [fault, text("Made it.")]);
      assert.deepEqual([result.is_error, result.result], [false, "Made it."]);
      const retry = messages.find((message) => message.subtype === "api_retry");
      assert.equal(retry?.error_status, retryStatus);
      assert.equal(server.of("main").length, 2);
    });
  }

  test("a refused request ends the turn", async (t) => {
    // Claude Code 2.1.268 asks again after 401 (up to ten times), 429, 5xx and resets, but not after 403.
    const { result } = await oneTurn(t, [apiError(403)]);
    assert.deepEqual([result.is_error, result.api_error_status], [true, 403]);
  });

  test("a stream that is cut before its end is asked for again", async (t) => {
    const { result, server } = await oneTurn(t, [cut(text("Half a sent", "ence"), 3), text("Whole.")]);
    assert.deepEqual([result.is_error, result.result], [false, "Whole."]);
    assert.equal(server.of("main").length, 2);
  });

  test("a held answer comes when the gate opens", async (t) => {
    const door = gate();
    const { result } = await oneTurn(t, [held(door.opened, text("At last."))], async (server) => {
      const request = await server.waitForRequest((seen) => seen.kind === "main", 30_000);
      assert.equal(request.state, "open");
      door.open();
    });
    assert.equal(result.result, "At last.");
  });

  test("parallel calls run in one message and their results come back together", async (t) => {
    const calls = toolUses(
      { name: "Bash", input: { command: "echo one" }, id: "toolu_a" },
      { name: "Bash", input: { command: "echo two" }, id: "toolu_b" },
    );
    const { server } = await oneTurn(t, [calls, text("Both.")]);
    const results = server.of("main")[1]?.newToolResults() ?? [];
    assert.deepEqual(results.map((found) => [found.toolUseId, found.text]).sort(), [
      ["toolu_a", "one"],
      ["toolu_b", "two"],
    ]);
  });

  test("a worker that is killed while the model hangs is seen to have left", async (t) => {
    const lab = await createLab(t);
    const server = await startModelServer();
    lab.defer(() => server.close());
    server.script("main", [hang()]);
    const claude = startRawClaude({ lab, modelUrl: server.url, cwd: await lab.repo({}) });
    await claude.initialize();
    claude.prompt("Go");
    const request = await server.waitForRequest((seen) => seen.kind === "main", 30_000);
    process.kill(claude.pid, "SIGKILL");
    await until(() => request.state === "left", 10_000, "the connection's end");
    assert.equal((await claude.end()).signal, "SIGKILL");
  });

  test("a request that nobody scripted is listed, and a script that throws fails the server's end", async () => {
    const server = await startModelServer();
    const ask = (name: string) =>
      fetch(`${server.url}/v1/messages`, {
        method: "POST",
        body: JSON.stringify({ model: "m", messages: [{ role: "user", content: "hi" }], tools: [{ name }] }),
      });
    assert.equal((await ask("other")).status, 200);
    assert.deepEqual(
      server.unscripted.map((request) => request.kind),
      ["pi"],
    );
    server.script("reviewer", () => {
      throw new Error("wrong script");
    });
    assert.equal((await ask("review")).status, 400);
    await assert.rejects(server.close(), /scripted model failed/);
  });

  test("a script with a condition goes before the plain one of its kind", async () => {
    const server = await startModelServer();
    const say = async (content: string) => {
      const response = await fetch(`${server.url}/v1/messages`, {
        method: "POST",
        body: JSON.stringify({ model: "m", messages: [{ role: "user", content }] }),
      });
      return ((await response.json()) as { content: { text: string }[] }).content[0]?.text;
    };
    server.script("pi", [text("plain")]);
    server.script("pi", [text("special")], (request) => request.lastUserText() === "two");
    assert.deepEqual([await say("two"), await say("one")], ["special", "plain"]);
    await server.close();
  });
});

describe("the harness's own parts", () => {
  test("JSON lines are cut at LF bytes only, wherever the chunks end", () => {
    const line = `${JSON.stringify({ text: "a\u2028b \u{1F600}" })}\r\nnoise\n\n{"x":1}\n`;
    const bytes = Buffer.from(line);
    for (let size = 1; size <= bytes.length; size++) {
      const lines = new JsonLines();
      const found: unknown[] = [];
      for (let at = 0; at < bytes.length; at += size) found.push(...lines.push(bytes.subarray(at, at + size)));
      assert.deepEqual(found, [{ text: "a\u2028b \u{1F600}" }, { x: 1 }]);
      assert.deepEqual(lines.noise, ["noise"]);
    }
  });

  const cases: { name: string; open: string[]; answer: Json; winner: number | undefined }[] = [
    { name: "the word decides", open: ["status t-1", "verify t-1"], answer: { command: "verify" }, winner: 1 },
    {
      name: "the oldest is first",
      open: ["start a", "start b"],
      answer: { command: "start", taskId: "t-9" },
      winner: 0,
    },
    {
      name: "a task id decides",
      open: ["stop t-1", "stop t-2"],
      answer: { command: "stop", taskId: "t-2" },
      winner: 1,
    },
    {
      name: "a request id decides",
      open: ["deny r-1", "deny r-2"],
      answer: { command: "deny", requestId: "r-2" },
      winner: 1,
    },
    {
      name: "a request's task may be named",
      open: ["deny r-1"],
      answer: { command: "deny", taskId: "t-1" },
      winner: 0,
    },
    {
      name: "another task's is not taken",
      open: ["stop t-1"],
      answer: { command: "stop", taskId: "t-2" },
      winner: undefined,
    },
    {
      name: "another word's is not taken",
      open: ["stop t-1"],
      answer: { command: "kill", taskId: "t-1" },
      winner: undefined,
    },
  ];
  for (const { name, open, answer, winner } of cases) {
    test(`an answer finds its command: ${name}`, () => {
      const answers = new PiAnswers();
      for (const taskId of ["t-1", "t-2"]) answers.take(JSON.stringify({ command: "warm-up", taskId }));
      const known = answers.unclaimed.length;
      const got: number[] = [];
      open.forEach((command, index) => {
        const [word = "", ...args] = command.split(" ");
        answers.open({ text: command, word, args, resolve: () => got.push(index), reject: () => undefined });
      });
      answers.take(JSON.stringify(answer));
      assert.deepEqual(got, winner === undefined ? [] : [winner]);
      assert.equal(answers.unclaimed.length - known, winner === undefined ? 1 : 0);
    });
  }

  test("the log reader sees a gap, a foreign record and a broken chain", async (t) => {
    const lab = await createLab(t);
    const write = async (taskId: string, records: object[]) => {
      let prev = "0".repeat(64);
      const lines = records.map((record) => {
        const line = JSON.stringify({ taskId, prev, ...record });
        prev = createHash("sha256").update(line).digest("hex");
        return `${line}\n`;
      });
      await writeTree(taskFolder(lab.stateDir, taskId), { "events.jsonl": `${lines.join("")}{"torn` });
    };
    await write("sound", [{ seq: 1 }, { seq: 2 }]);
    assert.deepEqual(await logProblems(lab.stateDir, "sound"), []);
    assert.equal((await readEvents(lab.stateDir, "sound")).length, 2);
    await write("gap", [{ seq: 1 }, { seq: 3 }]);
    assert.deepEqual(await logProblems(lab.stateDir, "gap"), ["line 2 has seq 3"]);
    await write("foreign", [{ seq: 1, taskId: "other" }]);
    assert.deepEqual(await logProblems(lab.stateDir, "foreign"), ["line 1 is of task other"]);
    await write("broken", [{ seq: 1 }, { seq: 2, prev: "0".repeat(64) }]);
    assert.deepEqual(await logProblems(lab.stateDir, "broken"), ["line 2 does not follow from the line before"]);
    assert.deepEqual(await readEvents(lab.stateDir, "absent"), []);
  });

  test("the census finds what inherited the mark, and a lab's clean-up ends and names what is left", async () => {
    const lab = await createLab();
    const child = spawn("sh", ["-c", "sleep 600 & wait"], { env: lab.env, stdio: "ignore" });
    await until(() => processesWithMark(lab.mark).length === 2, 10_000, "shell and sleep");
    await assert.rejects(assertNoneLeft(lab.mark, 50), /sleep 600/);
    await assert.rejects(lab.cleanup(), /Left running and killed:[\s\S]*sleep 600/);
    await until(() => !isAlive(child.pid ?? 0), 5_000, "the shell's end");
    assert.deepEqual(await killMarked(lab.mark), []);
    assert.throws(() => lab.defer(() => undefined), /clean-up has begun/);
  });

  test("a terminal shows what its program draws and tells its exit code", {
    skip: tmuxSkipReason() ?? false,
  }, async (t) => {
    const lab = await createLab(t);
    const terminal = await startTmux({
      lab,
      file: "sh",
      args: ["-c", 'printf "who? "; read who; echo "hello $who"; read bye; exit 3'],
      env: lab.env,
      cwd: lab.home,
    });
    await terminal.waitFor(/who\?/, 10_000);
    await terminal.type("Enter is a name");
    await terminal.key("Enter");
    await terminal.waitFor(/hello Enter is a name/, 10_000);
    await terminal.key("Enter"); // ends only now: tmux scrolls the screen of a pane that dies
    assert.equal(await terminal.exitCode(10_000), 3);
    await terminal.kill();
    await assertNoneLeft(lab.mark, 5_000);
  });
});

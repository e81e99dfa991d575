/** Stops, exits, pauses, recoveries and their races; orphans (failure list, group E), with the scripted `claude`. */
import assert from "node:assert/strict";
import { chmod, readFile, symlink, unlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { FAKE_CLAUDE } from "../support/fake-claude/index.ts";
import { assertNoneLeft, isAlive } from "../support/processes.ts";
import { until } from "../support/until.ts";
import { OPENING, openStage, type Stage } from "./stage.ts";

const prompts = (stage: Stage): string[] =>
  stage.fake.factsOf("stdin").flatMap(({ line }) => {
    const message = JSON.parse(line) as { type: string; message?: { content: string } };
    return message.type === "user" ? [message.message?.content ?? ""] : [];
  });

const BUSY = [...OPENING, { sleep: 60_000 }];

describe("orphans", () => {
  for (const cgroup of ["auto", "off"]) {
    const env = { PI_CLAUDE_SUPERVISOR_CGROUP: cgroup };
    test(`E1, E2: what a worker leaves behind is ended, with a cgroup setting of ${cgroup}`, async (t) => {
      const stage = await openStage(t, {
        env,
        steps: [
          ...OPENING,
          { child: { what: "server", command: ["sleep", "600"] } },
          { child: { what: "session", command: ["sleep", "601"], detached: true } },
          { sleep: 200 },
          { exit: 5 },
        ],
      });
      const taskId = await stage.start();
      const view = await stage.when(taskId, (now) => now.state === "failed", "the failure");
      assert.equal(view.reason, "worker-exit 5");
      await assertNoneLeft(stage.lab.mark, 3_000);
      const swept = (await stage.events(taskId))
        .filter((event) => event.type === "worker.swept")
        .map((event) => event.data);
      assert.deepEqual(
        swept.map((data) => [(data as { proven: boolean }).proven, (data as { killed: number }).killed]),
        [[true, 2]],
      );
    });

    test(`E3: a worker that ignores TERM is killed after the grace, with a cgroup setting of ${cgroup}`, async (t) => {
      const stage = await openStage(t, { env, scenario: "stubborn" });
      const taskId = await stage.start();
      await stage.when(taskId, (view) => view.waitsFor === "result", "the result");
      const started = performance.now();
      const stopped = await stage.supervisor.stop(taskId, undefined);
      assert.deepEqual([stopped.ok, stopped.ok && stopped.state], [true, "stopped"], JSON.stringify(stopped));
      assert.ok(performance.now() - started < 20_000);
      await assertNoneLeft(stage.lab.mark, 1_000);
    });
  }

  test("a stopped (SIGSTOP) worker is ended all the same", async (t) => {
    const stage = await openStage(t, { steps: BUSY });
    const taskId = await stage.start();
    await stage.when(taskId, (view) => view.state === "running", "a turn");
    const pid = stage.fake.factsOf("start")[0]?.pid ?? 0;
    process.kill(pid, "SIGSTOP");
    const stopped = await stage.supervisor.kill(taskId);
    assert.deepEqual([stopped.ok, stopped.ok && stopped.state], [true, "stopped"], JSON.stringify(stopped));
    assert.equal(isAlive(pid), false);
  });
});

describe("a stop", () => {
  test("asked for many times at once is one stop, and each answer tells its truth", async (t) => {
    const stage = await openStage(t, { steps: BUSY });
    const taskId = await stage.start();
    await stage.when(taskId, (view) => view.state === "running", "a turn");
    const answers = await Promise.all([
      stage.supervisor.stop(taskId, "one"),
      stage.supervisor.stop(taskId, "two"),
      stage.supervisor.kill(taskId),
      stage.supervisor.stop(taskId, "three"),
    ]);
    for (const answer of answers)
      assert.deepEqual([answer.ok, answer.ok && answer.state], [true, "stopped"], JSON.stringify(answer));
    const events = await stage.events(taskId);
    assert.equal(events.filter((event) => event.type === "stop.proven").length, 1);
    assert.ok((await stage.supervisor.replay(taskId)).ok);
    await assertNoneLeft(stage.lab.mark, 2_000);
  });

  for (const delay of [0, 1, 20, 80, 200, 400]) {
    test(`that meets the start ${delay} ms after it leaves nothing running`, async (t) => {
      const stage = await openStage(t, { steps: BUSY });
      const taskId = await stage.start();
      const begun = performance.now();
      await until(async () => performance.now() - begun >= delay || undefined, 5_000, "the moment", 1);
      const stopped = await stage.supervisor.stop(taskId, undefined);
      assert.deepEqual([stopped.ok, stopped.ok && stopped.state], [true, "stopped"], JSON.stringify(stopped));
      await assertNoneLeft(stage.lab.mark, 2_000);
      const events = await stage.events(taskId);
      const stop = events.findIndex((event) => event.type === "stop.requested");
      assert.ok(
        !events.slice(stop).some((event) => event.type === "prompt.intent" || event.type === "worker.spawning"),
        "nothing begins after it",
      );
      const replayed = await stage.supervisor.replay(taskId);
      assert.ok(replayed.ok && replayed.matches, JSON.stringify(replayed));
    });
  }

  test("during a verification ends the command, and its late verdict changes nothing", async (t) => {
    const stage = await openStage(t, { scenario: "obedient" });
    const began = join(stage.lab.tmp, "began");
    const taskId = await stage.start({ mode: "auto", verify: [`echo $$ > ${began}; exec sleep 600`] });
    const command = await until(
      () =>
        readFile(began, "utf8").then(
          (said) => Number(said) || undefined,
          () => undefined,
        ),
      30_000,
      "the command's pid",
    );
    assert.equal((await stage.view(taskId)).state, "verifying");
    const stopped = await stage.supervisor.stop(taskId, undefined);
    assert.deepEqual([stopped.ok, stopped.ok && stopped.state], [true, "stopped"], JSON.stringify(stopped));
    assert.ok(!isAlive(command), "the command is gone when the answer says stopped");
    await until(async () => stage.supervisor.live().length === 0 || undefined, 5_000, "the task to be let go of");
    assert.equal((await stage.view(taskId)).state, "stopped");
    const replayed = await stage.supervisor.replay(taskId);
    assert.ok(replayed.ok && replayed.matches, JSON.stringify(replayed));
  });
});

test("a folder is free for the next task as soon as the one before is said to be over", async (t) => {
  const stage = await openStage(t, { scenario: "obedient" });
  for (let i = 0; i < 3; i += 1) {
    const taskId = await stage.start();
    await stage.when(taskId, (view) => view.waitsFor === "result", "the result");
    if (i === 1) assert.ok((await stage.supervisor.verify(taskId)).ok);
    else assert.ok((await stage.supervisor.stop(taskId, undefined)).ok);
  }
});

describe("pause, resume, recover", () => {
  test("a pause rests the worker; resume goes on in the same session without the goal", async (t) => {
    const stage = await openStage(t, { scenario: "obedient" });
    const taskId = await stage.start();
    await stage.when(taskId, (view) => view.waitsFor === "result", "the result");
    const paused = await stage.supervisor.pause(taskId, undefined);
    assert.deepEqual([paused.ok, paused.ok && paused.state], [true, "paused"], JSON.stringify(paused));
    await assertNoneLeft(stage.lab.mark, 3_000);
    assert.equal((await stage.supervisor.send(taskId, "hm")).ok, false, "nothing is sent meanwhile");
    assert.equal((await stage.supervisor.verify(taskId)).ok, false);
    const resumed = await stage.supervisor.recover(taskId, { fresh: false });
    assert.ok(resumed.ok, JSON.stringify(resumed));
    await stage.when(taskId, (view) => view.turns === 2, "the second turn");
    assert.deepEqual(prompts(stage), ["Do it", "Go on with the task where you left off."]);
    const [first, second] = stage.fake.factsOf("start");
    const id = first?.argv.find((word) => word.startsWith("--session-id="))?.split("=")[1];
    assert.ok(second?.argv.includes(`--resume=${id}`));
    assert.equal((await stage.supervisor.recover(taskId, { fresh: false })).ok, false, "a live task is not recovered");
  });

  test("a paused task in mid-turn is interrupted first, and its late words are only noted", async (t) => {
    const stage = await openStage(t, { steps: BUSY });
    const taskId = await stage.start();
    await stage.when(taskId, (view) => view.state === "running", "a turn");
    const paused = await stage.supervisor.pause(taskId, "lunch");
    assert.ok(paused.ok, JSON.stringify(paused));
    assert.equal((await stage.view(taskId)).state, "paused");
    await assertNoneLeft(stage.lab.mark, 3_000);
    const stopped = await stage.supervisor.stop(taskId, undefined);
    assert.ok(stopped.ok && stopped.state === "stopped");
  });

  test("a failed task is recovered in its session by another process of the supervisor", async (t) => {
    const first = await openStage(t, { steps: [...OPENING, { exit: 9 }] });
    const taskId = await first.start();
    await first.when(taskId, (view) => view.state === "failed", "the failure");
    await until(async () => first.supervisor.live().length === 0 || undefined, 5_000, "the task to be let go of");
    const second = await openStage(t, { lab: first.lab, cwd: first.cwd, scenario: "obedient" });
    const recovered = await second.supervisor.recover(taskId, { fresh: false });
    assert.ok(recovered.ok, JSON.stringify(recovered));
    await second.when(taskId, (view) => view.waitsFor === "result", "the result");
    assert.deepEqual(prompts(second), ["Go on with the task where you left off."]);
    const elsewhere = await first.supervisor.recover(taskId, { fresh: false });
    assert.ok(!elsewhere.ok && elsewhere.reason === "live", JSON.stringify(elsewhere));
    const busy = await first.supervisor.start({ goal: "x", from: first.cwd, mode: "manual", verify: ["true"] });
    assert.ok(!busy.ok && busy.reason === "cwd-busy");
  });

  test("F1: a session that Claude does not know is said so once; only --fresh gives the goal again", async (t) => {
    const first = await openStage(t, { steps: [...OPENING, { exit: 9 }] });
    const taskId = await first.start();
    await first.when(taskId, (view) => view.state === "failed", "the failure");
    await until(async () => first.supervisor.live().length === 0 || undefined, 5_000, "the task to be let go of");
    const second = await openStage(t, {
      lab: first.lab,
      cwd: first.cwd,
      scenario: "exits",
      options: { stderr: "No conversation found with session ID: x\n", code: 1 },
    });
    const recovered = await second.supervisor.recover(taskId, { fresh: false });
    assert.ok(!recovered.ok, JSON.stringify(recovered));
    assert.equal(recovered.reason, "no-session", recovered.message);
    assert.match(recovered.message, /--fresh/);
    await until(async () => second.supervisor.live().length === 0 || undefined, 5_000, "the task to be let go of");
    const third = await openStage(t, { lab: first.lab, cwd: first.cwd, scenario: "obedient" });
    const fresh = await third.supervisor.recover(taskId, { fresh: true });
    assert.ok(fresh.ok, JSON.stringify(fresh));
    await third.when(taskId, (view) => view.waitsFor === "result", "the result");
    assert.deepEqual(prompts(third), ["Do it"]);
    const [start] = third.fake.factsOf("start");
    assert.ok(start?.argv.some((word) => word.startsWith("--session-id=")));
  });

  test("B8: a Claude program that has changed is a person's question before it is resumed", async (t) => {
    const first = await openStage(t, { scenario: "obedient" });
    const one = join(first.lab.tmp, "claude-one");
    const two = join(first.lab.tmp, "claude-two");
    await writeFile(one, `#!/bin/sh\nexec "${FAKE_CLAUDE}" "$@"\n`);
    await writeFile(two, `#!/bin/sh\n# another one\nexec "${FAKE_CLAUDE}" "$@"\n`);
    for (const path of [one, two]) await chmod(path, 0o755);
    const link = join(first.lab.tmp, "claude");
    await symlink(one, link);
    const stage = await openStage(t, {
      lab: first.lab,
      cwd: first.cwd,
      scenario: "obedient",
      env: { PI_CLAUDE_SUPERVISOR_CLAUDE: link },
    });
    const taskId = await stage.start();
    await stage.when(taskId, (view) => view.waitsFor === "result", "the result");
    assert.ok((await stage.supervisor.pause(taskId, undefined)).ok);
    await unlink(link);
    await symlink(two, link);
    const drift = await stage.supervisor.recover(taskId, { fresh: false });
    assert.ok(!drift.ok && drift.reason === "claude-changed", JSON.stringify(drift));
    assert.equal((await stage.view(taskId)).state, "human_required");
    const accepted = await stage.supervisor.recover(taskId, { fresh: false });
    assert.ok(accepted.ok, JSON.stringify(accepted));
  });
});

describe("incidents", () => {
  test("C3: a call that ran without the gate ends automation and the worker", async (t) => {
    const stage = await openStage(t, {
      steps: [
        ...OPENING,
        {
          emit: {
            type: "assistant",
            message: {
              id: "m1",
              role: "assistant",
              content: [{ type: "tool_use", id: "tu1", name: "Bash", input: { command: "rm x" } }],
            },
          },
        },
        {
          emit: {
            type: "user",
            message: {
              role: "user",
              content: [{ type: "tool_result", tool_use_id: "tu1", content: "gone", is_error: false }],
            },
          },
        },
        { sleep: 60_000 },
      ],
    });
    const taskId = await stage.start({ mode: "auto" });
    const view = await stage.when(taskId, (now) => now.state === "human_required", "the incident");
    assert.equal(view.reason, "ungated-call");
    await assertNoneLeft(stage.lab.mark, 5_000);
    const sent = await stage.supervisor.send(taskId, "go on");
    assert.ok(!sent.ok && sent.reason === "fault", JSON.stringify(sent));
    const recovered = await stage.supervisor.recover(taskId, { fresh: false });
    assert.ok(!recovered.ok && recovered.reason === "fault", JSON.stringify(recovered));
    const wrong = await stage.supervisor.recover(taskId, { fresh: false, fault: "else" });
    assert.ok(!wrong.ok && wrong.reason === "no-fault");
  });

  test("C4: a wider permission mode than asked for is one as well", async (t) => {
    const stage = await openStage(t, {
      steps: [{ handshake: {} }, { prompt: true }, { init: { permissionMode: "acceptEdits" } }, { sleep: 60_000 }],
    });
    const taskId = await stage.start({ mode: "auto" });
    const view = await stage.when(taskId, (now) => now.state === "human_required", "the incident");
    assert.equal(view.reason, "permission-mode");
    await assertNoneLeft(stage.lab.mark, 5_000);
  });
});

test("a stop from another Pi is done by the one that drives the task, with proof", async (t) => {
  const first = await openStage(t, { steps: BUSY });
  const taskId = await first.start();
  await first.when(taskId, (view) => view.state === "running", "a turn");
  const second = await openStage(t, { lab: first.lab, cwd: first.cwd, scenario: "obedient" });
  const seen = await second.view(taskId);
  assert.equal(seen.owner?.alive, true);
  const stopped = await second.supervisor.kill(taskId);
  assert.deepEqual([stopped.ok, stopped.ok && stopped.state], [true, "stopped"], JSON.stringify(stopped));
  await assertNoneLeft(first.lab.mark, 1_000);
});

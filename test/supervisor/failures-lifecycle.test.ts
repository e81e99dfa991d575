/** Hosts that die, terminals that close, sessions that change, locks that are left (failure list, group E), with the scripted `claude`. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import superviseClaude from "../../src/index.ts";
import { manualClock } from "../../src/platform/clock.ts";
import { fakePi, fakeSession } from "../extension/support/fake-pi.ts";
import { hubWith } from "../extension/support/fake-supervisor.ts";
import { FAKE_CLAUDE, FAKE_CLAUDE_VARIABLES, type Fake, fakeClaudeSteps } from "../support/fake-claude/index.ts";
import { startModelServer } from "../support/model-server.ts";
import { startPi } from "../support/pi.ts";
import { PI_LINES, preparePi, skipReason } from "../support/pi-setup.ts";
import { assertNoneLeft, isAlive, MARK_NAME, processesWithMark } from "../support/processes.ts";
import { readEvents } from "../support/task.ts";
import { startTmux, tmuxSkipReason } from "../support/tmux.ts";
import { until } from "../support/until.ts";
import { createLab, type Lab } from "../support/workspace.ts";
import { dataOf, promptsOf } from "./failures-support.ts";
import { OPENING, openStage, type Stage, type Step } from "./stage.ts";

const HOST = fileURLToPath(new URL("./failures-host.ts", import.meta.url));
/** Milliseconds in which everything of a task has to be gone after its host's end. */
const GONE_MS = 5_000;

/** A worker with one child in its group and one in a session of its own. */
const FAMILY: readonly Step[] = [
  ...OPENING,
  { child: { what: "group", command: ["sleep", "600"] } },
  { child: { what: "session", command: ["sleep", "601"], detached: true } },
  { sleep: 60_000 },
];

const workerEnv = (fake: Fake) => ({
  ...fake.env,
  PI_CLAUDE_SUPERVISOR_CLAUDE: FAKE_CLAUDE,
  PI_CLAUDE_SUPERVISOR_WORKER_ENV: [...FAKE_CLAUDE_VARIABLES, MARK_NAME].join(","),
});

const family = (fake: Fake, lab: Lab) =>
  until(
    () =>
      fake.factsOf("child").length === 2 &&
      processesWithMark(lab.mark).filter((one) => one.command.startsWith("sleep 60")).length === 2,
    20_000,
    "both children",
  );

describe("a host that is killed", () => {
  for (const cgroup of ["auto", "off"]) {
    test(`E4: its worker's tree ends with it, and the next supervisor takes the task over (cgroup ${cgroup})`, async (t) => {
      const lab = await createLab(t);
      const cwd = await lab.repo({ "a.txt": "x\n" });
      const fake = fakeClaudeSteps(lab.tmp, FAMILY);
      const env = {
        ...lab.env,
        ...workerEnv(fake),
        PI_CLAUDE_SUPERVISOR_STATE_DIR: lab.stateDir,
        PI_CLAUDE_SUPERVISOR_CGROUP: cgroup,
      };
      const host = spawn(process.execPath, ["--import", "tsx", HOST, cwd], {
        env,
        stdio: ["pipe", "pipe", "inherit"],
        cwd: join(HOST, "../../.."),
      });
      const [line] = (await once(host.stdout, "data")) as [Buffer];
      const taskId = line.toString().trim();
      await family(fake, lab);

      const next = await openStage(t, { lab, cwd });
      const before = await next.view(taskId);
      assert.deepEqual([before.owner?.pid, before.owner?.alive, before.recoverable], [host.pid, true, false]);
      const early = await next.supervisor.recover(taskId, { fresh: false });
      assert.ok(
        !early.ok && early.reason === "live" && early.message.includes(String(host.pid)),
        JSON.stringify(early),
      );

      host.kill("SIGKILL");
      await once(host, "exit");
      await assertNoneLeft(lab.mark, GONE_MS);
      const after = await next.view(taskId);
      assert.deepEqual([after.recoverable, after.owner?.alive ?? false], [true, false]);
      const recovered = await next.supervisor.recover(taskId, { fresh: false });
      assert.ok(recovered.ok, JSON.stringify(recovered));
      await next.when(taskId, (view) => view.waitsFor === "result", "the result");
      assert.deepEqual(promptsOf(next), ["Go on with the task where you left off."]);
      const replayed = await next.supervisor.replay(taskId);
      assert.ok(replayed.ok, JSON.stringify(replayed));
    });
  }
});

describe("a stop of a worker that talks", () => {
  test("E8: is handled by the supervisor alone: its words reach no worker, and what comes late changes nothing", async (t) => {
    const stage = await openStage(t, { scenario: "chatters" });
    const taskId = await stage.start({ mode: "auto" });
    await stage.when(taskId, (view) => view.state === "running", "a turn");
    await until(() => promptsOf(stage).length === 1, 10_000, "the prompt to be read");
    const stopped = await stage.supervisor.stop(taskId, "enough of that");
    assert.deepEqual([stopped.ok, stopped.ok && stopped.state], [true, "stopped"], JSON.stringify(stopped));
    await assertNoneLeft(stage.lab.mark, 1_000);
    assert.deepEqual(promptsOf(stage), ["Do it"]);
    assert.ok(!JSON.stringify(stage.fake.facts()).includes("enough of that"));
    await until(() => stage.supervisor.live().length === 0, 5_000, "the task to be let go of");
    const replayed = await stage.supervisor.replay(taskId);
    assert.ok(replayed.ok && replayed.matches && replayed.state === "stopped", JSON.stringify(replayed));
  });
});

for (const line of PI_LINES) {
  const skip = tmuxSkipReason() ?? (await skipReason(line)) ?? false;
  describe(`a terminal that is closed on Pi ${line}`, { skip }, () => {
    for (const cgroup of ["auto", "off"]) {
      test(`E9: ends its Pi's worker with all that it started, and the task can be recovered (cgroup ${cgroup})`, async (t) => {
        const lab = await createLab(t);
        const modelServer = await startModelServer();
        lab.defer(() => modelServer.close());
        const cwd = await lab.repo({ "a.txt": "x\n" });
        const fake = fakeClaudeSteps(lab.tmp, FAMILY);
        const env = { ...workerEnv(fake), PI_CLAUDE_SUPERVISOR_CGROUP: cgroup };
        const launch = await preparePi({ lab, modelServer, line, cwd, env });
        const terminal = await startTmux({ lab, ...launch, cwd });
        await terminal.waitFor(/scripted/, 60_000);
        await terminal.type('/supervise start Do it --verify "true"');
        await terminal.key("Enter");
        await family(fake, lab);
        await terminal.kill();
        await assertNoneLeft(lab.mark, GONE_MS);
        const [taskId = ""] = await readdir(join(lab.stateDir, "tasks"));
        const released = (await readEvents(lab.stateDir, taskId)).filter((event) => event.type === "owner.released");
        // The text interface of 0.73.1 exits in its own SIGHUP listener: there the guardian has to do it.
        assert.deepEqual(
          released.map((event) => event.data["why"]),
          line === "0.73.1" ? [] : ["quit"],
        );
        const pi = await startPi({ lab, modelServer, line, cwd, env });
        const rows = (await pi.run("/supervise sessions --json"))["tasks"] as {
          taskId: string;
          recoverable: boolean;
        }[];
        assert.deepEqual(
          rows.map((row) => [row.taskId, row.recoverable]),
          [[taskId, true]],
        );
        await pi.quit();
      });
    }
  });
}

describe("a session of Pi that is replaced", () => {
  afterEach(() => {
    hubWith(undefined);
  });
  const listeners = () => ["SIGINT", "SIGTERM", "SIGHUP", "exit"].map((name) => process.listenerCount(name));

  test("E10: whatever the reason and however often it is told, the worker goes on; Pi's end ends it once", async (t) => {
    const stage = await openStage(t, { scenario: "obedient" });
    const before = listeners();
    hubWith(stage.supervisor);
    let session = fakeSession("rpc");
    let pi = fakePi(superviseClaude);
    assert.deepEqual(stage.fake.facts(), [], "the factory starts nothing");
    await pi.emit("session_start", { reason: "startup" }, session);
    await pi.command("sessions --json", session);
    const taskId = await stage.start();
    await stage.when(taskId, (view) => view.waitsFor === "result", "the result");
    const worker = stage.fake.factsOf("start")[0]?.pid ?? 0;

    for (const reason of ["new", "resume", "fork", "reload"]) {
      const old = session;
      await pi.emit("session_shutdown", { reason }, old);
      await pi.emit("session_shutdown", { reason }, old);
      old.invalidate();
      session = fakeSession("rpc");
      pi = fakePi(superviseClaude);
      await pi.emit("session_start", { reason }, session);
      await pi.emit("session_start", { reason }, session);
      assert.ok(isAlive(worker), `the worker lives after ${reason}`);
      assert.ok((await stage.supervisor.send(taskId, `after ${reason}`)).ok);
      const turns = (await stage.view(taskId)).turns;
      await stage.when(taskId, (view) => view.turns > turns && view.waitsFor === "result", "the next result");
      assert.equal(old.staleTouches, 0, `the old session is not touched after ${reason}`);
    }
    // A session that ends without an event.
    session.invalidate();
    session = fakeSession("rpc");
    pi = fakePi(superviseClaude);
    await pi.emit("session_start", { reason: "new" }, session);
    await pi.command(`status ${taskId} --json`, session);
    assert.ok(session.notices.some((notice) => notice.text.includes(`"taskId":"${taskId}"`)));

    await Promise.all([
      pi.emit("session_shutdown", { reason: "quit" }, session),
      pi.emit("session_shutdown", { reason: "quit" }, session),
    ]);
    await pi.emit("session_shutdown", { reason: "quit" }, session);
    session.invalidate();
    await assertNoneLeft(stage.lab.mark, GONE_MS);
    assert.deepEqual(listeners(), before, "nothing listens any more");
    const released = (await stage.events(taskId)).filter((event) => event.type === "owner.released");
    assert.equal(released.length, 1);
    assert.equal((await stage.view(taskId)).recoverable, true);
    assert.equal(session.staleTouches, 0);
  });
});

describe("a background agent that is silent", () => {
  const task = { task_id: "b1", task_type: "local_agent", description: "look into the parser" };
  const background = (tasks: object[]): Step => ({
    emit: { type: "system", subtype: "background_tasks_changed", tasks },
  });

  test("E13: is its own state with its own cap: 15 quiet minutes end nothing and verify nothing", async (t) => {
    const clock = manualClock(new Date());
    const stage = await openStage(t, {
      seams: () => ({ clock }),
      steps: [
        ...OPENING,
        background([task]),
        { result: {} },
        { sleep: 1_500 },
        background([]),
        { init: {} },
        { say: "it found the cause" },
        { result: { result_index: 1 } },
      ],
    });
    const taskId = await stage.start({ mode: "auto" });
    const view = await stage.when(
      taskId,
      (now) => now.background.length === 1 && now.deadlines.some((one) => one.name === "background"),
      "the background agent",
    );
    assert.deepEqual(
      view.deadlines.map((one) => one.name),
      ["background", "wall-warning", "wrap-up", "wall"],
      "the silence watch does not run",
    );
    clock.advance(15 * 60_000);
    const later = await stage.view(taskId);
    assert.deepEqual([later.state, later.rounds.used], ["running", 0]);
    const done = await stage.when(
      taskId,
      (now) => {
        clock.advance(500); // the settling after the agent runs on this clock
        return now.state === "completed";
      },
      "the end",
    );
    assert.equal(done.turns, 2);
  });

  test("E13: at its cap an idle worker is verified, not shot", async (t) => {
    const clock = manualClock(new Date());
    const stage = await openStage(t, {
      seams: () => ({ clock }),
      steps: [...OPENING, background([task]), { result: {} }, { eof: true }],
    });
    const taskId = await stage.start({ mode: "auto" });
    await stage.when(taskId, (now) => now.deadlines.some((one) => one.name === "background"), "the background agent");
    clock.advance(31 * 60_000);
    await stage.when(
      taskId,
      (now) => {
        clock.advance(100);
        return now.state === "completed";
      },
      "the end",
    );
    assert.ok(!(await stage.events(taskId)).some((event) => event.type === "stop.requested"));
  });
});

describe("locks of git that were left", () => {
  const findings = async (stage: Stage, taskId: string): Promise<string> =>
    JSON.stringify((await dataOf(stage, taskId, "verify.finished"))["findings"]);

  for (const where of ["clean", "workspace"] as const) {
    test(`E14: a stale index lock holds up no verification in the ${where} tree, is named, and stays`, async (t) => {
      const stage = await openStage(t, {});
      const lock = join(stage.cwd, ".git", "index.lock");
      await writeFile(lock, "");
      const taskId = await stage.start({ verifyIn: where, verify: ["test -f a.txt"] });
      await stage.when(taskId, (view) => view.waitsFor === "result", "the result");
      const started = performance.now();
      const verified = await stage.supervisor.verify(taskId);
      assert.deepEqual([verified.ok, verified.ok && verified.outcome], [true, "pass"], JSON.stringify(verified));
      assert.ok(performance.now() - started < 20_000);
      assert.match(await findings(stage, taskId), /index\.lock.*left alone/);
      assert.ok((await stat(lock)).isFile());
    });

    test(`E14: a locked worktree is verified in the ${where} tree, told with whether its owner lives, and stays locked`, async (t) => {
      const lab = await createLab(t);
      const main = await lab.repo({ "a.txt": "x\n" });
      const cwd = join(lab.root, "side");
      await lab.git(main, "worktree", "add", "-q", "-b", "side", cwd);
      const dead = spawn("true");
      await once(dead, "exit");
      await lab.git(main, "worktree", "lock", "--reason", `claude agent (pid ${dead.pid})`, cwd);
      const stage = await openStage(t, { lab, cwd });
      const taskId = await stage.start({ verifyIn: where, verify: ["test -f a.txt"] });
      await stage.when(taskId, (view) => view.waitsFor === "result", "the result");
      const verified = await stage.supervisor.verify(taskId);
      assert.deepEqual([verified.ok, verified.ok && verified.outcome], [true, "pass"], JSON.stringify(verified));
      assert.match(await findings(stage, taskId), new RegExp(`locked.*there is no process ${dead.pid}`));
      const reason = await readFile(join(main, ".git", "worktrees", "side", "locked"), "utf8");
      assert.match(reason, /claude agent/);
    });
  }
});

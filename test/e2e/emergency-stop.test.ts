/** The emergency stop, end to end: two Pi processes (one on each line), real Claude Code, the built command in a bare shell. */
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { buildControl } from "../../scripts/build-control.ts";
import { bash, text } from "../support/model-reply.ts";
import { type ModelServer, startModelServer } from "../support/model-server.ts";
import { type Json, type Pi, startPi } from "../support/pi.ts";
import { skipReason } from "../support/pi-setup.ts";
import { assertNoneLeft, processesWithMark } from "../support/processes.ts";
import { readEvents, waitForState } from "../support/task.ts";
import { until } from "../support/until.ts";
import { createLab, type Lab } from "../support/workspace.ts";
import type { Asked } from "./scene.ts";

/** What a Claude tool starts: in its shell, behind it, and in a session of its own. */
const HOLD = "sleep 601 & setsid sleep 602 & sleep 603\n";
const GEN = 'import { appendFileSync } from "node:fs";\nappendFileSync(process.argv[2], "made\\n");\n';

interface Answer {
  exitCode: number | null;
  json: Json;
  ms: number;
}

/** The command as a person's shell would run it, with nothing of ours but the state folder. */
class Shell {
  readonly env: Record<string, string>;
  readonly #command: string;

  constructor(lab: Lab, command: string) {
    this.#command = command;
    this.env = {
      PATH: process.env["PATH"] ?? "/usr/bin:/bin",
      HOME: lab.home,
      LANG: "C.UTF-8",
      PI_CLAUDE_SUPERVISOR_STATE_DIR: lab.stateDir,
    };
  }

  /** Beside the test's own event loop, which has Pi's pipes to read. */
  async run(...argv: string[]): Promise<Answer> {
    const began = performance.now();
    const child = spawn(process.execPath, [this.#command, ...argv, "--json"], {
      env: this.env,
      stdio: ["ignore", "pipe", "inherit"],
    });
    let out = "";
    child.stdout.on("data", (chunk: Buffer) => {
      out += chunk;
    });
    const exitCode = await new Promise<number | null>((resolve) => child.once("close", resolve));
    return { exitCode, json: JSON.parse(out) as Json, ms: Math.round(performance.now() - began) };
  }

  /** At a terminal of its own, typing `all` where it asks. */
  async resumeAtTerminal(epoch: number): Promise<number | null> {
    const line = `${process.execPath} ${this.#command} --all resume --epoch ${epoch} --reason checked`;
    const child = spawn("script", ["-qec", line, "/dev/null"], {
      env: { ...this.env, TERM: "dumb" },
      stdio: ["pipe", "pipe", "ignore"],
    });
    let seen = "";
    child.stdout.on("data", (chunk: Buffer) => {
      seen += chunk;
    });
    let ended: number | null | undefined;
    child.once("exit", (code) => {
      ended = code;
    });
    await until(
      () => ended !== undefined || seen.includes("Type all"),
      30_000,
      () => `the question: ${seen}`,
    );
    if (ended === undefined) child.stdin.write("all\n");
    await until(() => ended !== undefined, 30_000, "the end of the command");
    return ended ?? null;
  }
}

/** Holds its tool call where the goal says hold; else it asks for a call that waits for a person. */
function script(modelServer: ModelServer): void {
  modelServer.script("main", (request) => {
    if (request.toolResults().length > 0) return text("I am done.");
    return request.userTexts().some((said) => said.includes("Hold"))
      ? bash("sh hold.sh")
      : bash("node gen.mjs made.txt");
  });
}

interface Place {
  lab: Lab;
  modelServer: ModelServer;
  shell: Shell;
}

async function openPlace(t: TestContext): Promise<Place> {
  const lab = await createLab(t);
  const modelServer = await startModelServer();
  lab.defer(() => modelServer.close());
  script(modelServer);
  const command = join(lab.tmp, "control.mjs");
  await buildControl(command);
  return { lab, modelServer, shell: new Shell(lab, command) };
}

async function hold(lab: Lab, pi: Pi, name: string): Promise<{ taskId: string; cwd: string }> {
  const cwd = await lab.repo({ "hold.sh": HOLD, "gen.mjs": GEN }, name);
  const started = await pi.run(`/supervise start Hold it --cwd ${cwd} --mode manual --verify "true" --json`);
  assert.equal(started["ok"], true, JSON.stringify(started));
  const taskId = String(started["taskId"]);
  await approve(pi, taskId);
  return { taskId, cwd };
}

/** Approves the call that the task waits for, and waits until it really runs. */
async function approve(pi: Pi, taskId: string): Promise<void> {
  const asked = await until(
    async () => (await approvals(pi)).find((one) => one.taskId === taskId),
    60_000,
    `the question of ${taskId}`,
  );
  const approved = await pi.run(`/supervise approve ${asked.requestId} --json`);
  assert.equal(approved["ok"], true, JSON.stringify(approved));
}

async function approvals(pi: Pi): Promise<Asked[]> {
  return (await pi.run("/supervise approvals --json"))["requests"] as Asked[];
}

const sleepers = (lab: Lab): number =>
  processesWithMark(lab.mark).filter(({ command }) => /^sleep 60\d/.test(command)).length;

const refusedBy = async (pi: Pi, command: string): Promise<unknown> => {
  const answer = await pi.run(`/supervise ${command} --json`);
  return answer["ok"] === true ? "ok" : answer["reason"];
};

const skip = (await skipReason("0.73.1")) ?? (await skipReason("1.6.0")) ?? false;

describe("the emergency stop", { skip, timeout: 580_000 }, () => {
  test("of three tasks in two Pi processes: gone with proof, held until a person lifts it, and true about dead and hung ones", async (t) => {
    const { lab, modelServer, shell } = await openPlace(t);
    const home = await lab.repo({ "a.txt": "x\n" });
    const old = await startPi({ lab, modelServer, line: "0.73.1", cwd: home });
    const young = await startPi({ lab, modelServer, line: "1.6.0", cwd: home });
    const pis = [old.pid, young.pid];

    const before = await shell.run("--all", "status");
    assert.deepEqual(
      [before.exitCode, before.json["ok"], before.json["inForce"], before.json["epoch"]],
      [0, true, false, 0],
    );

    const first = await hold(lab, old, "first");
    const second = await hold(lab, old, "second");
    const third = await hold(lab, young, "third");
    const tasks = [first, second, third];
    /* A fourth waits for its person, without a worker. */
    const cwd = await lab.repo({ "gen.mjs": GEN }, "fourth");
    const started = await young.run(
      `/supervise start Make it --cwd ${cwd} --mode manual --patience 1s --verify "test -f made.txt" --json`,
    );
    assert.equal(typeof started["emergencyStopCommand"], "string", JSON.stringify(started));
    const waiting = String(started["taskId"]);
    const deferred = await until(
      async () => (await approvals(young)).find((one) => one.taskId === waiting && one.deferred),
      60_000,
      "the deferral",
    );
    await until(
      () => sleepers(lab) === 9,
      60_000,
      () => `nine sleeping children, not ${sleepers(lab)}`,
    );

    const stop = await shell.run("--all", "stop", "--now", "--reason", "x");
    t.diagnostic(`stop: ${stop.ms} ms for the command, ${String(stop.json["durationMs"])} ms for the stop`);
    assert.equal(stop.exitCode, 0, JSON.stringify(stop.json));
    await assertNoneLeft(lab.mark, 0, pis);
    assert.equal(stop.json["ok"], true);
    const records = stop.json["records"] as { identity: string; state: string; remaining: unknown[] }[];
    assert.deepEqual(
      records.map(({ identity, state, remaining }) => [identity, state, remaining]).sort(),
      [...tasks.map((one) => one.taskId), waiting].sort().map((id) => [id, "stopped", []]),
    );
    const epoch = Number(stop.json["epoch"]);
    assert.ok(epoch > 0);
    const asked = modelServer.of("main").length;
    for (const { taskId } of tasks) {
      assert.equal((await old.run(`/supervise status ${taskId} --json`))["state"], "stopped");
      const reached = (await readEvents(lab.stateDir, taskId)).find((event) => event.type === "estop.requested");
      assert.equal(reached?.data["epoch"], epoch);
    }
    const other = await lab.repo({ "a.txt": "x\n" }, "other");
    for (const pi of [old, young]) {
      assert.deepEqual(
        await Promise.all([
          refusedBy(pi, `start Hold it --cwd ${other} --mode manual --verify "true"`),
          refusedBy(pi, `recover ${first.taskId}`),
          refusedBy(pi, `send ${first.taskId} hello`),
          refusedBy(pi, `approve ${deferred.requestId}`),
          refusedBy(pi, `verify ${first.taskId}`),
          refusedBy(pi, "estop resume"),
        ]),
        ["estop", "estop", "estop", "estop", "estop", "terminal-only"],
      );
      const status = await pi.run("/supervise estop status --json");
      assert.deepEqual([status["ok"], status["inForce"], status["epoch"]], [true, true, epoch]);
      const kept = (await approvals(pi)).map((one) => [one.requestId, one.deferred]);
      assert.deepEqual(kept, [[deferred.requestId, true]], "the deferred approval stays deferred");
    }
    const again = await shell.run("--all", "stop", "--reason", "again");
    assert.equal(again.exitCode, 0, JSON.stringify(again.json));
    assert.equal((await shell.run("--all", "stop", "--reason", "")).exitCode, 2);
    const now = Number((await shell.run("--all", "status")).json["epoch"]);
    assert.ok(now >= epoch);
    assert.equal(
      (await shell.run("--all", "resume", "--epoch", String(now), "--reason", "x")).exitCode,
      2,
      "no terminal",
    );
    assert.notEqual(await shell.resumeAtTerminal(now + 1), 0);
    assert.equal(await shell.resumeAtTerminal(now), 0);
    assert.equal((await shell.run("--all", "status")).json["inForce"], false);
    await assertNoneLeft(lab.mark, 0, pis);
    assert.equal(modelServer.of("main").length, asked, "nothing began by itself");

    /* The deferred call is still a person's to answer, once. */
    assert.equal(await refusedBy(old, `approve ${deferred.requestId}`), "ok");
    let state: Json = {};
    await until(
      async () => {
        state = await old.run(`/supervise status ${waiting} --json`);
        return state["waitsFor"] === "result" || undefined;
      },
      30_000,
      () => `the result; status: ${JSON.stringify(state)}`,
    );
    assert.equal(await readFile(join(cwd, "made.txt"), "utf8"), "made\n", "it ran once");

    /* A Pi that hangs: ended from outside, and the exit code says that nobody answered. */
    assert.equal(await refusedBy(young, `recover ${third.taskId}`), "ok");
    const hung = await hold(lab, young, "hung");
    await until(() => sleepers(lab) === 3, 60_000, "the children of the hung one");
    process.kill(young.pid, "SIGSTOP");
    let silent: Answer;
    try {
      silent = await shell.run("--all", "stop", "--reason", "hung");
      assert.equal(silent.exitCode, 4, JSON.stringify(silent.json));
      assert.equal(sleepers(lab), 0);
    } finally {
      process.kill(young.pid, "SIGCONT");
    }
    const late = await waitForState(young, hung.taskId, ["stopped", "failed", "completed"], 60_000);
    assert.equal(late["state"], "stopped", JSON.stringify(late));
    assert.ok((await readEvents(lab.stateDir, hung.taskId)).some((event) => event.type === "estop.requested"));
    const epochs = Number((await shell.run("--all", "status")).json["epoch"]);
    assert.equal(await shell.resumeAtTerminal(epochs), 0);

    /* A Pi that is dead: its guardian or the command ends what it had; nothing is claimed without proof. */
    const orphan = await hold(lab, young, "orphan");
    await until(() => sleepers(lab) === 3, 60_000, "the children of the orphan");
    await young.kill();
    const dead = await shell.run("--all", "stop", "--reason", "dead");
    assert.equal(dead.exitCode, 0, JSON.stringify(dead.json));
    await assertNoneLeft(lab.mark, 5_000, [old.pid]);
    assert.equal(await refusedBy(old, `recover ${orphan.taskId}`), "estop");
  });
});

test("the drill of the built command needs no Pi and no dependency", async (t) => {
  if (spawnSync("flock", ["--version"]).status !== 0) return t.skip("no flock(1)");
  const { shell } = await openPlace(t);
  const drill = await shell.run("drill");
  assert.equal(drill.exitCode, 0, JSON.stringify(drill.json));
});

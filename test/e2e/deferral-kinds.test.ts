/**
 * What else is under way when a waiting call is put off: a subagent's own call, a person's message, a background command,
 * and a reboot before the answer.
 */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { access, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { bash, held, type Reply, text, toolUse } from "../support/model-reply.ts";
import type { ModelRequest } from "../support/model-request.ts";
import { startPi } from "../support/pi.ts";
import { assertNoneLeft, isAlive, processesWithMark, processInfo } from "../support/processes.ts";
import { logProblems, readEvents, readTask, type TaskEvent, taskFolder } from "../support/task.ts";
import { gate, until } from "../support/until.ts";
import { type Asked, onBothLines, openScene, type Scene, test } from "./scene.ts";

const FILES = {
  "gen.mjs": 'import { appendFileSync } from "node:fs";\nappendFileSync(process.argv[2], "made\\n");\n',
  "stay.mjs":
    'import { writeFileSync } from "node:fs";\nwriteFileSync("pid.tmp", String(process.pid));\nsetInterval(() => {}, 1000);\n',
};
const GEN = bash("node gen.mjs made.txt");
const BOOT_ID = "/proc/sys/kernel/random/boot_id";

test("what is under way beside a waiting call when nobody answers", async (t) => {
  const scene = await openScene(t, "0.73.1", { files: FILES });
  /* The decider lets things run in the background; every other call is a person's. */
  scene.modelServer.script("decider", (request) => {
    const asked = request.lastUserText();
    const inBackground = asked.startsWith("kind: tool\n") && asked.includes("run_in_background");
    const verify = asked.startsWith("kind: turn-end\n");
    const decision = inBackground ? "approve" : verify ? "verify" : "escalate";
    return toolUse("decide", { decision, reason: "Scripted." });
  });
  /* Started one after the other, they go on side by side. */
  const message = await withMessage(scene);
  const command = await withCommand(scene);
  const foreground = await inForeground(scene);
  const background = await inBackground(scene);
  await t.test("a foreground subagent's call is refused, and a person is wanted at the turn's end", foreground);
  await t.test("a background subagent's call is refused, and its end is still heard", background);
  await t.test("a message queued meanwhile comes after the approved call, once", message);
  await t.test("a background command dies with the worker, by name, and the call runs once", command);
  assert.deepEqual(scene.modelServer.unscripted, []);
});

interface Job {
  taskId: string;
  cwd: string;
  events(): Promise<TaskEvent[]>;
  made(): Promise<string>;
  requests(kind: "main" | "subagent"): ModelRequest[];
}

type Check = (t: TestContext) => Promise<void>;

/** One task of the shared Pi, in a folder of its own, with a script of its own. */
async function job(
  { lab, modelServer, start }: Scene,
  name: string,
  flags: string,
  replies: (cwd: string) => { main: Reply[]; subagent?: Reply[] },
): Promise<Job> {
  const cwd = await lab.repo(FILES, name);
  const isIts = (request: ModelRequest) => request.userTexts().some((one) => one.includes(`(${name})`));
  const { main, subagent } = replies(cwd);
  modelServer.script("main", main, isIts);
  if (subagent) modelServer.script("subagent", subagent, isIts);
  const taskId = await start(`Make it (${name}) --cwd ${cwd} --verify "true" ${flags}`);
  return {
    taskId,
    cwd,
    events: () => readEvents(lab.stateDir, taskId),
    made: () => readFile(join(cwd, "made.txt"), "utf8"),
    requests: (kind) => modelServer.of(kind).filter(isIts),
  };
}

function delegate(name: string, inBackground: boolean): Reply {
  return toolUse("Agent", {
    description: "make it",
    prompt: `Make the file (${name})`,
    subagent_type: "general-purpose",
    run_in_background: inBackground,
  });
}

async function inForeground(scene: Scene): Promise<Check> {
  const ending = gate();
  const it = await job(scene, "foreground", "--mode manual --patience 1s", () => ({
    main: [delegate("foreground", false), held(ending.opened, text("Done without it.")), text("All right.")],
    subagent: [GEN, text("It needs a person.")],
  }));
  return async () => {
    await until(() => it.requests("main").length === 2, 30_000, "the main loop to hear of the subagent");
    const status = await scene.run(`status ${it.taskId}`);
    assert.deepEqual([status.state, status.waitsFor], ["running", null], "the turn is not over yet");
    const clocks = (status.deadlines as { name: string }[]).map((one) => one.name);
    assert.ok(clocks.includes("quiet"), `a worker that hangs now is noticed: ${clocks}`);
    ending.open();
    await wantsPerson(scene, it);
    await goesOn(scene, it);
  };
}

async function inBackground(scene: Scene): Promise<Check> {
  const it = await job(scene, "background", "--mode auto --patience 1s", () => ({
    main: [delegate("background", true), text("It is under way."), text("It could not."), text("All right.")],
    subagent: [GEN, text("It needs a person.")],
  }));
  return async () => {
    await wantsPerson(scene, it);
    assert.equal(it.requests("main").length, 3, "the subagent's end began a turn");
    const events = await it.events();
    assert.ok(
      !events.some((event) => event.type === "verify.requested"),
      "a person is asked before anything is verified",
    );
  };
}

async function withMessage(scene: Scene): Promise<Check> {
  /* Long enough that the message is there first, on a loaded machine too. */
  const it = await job(scene, "message", "--mode manual --patience 4s", () => ({
    main: [GEN, text("I made it."), text("Read.")],
  }));
  const asked = await waitingCall(scene, it, false);
  const sent = await scene.run(`send ${it.taskId} Then read it aloud.`);
  assert.deepEqual([sent.ok, sent.queued], [true, true], JSON.stringify(sent));
  return async () => {
    const kept = await waitingCall(scene, it, true);
    assert.equal(kept.requestId, asked.requestId);
    await workerGone(it);
    assert.equal(it.requests("main").length, 1, "the message does not overtake the call");
    assert.equal((await scene.run(`approve ${kept.requestId}`)).ok, true);
    await theMessage(it);
    await scene.waitsFor(it.taskId, "result");
    assert.equal(await it.made(), "made\n", "it ran once");
    await messageOnce(it, "Then read it aloud.");
    assert.deepEqual(sources(await it.events()), ["goal", "person"]);
    await isSound(scene, it);
  };
}

async function withCommand(scene: Scene): Promise<Check> {
  const pid = (cwd: string) =>
    until(
      async () => Number(await readFile(join(cwd, "pid.tmp"), "utf8").catch(() => "")),
      30_000,
      "the command's pid",
    );
  const it = await job(scene, "command", "--mode auto --patience 1s", (cwd) => ({
    main: [
      toolUse("Bash", { command: "node stay.mjs", description: "stays about", run_in_background: true }),
      held(pid(cwd), GEN),
      text("I made it."),
    ],
  }));
  return async () => {
    const kept = await waitingCall(scene, it, true);
    const left = await pid(it.cwd);
    await workerGone(it);
    await until(() => !isAlive(left), 30_000, "the background command's end");
    const notices = (await it.events()).filter((event) => event.type === "notice").map((event) => event.data.text);
    assert.equal(
      notices.filter((one) => /ran in the background: .*stays about/.test(String(one))).length,
      1,
      `${notices}`,
    );
    assert.equal((await scene.run(`approve ${kept.requestId}`)).ok, true);
    await until(async () => (await scene.run(`status ${it.taskId}`)).state === "completed", 30_000, "the completion");
    assert.equal(await it.made(), "made\n", "it ran once");
    assert.equal(Number(await readFile(join(it.cwd, "pid.tmp"), "utf8")), left, "nothing started it again");
    await isSound(scene, it);
  };
}

await onBothLines("deferral over a reboot", (line) => {
  const skip = process.platform === "linux" ? false : "the boot id is only put in on Linux";
  test("asked at 0, the power fails, the machine boots again, approved: the call runs once, in one worker", {
    skip,
  }, async (t) => {
    const scene = await openScene(t, line);
    const { lab, modelServer, pi } = scene;
    const it = await job(scene, "reboot", "--mode manual --patience 0", () => ({
      main: [GEN, text("I made it."), text("Read.")],
    }));
    const kept = await waitingCall(scene, it, true);
    assert.equal((await scene.run(`send ${it.taskId} Then read it aloud.`)).queued, true, "the call goes before it");
    await until(
      async () => {
        const { view } = (await readTask(lab.stateDir, it.taskId)) as { view: { requests: Asked[] } };
        return view.requests[0]?.deferred;
      },
      30_000,
      "the record, which is up to a second late",
    );
    await pi.kill();
    await assertNoneLeft(lab.mark, 30_000);
    /* After the boot a stranger may have the number and even the start ticks of the Pi that was: this very process. */
    const record = await readTask(lab.stateDir, it.taskId);
    const was = record["owner"] as { pid: number; startTicks: string; bootId: string };
    assert.equal(was.pid, pi.pid);
    const owner = { ...was, pid: process.pid, startTicks: processInfo(process.pid)?.startTicks };
    await writeFile(join(taskFolder(lab.stateDir, it.taskId), "task.json"), JSON.stringify({ ...record, owner }));

    const booted = randomUUID();
    const env = await withBootId(lab.root, booted);
    const other = await startPi({ lab, modelServer, line, cwd: scene.cwd, env });
    const run = (words: string) => other.run(`/supervise ${words} --json`);
    const approvals = async () => (await run("approvals")).requests as Asked[];
    const after: Scene = { ...scene, pi: other, run, approvals };
    assert.equal((await waitingCall(after, it, true)).requestId, kept.requestId);
    assert.equal(it.requests("main").length, 1, "nothing was sent in between");
    const status = await run(`status ${it.taskId}`);
    assert.deepEqual([(status.owner as { alive: boolean }).alive, status.recoverable], [false, true]);
    const approved = await run(`approve ${kept.requestId}`);
    assert.equal(approved.ok, true, JSON.stringify(approved));
    const again = await run(`approve ${kept.requestId}`);
    assert.equal(again.ok, false, "a second approval starts nothing");
    await theMessage(it);
    await until(async () => (await run(`status ${it.taskId}`)).waitsFor === "result", 30_000, "the result");
    const workers = processesWithMark(lab.mark).filter((one) => one.command.includes("--input-format"));
    assert.equal(workers.length, 1, workers.map((one) => one.command).join("\n"));
    assert.equal(await it.made(), "made\n", "it ran once");
    await messageOnce(it, "Then read it aloud.");
    const events = await it.events();
    assert.equal(events.filter((event) => event.type === "worker.spawned").length, 2, "one before, one after");
    const boots = events
      .filter((event) => event.type === "owner.claimed")
      .map((event) => (event.data["owner"] as { bootId: string }).bootId === booted);
    assert.deepEqual(boots, [false, true]);
    await isSound(after, it);
  });
});

/** The environment in which a Node reads another boot id than this machine's. */
async function withBootId(folder: string, bootId: string): Promise<Record<string, string>> {
  const file = join(folder, "boot-id.cjs");
  await writeFile(
    file,
    [
      'const fs = require("node:fs");',
      "const read = fs.readFileSync;",
      `fs.readFileSync = (path, ...rest) => (path === ${JSON.stringify(BOOT_ID)} ? ${JSON.stringify(bootId)} : read(path, ...rest));`,
      'require("node:module").syncBuiltinESMExports();',
      "",
    ].join("\n"),
  );
  return { NODE_OPTIONS: `--require=${file}` };
}

async function waitingCall({ approvals }: Scene, { taskId }: Job, deferred: boolean): Promise<Asked> {
  let seen: Asked[] = [];
  return until(
    async () => {
      seen = await approvals();
      return seen.find((one) => one.taskId === taskId && one.deferred === deferred);
    },
    30_000,
    () => `a waiting call of ${taskId}, ${deferred ? "" : "not "}deferred; there are ${JSON.stringify(seen)}`,
  );
}

async function workerGone({ taskId, events }: Job): Promise<void> {
  await until(
    async () => (await events()).some((event) => event.type === "worker.exited"),
    30_000,
    `the worker of ${taskId} to be gone`,
  );
}

/** The subagent's call was refused with the reason, nothing ran or was put off, and the worker stays for a person's word. */
async function wantsPerson(scene: Scene, it: Job): Promise<void> {
  const status = await scene.waitsFor(it.taskId, "person");
  assert.deepEqual([status.state, status.reason], ["human_required", "needs-person"]);
  const [told] = it.requests("subagent").at(-1)?.newToolResults() ?? [];
  assert.match(told?.text ?? "", /needs a person, who is not there; finish without it/);
  await assert.rejects(access(join(it.cwd, "made.txt")));
  assert.ok(!(await scene.approvals()).some((one) => one.taskId === it.taskId));
  const types = (await it.events()).map((event) => event.type);
  assert.ok(!types.includes("request.deferring") && !types.includes("worker.exited"), types.join(" "));
}

/** A person's message is enough for the task to go on, in the same worker. */
async function goesOn(scene: Scene, it: Job): Promise<void> {
  const sent = await scene.run(`send ${it.taskId} Leave it.`);
  assert.equal(sent.ok, true, JSON.stringify(sent));
  await scene.waitsFor(it.taskId, "result");
  assert.equal(it.requests("main").at(-1)?.lastUserText(), "Leave it.");
  await isSound(scene, it);
}

/** The third request: the first was the goal, the second the call's result. */
async function theMessage(it: Job): Promise<void> {
  let seen = "";
  await until(
    async () => {
      seen = (await it.events()).map((event) => event.type).join(" ");
      return it.requests("main").length === 3;
    },
    30_000,
    () => `the message; recorded: ${seen}`,
  );
}

async function messageOnce(it: Job, message: string): Promise<void> {
  const last = it.requests("main").at(-1);
  assert.deepEqual(
    last?.userTexts().filter((one) => one.includes(message)),
    [message],
  );
  assert.equal(last?.toolResults().length, 1, "after the call's own result");
  assert.ok(!it.requests("main")[1]?.everything().includes(message), "not together with it");
}

function sources(events: readonly TaskEvent[]): unknown[] {
  return events.filter((event) => event.type === "prompt.intent").map((event) => event.data["source"]);
}

async function isSound({ lab, run }: Scene, { taskId }: Job): Promise<void> {
  assert.deepEqual(await logProblems(lab.stateDir, taskId), []);
  assert.equal((await run(`replay ${taskId}`)).matches, true);
}

/**
 * What must not happen to a person who trusts it overnight, by the points of that list: real Pi (both lines), real Claude
 * Code, scripted model. A night is a task in automatic mode at which nobody looks.
 */
import assert from "node:assert/strict";
import { chmod, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { sink } from "../notify/sink.ts";
import { bash, hang, held, text } from "../support/model-reply.ts";
import { startPi } from "../support/pi.ts";
import { processesWithMark } from "../support/processes.ts";
import { readEvents, type TaskEvent, waitForState } from "../support/task.ts";
import { gate, until } from "../support/until.ts";
import type { Lab } from "../support/workspace.ts";
import { FAILING, MEND, onBothLines, openScene, test } from "./scene.ts";

const NIGHT = 60_000;

/** What asked for somebody, with the rule that wanted it. */
function asks(events: readonly TaskEvent[]): string[] {
  return events.flatMap((event) =>
    event.type === "gate.verdict" && event.data["requestId"] !== undefined
      ? [`${event.data["rule"]}: ${JSON.stringify(event.data["input"])}`]
      : [],
  );
}

const count = (events: readonly TaskEvent[], type: string): number => events.filter((one) => one.type === type).length;

/** A rebase that stopped over a conflict, the conflict settled but the rebase not gone on with. */
async function inMidRebase(lab: Lab, cwd: string): Promise<void> {
  await lab.git(cwd, "checkout", "-q", "-b", "side");
  await writeFile(join(cwd, "notes.txt"), "side\n");
  await lab.git(cwd, "add", "-A");
  await lab.git(cwd, "commit", "-q", "-m", "side");
  await lab.git(cwd, "checkout", "-q", "main");
  await writeFile(join(cwd, "notes.txt"), "main\n");
  await lab.git(cwd, "add", "-A");
  await lab.git(cwd, "commit", "-q", "-m", "main");
  await lab.git(cwd, "rebase", "side").catch(() => "the conflict that is wanted");
  await writeFile(join(cwd, "notes.txt"), "both\n");
  await lab.git(cwd, "add", "-A");
}

await onBothLines("what must not happen", (line) => {
  test("1: parked at 23:05 over nothing (PNG, symlink, a commit's words, $SHA, an amended commit, a group-writable parent)", async (t) => {
    const { lab, modelServer, start, pi, cwd } = await openScene(t, line, {
      before: (_lab, folder) => chmod(dirname(folder), 0o775),
    });
    modelServer.script("main", [
      bash(MEND),
      bash("printf '\\211PNG\\r\\n\\032\\n\\000\\000\\000\\rIHDR' > logo.png"),
      bash("ln -s sum.mjs add.mjs"),
      bash("node --test"),
      bash("git add -A"),
      bash('git commit -q -m "Kill the push: never eval, sudo or rm -rf / a secret, shutdown and reboot included"'),
      bash("SHA=$(git rev-parse HEAD) && git show --stat $SHA"),
      bash("git diff --stat $(git rev-parse HEAD~1) HEAD"),
      bash("git commit -q --amend --no-edit"),
      bash("git log --oneline -3 && git status --short"),
      text("The sum is right, and it has a picture."),
    ]);
    const taskId = await start('Mend the sum --mode auto --verify "node --test"');
    await waitForState(pi, taskId, ["completed", "human_required", "failed"], NIGHT);
    const events = await readEvents(lab.stateDir, taskId);
    assert.deepEqual(asks(events), [], "nothing of this needs a person");
    assert.equal(count(events, "task.completed"), 1, JSON.stringify(events.at(-1)));
    assert.equal(count(events, "verify.finished"), 1);
    assert.match(await lab.git(cwd, "log", "-1", "--format=%s"), /^Kill the push/);
    assert.match(await lab.git(cwd, "ls-files"), /add\.mjs[\s\S]*logo\.png/);
  });

  test("1: parked at 23:05 over a detached HEAD in the middle of a rebase", async (t) => {
    const { lab, modelServer, start, pi, cwd } = await openScene(t, line, { before: inMidRebase });
    await assert.rejects(lab.git(cwd, "symbolic-ref", "-q", "HEAD"), "HEAD is detached");
    modelServer.script("main", [bash("git status"), bash(MEND), bash("git log --oneline -3"), text("Mended.")]);
    const taskId = await start('Mend the sum --mode auto --verify "node --test"');
    await waitForState(pi, taskId, ["completed", "human_required", "failed"], NIGHT);
    const events = await readEvents(lab.stateDir, taskId);
    assert.deepEqual(asks(events), []);
    assert.equal(count(events, "task.completed"), 1, JSON.stringify(events.at(-1)));
    await lab.git(cwd, "rev-parse", "-q", "--verify", "REBASE_HEAD");
  });

  test("3: silence: every wait is told, with what to do about it", async (t) => {
    const { modelServer, start, pi } = await openScene(t, line, {
      files: { ...FAILING, "gen.mjs": "// makes something\n" },
    });
    modelServer.script("main", [bash("node gen.mjs"), text("I could not do it.")]);
    const taskId = await start('Mend the sum --mode auto --max-rounds 1 --verify "node --test"');
    const told = (pattern: RegExp) =>
      until(() => pi.notifications().find((notice) => pattern.test(notice)), 30_000, `a notice like ${pattern}`);
    const ask = await told(/asks.*node gen\.mjs[\s\S]*\/supervise approve r-/);
    const request = /\/supervise approve (r-\w+)/.exec(ask)?.[1] ?? "";
    await until(
      () => /approval/.test(pi.status("supervise") ?? ""),
      5_000,
      () => `the chip: ${pi.status("supervise")}`,
    );
    assert.equal((await pi.run(`/supervise deny ${request} --json`)).ok, true);
    await told(new RegExp(`did not pass[\\s\\S]*${taskId} waits for you[\\s\\S]*/supervise status ${taskId}`));
    assert.equal((await pi.run(`/supervise status ${taskId} --json`)).reason, "rounds-exhausted");
  });

  test("3: silence: no watchdog shoots a long call, or a worker that is done and idle", async (t) => {
    const { lab, modelServer, start, pi, run } = await openScene(t, line);
    modelServer.script("main", [bash(MEND), bash("sleep 4"), text("Done.")]);
    const taskId = await start('Mend the sum --mode manual --quiet-timeout 2s --verify "node --test"');
    const status = await until(
      async () => {
        const now = await run(`status ${taskId}`);
        return now["state"] === "running" || now["state"] === "starting" ? undefined : now;
      },
      30_000,
      "the result",
    );
    assert.deepEqual([status["state"], status["waitsFor"]], ["human_required", "result"], JSON.stringify(status));
    const idleSince = performance.now();
    await until(() => performance.now() - idleSince > 3_000, 10_000, "more than the silence that a turn may have");
    assert.equal((await run(`status ${taskId}`))["waitsFor"], "result");
    assert.equal((await run(`verify ${taskId}`))["outcome"], "pass");
    await waitForState(pi, taskId, ["completed"], 10_000);
    assert.equal(count(await readEvents(lab.stateDir, taskId), "stop.requested"), 0);
  });

  /* The clock is the machine's, not Pi's: once is enough for a test of 15 s. */
  if (line === "0.73.1")
    test("3, 4: silence, and a deadline that throws the work away: it is told, wrapped up, and verified after the time is up", async (t) => {
      const hook = await sink(t);
      const { lab, modelServer, start, pi, cwd } = await openScene(t, line, {
        env: {
          PI_CLAUDE_SUPERVISOR_HUMAN_WEBHOOK_URL: hook.url,
          PI_CLAUDE_SUPERVISOR_HUMAN_WEBHOOK_FORMAT: "generic",
        },
      });
      const events = () => readEvents(lab.stateDir, taskId);
      const late = gate();
      /* The model thinks until the clock has run out. */
      modelServer.script("main", [held(late.opened, bash(MEND)), text("Wrapped up.")]);
      const taskId = await start('Mend the sum --mode auto --timeout 15s --verify "node --test"');
      await until(
        async () => (await events()).some((one) => one.type === "timer.fired" && one.data["name"] === "wall"),
        60_000,
        "the deadline",
      );
      late.open();
      await waitForState(pi, taskId, ["completed", "human_required", "failed"], NIGHT);
      const log = await events();
      assert.equal(count(log, "task.completed"), 1, JSON.stringify(log.at(-1)));
      assert.equal(count(log, "stop.requested"), 0);
      const wrapUp = log.filter((one) => one.type === "prompt.intent" && one.data["wrapUp"] === true);
      assert.equal(wrapUp.length, 1);
      /* Claude 2.1.268 puts a message of the middle of a turn into a reminder beside the tool's result. */
      const heard = JSON.stringify(modelServer.of("main").at(-1)?.body.messages);
      assert.match(heard, /nearly over/, "Claude took it into the running turn");
      assert.equal(count(log, "turn.result"), 1, "one turn");
      const budget = log.filter((one) => one.type === "budget.warning").map((one) => one.data["budget"]);
      assert.deepEqual(budget, ["wall-clock"]);
      await until(() => hook.received.length > 0, 20_000, "the notice");
      const notice = JSON.parse(hook.received[0]?.body ?? "{}") as { reason: string; taskId: string };
      assert.deepEqual([notice.reason, notice.taskId], ["budget", taskId]);
      assert.equal(
        await lab.git(cwd, "show", ":sum.mjs").then((text) => text.includes("+")),
        false,
        "nothing was committed by us",
      );
    });

  test("5: a hundred rounds: polite messages over an unchanged tree end after three, and each turn was verified", async (t) => {
    const { lab, modelServer, start, pi } = await openScene(t, line);
    modelServer.script("main", () => text("You are right, and I am sorry. Now everything is fine!"));
    const taskId = await start('Mend the sum --mode auto --max-rounds 100 --verify "node --test"');
    const status = await waitForState(pi, taskId, ["human_required", "completed", "failed"], NIGHT);
    assert.deepEqual([status["state"], status["reason"]], ["human_required", "stalled"]);
    const events = await readEvents(lab.stateDir, taskId);
    assert.deepEqual([count(events, "turn.result"), count(events, "verify.finished")], [3, 3]);
  });

  test("6: a stop that loses: one in the middle of the verification is proven, and its late verdict revives nothing", async (t) => {
    const { lab, modelServer, start, run, pi, cwd } = await openScene(t, line, {
      files: { ...FAILING, "slow.sh": "touch ../verifying; sleep 8; exit 0\n" },
    });
    modelServer.script("main", [bash(MEND), text("Done."), text("I go on.")]);
    const taskId = await start('Mend the sum --mode auto --verify-in workspace --verify "sh slow.sh"');
    await until(
      () =>
        readFile(join(dirname(cwd), "verifying"))
          .then(() => true)
          .catch(() => false),
      30_000,
      "the run",
    );
    const stopped = await run(`stop ${taskId} enough`);
    assert.deepEqual([stopped["ok"], stopped["state"]], [true, "stopped"], JSON.stringify(stopped));
    await until(
      () => processesWithMark(lab.mark).every((one) => one.pid === pi.pid),
      5_000,
      () => `only Pi to be left: ${JSON.stringify(processesWithMark(lab.mark))}`,
    );
    const events = await readEvents(lab.stateDir, taskId);
    assert.equal(count(events, "task.completed"), 0);
    const replayed = await run(`replay ${taskId}`);
    assert.deepEqual([replayed["matches"], replayed["state"]], [true, "stopped"]);
    assert.equal(modelServer.of("main").length, 2, "the worker was not told anything after it");
  });

  test("6: a stop that loses: one while the model answers is proven, and the answer that comes late does nothing", async (t) => {
    const { modelServer, start, run, cwd } = await openScene(t, line);
    const late = gate();
    modelServer.script("main", [bash("ls"), held(late.opened, bash("touch too-late"))]);
    const taskId = await start('Mend the sum --mode auto --verify "node --test"');
    await modelServer.waitForRequest((one) => one.kind === "main" && one.toolResults().length === 1, 30_000);
    const stopped = await run(`stop ${taskId}`);
    late.open();
    assert.deepEqual([stopped["ok"], stopped["state"]], [true, "stopped"], JSON.stringify(stopped));
    const replayed = await run(`replay ${taskId}`);
    assert.deepEqual([replayed["matches"], replayed["state"]], [true, "stopped"]);
    await assert.rejects(readFile(join(cwd, "too-late")));
    const sent = await run(`send ${taskId} go on`);
    assert.equal(sent["ok"], false, "only recover goes on with it");
  });

  test("7: recovered into a second worker, or a session that knows nothing: one worker, its own session, the goal once", async (t) => {
    const { lab, modelServer, start, run, pi, cwd } = await openScene(t, line);
    modelServer.script("main", [bash("ls"), hang()]);
    const taskId = await start('Mend the sum --mode auto --verify "node --test"');
    await modelServer.waitForRequest((one) => one.kind === "main" && one.toolResults().length === 1, 30_000);
    const before = (await run(`status ${taskId}`))["claudeSessionId"];
    const second = await startPi({ lab, modelServer, line, cwd });
    const early = await second.run(`/supervise recover ${taskId} --json`);
    assert.deepEqual([early.ok, early.reason], [false, "live"]);
    const beside = await second.run('/supervise start Another --mode auto --verify "true" --json');
    assert.deepEqual([beside.ok, beside.reason], [false, "cwd-busy"]);
    await pi.kill();
    await until(
      () => processesWithMark(lab.mark).every((one) => one.pid === second.pid),
      5_000,
      "the old worker's end",
    );
    modelServer.script("main", [bash(MEND), text("Done.")]);
    assert.equal((await second.run(`/supervise recover ${taskId} --json`)).ok, true);
    const done = await waitForState(second, taskId, ["completed", "human_required", "failed"], NIGHT);
    assert.deepEqual([done["state"], done["claudeSessionId"]], ["completed", before]);
    const sessions = new Set(modelServer.of("main").map((one) => one.sessionId));
    assert.deepEqual([...sessions], [before], "one session, from the first request to the last");
    const last = modelServer.of("main").at(-1);
    assert.equal(last?.userTexts().filter((said) => said.includes("Mend the sum")).length, 1);
    assert.ok((last?.toolResults().length ?? 0) >= 2, "it knows what it did before");
    await second.quit();
  });

  test("8: a morning without an answer: what was done, refused, spent, what waits, and how to go on", async (t) => {
    const { modelServer, start, run, pi } = await openScene(t, line);
    modelServer.script("main", [
      bash("git push --force origin main"),
      bash("echo tried >> notes.txt"),
      text("I think that it is right now."),
    ]);
    const taskId = await start('Mend the sum --mode auto --max-rounds 1 --verify "node --test"');
    await waitForState(pi, taskId, ["human_required", "completed", "failed"], NIGHT);
    const status = await run(`status ${taskId}`);
    assert.equal(status["reason"], "rounds-exhausted");
    assert.equal((status["verdicts"] as { deny: number }).deny, 1);
    assert.equal(typeof status["costUsd"], "number");
    assert.equal(status["stopCommand"], `/supervise stop ${taskId}`);
    const page = (await pi.runForPeople(`/supervise report ${taskId}`)).join("\n");
    const questions: [string, RegExp][] = [
      ["what was to be done", /Mend the sum/],
      ["what was done", /echo tried >> notes\.txt/],
      ["what was refused", /git push --force origin main/],
      ["how it was judged", /node --test/],
      ["what it cost", /\$\d/],
      ["what waits", /round 1 of 1|waits/],
      ["how to go on", new RegExp(`/supervise (?:send|verify|stop) ${taskId}`)],
    ];
    for (const [question, answer] of questions) assert.match(page, answer, question);
  });
});

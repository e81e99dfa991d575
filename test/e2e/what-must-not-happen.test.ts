/**
 * What must not happen to a person who trusts it overnight, by the points of that list: real Pi (both lines), real Claude
 * Code, scripted model. A night is a task in automatic mode at which nobody looks.
 */
import assert from "node:assert/strict";
import { chmod, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { sink } from "../notify/sink.ts";
import { mindOf, scriptedDecider } from "../supervisor/scripted-decider.ts";
import { workerEnvNames } from "../support/claude.ts";
import { apiError, bash, hang, held, text, toolUse } from "../support/model-reply.ts";
import { type Json, startPi } from "../support/pi.ts";
import { processesWithMark } from "../support/processes.ts";
import { skippingClock } from "../support/skipping-clock.ts";
import { readEvents, type TaskEvent, waitForState } from "../support/task.ts";
import { gate, until } from "../support/until.ts";
import type { Lab } from "../support/workspace.ts";
import { openHouse } from "./cheat-house.ts";
import { FAILING, MEND, onBothLines, openScene, test } from "./scene.ts";

const NIGHT = 60_000;
/** The five answers of a report, as its first sentence gives them. */
const ONE_SENTENCE =
  /^Not done yet: Claude worked for 1 turn; 1 verification ran, 1 of at most 2 failed; of 4 tool calls 2 were refused; \$\d\S* by Claude's estimate.*; 1 request waits for your answer\.$/m;

/** What asked for somebody, with the rule that wanted it. */
function asks(events: readonly TaskEvent[]): string[] {
  return events.flatMap((event) =>
    event.type === "gate.verdict" && event.data["requestId"] !== undefined
      ? [`${event.data["rule"]}: ${JSON.stringify(event.data["input"])}`]
      : [],
  );
}

/** Questions to which a text has no answer. */
function unanswered(text: string, questions: readonly [question: string, answer: RegExp][]): string[] {
  return questions.flatMap(([question, answer]) => (answer.test(text) ? [] : [question]));
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

/* The supervisor's own clock has to be skipped through the waits, so that it runs in this process; Claude is the real one. */
test("2: a rate limit or 529 treated as failure, or retried in a storm: both are waited out, for no round and no decision", async (t) => {
  const clock = skippingClock();
  const decider = scriptedDecider(mindOf({}));
  /* Claude 2.1.268 tries again by itself, up to ten times in some minutes; here its first refusal ends the turn. */
  const env = {
    CLAUDE_CODE_MAX_RETRIES: "0",
    PI_CLAUDE_SUPERVISOR_WORKER_ENV: `${workerEnvNames()},CLAUDE_CODE_MAX_RETRIES`,
  };
  const { modelServer, lab, supervisor } = await openHouse(t, clock, { decisions: decider.factory }, env);
  modelServer.script("main", [bash(MEND), apiError(529), apiError(529), apiError(429), text("Mended.")]);
  const started = await supervisor.start({
    goal: "Mend the sum",
    from: await lab.repo(FAILING),
    mode: "auto",
    verify: ["node --test"],
    maxRounds: 1,
  });
  assert.ok(started.ok, JSON.stringify(started));
  const { taskId } = started;
  const now = async () => {
    const answer = await supervisor.status(taskId);
    assert.ok(answer.ok);
    return answer.task;
  };
  const waits: number[] = [];
  for (const asked of [2, 3, 4]) {
    const view = await until(
      async () => {
        const seen = await now();
        assert.ok(["running", "starting", "created"].includes(seen.state), `${seen.state}: ${seen.why}`);
        return modelServer.of("main").length === asked && seen.deadlines.some(({ name }) => name === "retry") && seen;
      },
      NIGHT,
      () => `the wait after request ${asked}; there were ${modelServer.of("main").length}`,
    );
    assert.deepEqual([view.rounds.used, view.decisions?.used], [0, 0]);
    const left = view.deadlines.find(({ name }) => name === "retry")?.leftMs ?? 0;
    waits.push(left);
    assert.equal(modelServer.of("main").length, asked, "nobody asks meanwhile");
    clock.skip(left + 1);
  }
  const done = await until(
    async () => {
      const seen = await now();
      return ["completed", "failed", "human_required"].includes(seen.state) ? seen : undefined;
    },
    NIGHT,
    "the end",
  );
  assert.equal(done.state, "completed", `${done.reason}: ${done.why}`);
  const [first = 0, second = 0, third = 0] = waits;
  assert.ok(first > 25_000 && second > 1.5 * first && third > second, `growing pauses: ${waits.join(", ")} ms`);
  assert.deepEqual(decider.kinds(), ["turn-end"], "the waits were no questions");
  assert.equal(done.rounds.failed, 0);
  const requests = modelServer.of("main");
  assert.equal(new Set(requests.map((one) => one.sessionId)).size, 1, "one session");
  assert.equal(
    requests
      .at(-1)
      ?.userTexts()
      .filter((said) => said.includes("Mend the sum")).length,
    1,
  );
});

test("3, 4: silence, and a deadline that throws the work away: it is told, wrapped up, and verified after the time is up", async (t) => {
  const clock = skippingClock();
  const hook = await sink(t);
  const HOUR = 3_600_000;
  const env = { PI_CLAUDE_SUPERVISOR_HUMAN_WEBHOOK_URL: hook.url };
  const { modelServer, lab, supervisor, events: eventsNow } = await openHouse(t, clock, {}, env);
  const cwd = await lab.repo(FAILING);
  const late = gate();
  /* The model thinks until the clock has run out. */
  modelServer.script("main", [held(late.opened, bash(MEND)), text("Wrapped up.")]);
  const started = await supervisor.start({
    goal: "Mend the sum",
    from: cwd,
    mode: "auto",
    verify: ["node --test"],
    timeoutMs: 8 * HOUR,
    quietTimeoutMs: 20 * HOUR,
  });
  assert.ok(started.ok, JSON.stringify(started));
  const { taskId } = started;
  const recorded = (what: string, test: (event: { type: string; data: Json }) => boolean) =>
    until(
      async () => (await eventsNow(taskId)).some((one) => test({ type: one.type, data: one.data as unknown as Json })),
      NIGHT,
      what,
    );
  await modelServer.waitForRequest((one) => one.kind === "main", NIGHT);
  clock.skip(6.5 * HOUR);
  await recorded("the warning", ({ type, data }) => type === "budget.warning" && data["budget"] === "wall-clock");
  await until(
    () => {
      clock.skip(1_000);
      return hook.received.length > 0;
    },
    NIGHT,
    "the notice",
  );
  const notice = JSON.parse(hook.received[0]?.body ?? "{}") as { reason: string; taskId: string };
  assert.deepEqual([notice.reason, notice.taskId], ["budget", taskId]);
  clock.skip(0.8 * HOUR);
  await recorded("the word to wrap up", ({ type, data }) => type === "prompt.intent" && data["wrapUp"] === true);
  await recorded("it to be written", ({ type }) => type === "prompt.ack");
  clock.skip(0.9 * HOUR);
  await recorded("the deadline", ({ type, data }) => type === "timer.fired" && data["name"] === "wall");
  late.open();
  const over = ["completed", "human_required", "failed", "stopped"];
  await until(
    async () => {
      const answer = await supervisor.status(taskId);
      return answer.ok && over.includes(answer.task.state);
    },
    NIGHT,
    "the end",
  );
  const log = (await eventsNow(taskId)).map((one) => ({ type: one.type, data: one.data as unknown as Json }));
  const count = (type: string): number => log.filter((one) => one.type === type).length;
  assert.equal(count("task.completed"), 1, JSON.stringify(log.at(-1)));
  assert.equal(count("stop.requested"), 0);
  assert.equal(log.filter((one) => one.type === "prompt.intent" && one.data["wrapUp"] === true).length, 1);
  /* Claude 2.1.268 puts a message of the middle of a turn into a reminder beside the tool's result. */
  const heard = JSON.stringify(modelServer.of("main").at(-1)?.body.messages);
  assert.match(heard, /nearly over/, "Claude took it into the running turn");
  assert.equal(count("turn.result"), 1, "one turn");
  const budget = log.filter((one) => one.type === "budget.warning").map((one) => one.data["budget"]);
  assert.deepEqual(budget, ["wall-clock"]);
  assert.equal(
    await lab.git(cwd, "show", ":sum.mjs").then((said) => said.includes("+")),
    false,
    "nothing was committed by us",
  );
});

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
      until(() => pi.notifications().find((notice) => pattern.test(notice)), NIGHT, `a notice like ${pattern}`);
    const ask = await told(/asks.*node gen\.mjs[\s\S]*\/supervise approve r-/);
    const request = /\/supervise approve (r-\w+)/.exec(ask)?.[1] ?? "";
    await until(
      () => /approval/.test(pi.status("supervise") ?? ""),
      30_000,
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
      NIGHT,
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

  test("5: a hundred rounds: polite messages over an unchanged tree end after three, and each turn was verified", async (t) => {
    const { lab, modelServer, start, pi } = await openScene(t, line);
    let polite = 0;
    modelServer.script("main", () => text(`You are right, and I am sorry ${++polite} times. Now everything is fine!`));
    const taskId = await start('Mend the sum --mode auto --max-rounds 100 --verify "node --test"');
    const status = await waitForState(pi, taskId, ["human_required", "completed", "failed"], NIGHT);
    assert.deepEqual([status["state"], status["reason"]], ["human_required", "stalled"]);
    const events = await readEvents(lab.stateDir, taskId);
    assert.deepEqual([count(events, "turn.result"), count(events, "verify.finished")], [3, 3]);
  });

  test("6: a stop that loses: one in the middle of the verification is proven, and its late verdict revives nothing", async (t) => {
    const { lab, modelServer, start, run, pi, cwd } = await openScene(t, line, {
      files: { ...FAILING, "slow.sh": "touch ../verifying; sleep 600; exit 0\n" },
    });
    modelServer.script("main", [bash(MEND), text("Done."), text("I go on.")]);
    const taskId = await start('Mend the sum --mode auto --verify-in workspace --verify "sh slow.sh"');
    await until(
      () =>
        readFile(join(dirname(cwd), "verifying"))
          .then(() => true)
          .catch(() => false),
      NIGHT,
      "the run",
    );
    const stopped = await run(`stop ${taskId} enough`);
    assert.deepEqual([stopped["ok"], stopped["state"]], [true, "stopped"], JSON.stringify(stopped));
    await until(
      () => processesWithMark(lab.mark).every((one) => one.pid === pi.pid),
      30_000,
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
    await modelServer.waitForRequest((one) => one.kind === "main" && one.toolResults().length === 1, NIGHT);
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
    await modelServer.waitForRequest((one) => one.kind === "main" && one.toolResults().length === 1, NIGHT);
    const before = (await run(`status ${taskId}`))["claudeSessionId"];
    const second = await startPi({ lab, modelServer, line, cwd });
    const early = await second.run(`/supervise recover ${taskId} --json`);
    assert.deepEqual([early.ok, early.reason], [false, "live"]);
    const beside = await second.run('/supervise start Another --mode auto --verify "true" --json');
    assert.deepEqual([beside.ok, beside.reason], [false, "cwd-busy"]);
    await pi.kill();
    await until(
      () => processesWithMark(lab.mark).every((one) => one.pid === second.pid),
      30_000,
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
    const { lab, modelServer, start, run, pi, waitsFor } = await openScene(t, line, {
      files: { ...FAILING, "gen.mjs": "// makes something\n" },
    });
    modelServer.script("main", [
      bash("git push --force origin main"),
      bash("node gen.mjs everything"),
      bash("echo tried >> notes.txt"),
      text("I think that it is right now."),
      bash("git push origin main"),
      text("Then not."),
    ]);
    modelServer.script("decider", (request) => {
      const said = request.lastUserText();
      return said.startsWith("kind: tool")
        ? toolUse("decide", { decision: "deny", reason: "Nothing of this needs everything." })
        : toolUse("decide", { decision: "verify", reason: "It says so." });
    });
    const taskId = await start('Mend the sum --mode auto --max-rounds 2 --verify "node --test"');
    const night = await waitsFor(taskId, "approval");
    const [request] = night["requests"] as { requestId: string }[];
    const id = request?.requestId ?? "";

    /* Seven o'clock: one look at the list of tasks, then at the report. */
    const sessions = (await pi.runForPeople("/supervise sessions")).join("\n");
    assert.match(sessions, new RegExp(`${taskId}[\\s\\S]*(?:waits|human required)`));
    const page = (await pi.runForPeople(`/supervise report ${taskId}`)).join("\n");
    const [top = ""] = page.split("\nFacts\n");
    const questions: [string, RegExp][] = [
      ["where it stands", new RegExp(`^${taskId}: Waits for your answer \\(waits for a person\\)`)],
      ["what was to be done", /^Goal: Mend the sum$/m],
      ["what was done, refused, spent and waits, in one sentence", ONE_SENTENCE],
      ["how to go on", new RegExp(`^  Let the call run: /supervise approve ${id}$`, "m")],
      ["or not", new RegExp(`^  Refuse it: /supervise deny ${id} \\[reason\\]$`, "m")],
      [
        "what exactly waits",
        new RegExp(`${id}  Bash, asked [\\s\\S]{0,80}git\\.push[\\s\\S]{0,80}git push origin main`),
      ],
      ["what the gate refused, by which rule", /git push --force origin main\n +git\.push-force by the gate: \S+/],
      [
        "what the decider refused, in its words",
        /node gen\.mjs everything\n +\S+ by the Decision Worker: Nothing of this needs everything\./,
      ],
      ["how it was judged", /round 1: fail[\s\S]{0,300}node --test: fail, exit 1/],
      ["what changed", /\+1 -0 notes\.txt \(added/],
      ["what is left of its limits", /Failing rounds: 1 of 2/],
      ["what the decisions were", /Decisions: \d+ of 200/],
    ];
    assert.deepEqual(unanswered(top, questions), [], top);
    assert.match(page, /echo tried >> notes\.txt/, "the story");
    const last = page.trimEnd().split("\n").at(-1) ?? "";
    assert.match(last, new RegExp(`^Waits for your answer\\. 1 request waits for your answer\\. .*approve ${id}$`));

    /* And when nothing waits but the next word of a person. */
    assert.equal((await run(`deny ${id} not tonight`))["ok"], true);
    const status = await waitsFor(taskId, "person");
    assert.equal(status["reason"], "rounds-exhausted");
    assert.equal((status["verdicts"] as { deny: number }).deny, 1);
    assert.equal(typeof status["costUsd"], "number");
    assert.equal(status["stopCommand"], `/supervise stop ${taskId}`);
    const shown = (await pi.runForPeople(`/supervise status ${taskId}`)).join("\n");
    const facts: [string, RegExp][] = [
      ["why it stands", /The verification failed in round 2 of 2\./],
      ["how to go on", new RegExp(`/supervise (?:send|verify) ${taskId}`)],
      ["what it cost", /So far: 2 turns, round 2 \(2 of 2 failing\), (?:under )?\$\d/],
      ["what was asked and refused", /calls: \d+ allowed, 2 asked about \(\d+(?:\.\d+)? of 100\), 1 denied/],
      ["how it ends", new RegExp(`Stop: /supervise stop ${taskId}`)],
    ];
    assert.deepEqual(unanswered(shown, facts), [], shown);
    const later = (await pi.runForPeople(`/supervise report ${taskId}`)).join("\n");
    assert.match(later, /git push origin main\n +\S+ by \S.*: not tonight/, "what the person refused is told too");
    assert.equal((await readEvents(lab.stateDir, taskId)).filter((one) => one.type === "verify.finished").length, 2);
  });
});

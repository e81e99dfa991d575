/** Silence, logins, torn configuration and results that look alike (failure list, groups A, B and D), with the scripted `claude`. */
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { manualClock } from "../../src/platform/clock.ts";
import { assertNoneLeft } from "../support/processes.ts";
import { until } from "../support/until.ts";
import { writeTree } from "../support/workspace.ts";
import { bashHook, dataOf, promptsOf, requestsTo, toolResult } from "./failures-support.ts";
import { OPENING, openStage } from "./stage.ts";

describe("silence", () => {
  for (const cgroup of ["auto", "off"]) {
    test(`A1: silence after a tool's result ends in interrupt, end of input, TERM: failed, never completed (cgroup ${cgroup})`, async (t) => {
      const stage = await openStage(t, {
        env: { PI_CLAUDE_SUPERVISOR_CGROUP: cgroup },
        steps: [...OPENING, bashHook("ls"), toolResult("toolu_1", "a.txt"), { eof: true }, { sleep: 60_000 }],
      });
      const taskId = await stage.start({ mode: "auto", quietTimeoutMs: 1_000 });
      const view = await stage.when(taskId, (now) => now.state === "failed", "the watchdog");
      assert.equal(view.reason, "stalled-no-result");
      assert.match(view.why ?? "", /no output/);
      assert.deepEqual(requestsTo(stage), ["initialize", "interrupt"]);
      const order = stage.fake.facts().map((fact) => fact.fact);
      assert.ok(
        order.indexOf("stdin-end") > 0 && order.indexOf("signal") > order.indexOf("stdin-end"),
        order.join(" "),
      );
      assert.deepEqual(stage.fake.factsOf("signal")[0]?.signal, "SIGTERM");
      await assertNoneLeft(stage.lab.mark, 3_000);
      const types = (await stage.events(taskId)).map((event) => event.type);
      assert.ok(!types.includes("task.completed") && !types.includes("verify.started"), types.join(" "));
    });
  }
});

describe("a login that is refused", () => {
  const says = (error: string) => ({
    message: {
      type: "assistant",
      error,
      message: { id: "m1", role: "assistant", content: [{ type: "text", text: "Please run /login" }] },
    },
  });
  const failed = (more: object) => ({ result: { is_error: true, result: "Please run /login", ...more } });
  const retry = (status: number) => ({
    emit: {
      type: "system",
      subtype: "api_retry",
      attempt: 1,
      max_retries: 10,
      retry_delay_ms: 1,
      error_status: status,
    },
  });
  const kinds: { what: string; steps: readonly object[]; reason: string }[] = [
    { what: "by the result's status 401", steps: [failed({ api_error_status: 401 })], reason: "auth" },
    { what: "by the result's status 403", steps: [failed({ api_error_status: 403 })], reason: "auth" },
    { what: "by the kind of its error alone", steps: [says("authentication_failed"), failed({})], reason: "auth" },
    { what: "by its organisation", steps: [says("oauth_org_not_allowed"), failed({})], reason: "auth" },
    { what: "for money", steps: [says("billing_error"), failed({})], reason: "billing" },
    { what: "with an exit behind it", steps: [says("authentication_failed"), failed({}), { exit: 1 }], reason: "auth" },
    { what: "and only retried, without a result", steps: [retry(401), { sleep: 60_000 }], reason: "auth" },
  ];
  for (const mode of ["auto", "manual"] as const) {
    for (const { what, steps, reason } of kinds) {
      test(`B6: ${what}: a person's (${mode}), no round spent, nothing retried`, async (t) => {
        const stage = await openStage(t, { steps: [...OPENING, ...(steps as [])] });
        const taskId = await stage.start({ mode });
        const view = await stage.when(taskId, (now) => now.state === "human_required", "a person");
        assert.deepEqual([view.reason, view.waitsFor, view.rounds.used], [reason, "person", 0]);
        if (steps.some((step) => "exit" in step)) {
          await until(() => stage.fake.factsOf("exit").length === 1, 5_000, "the exit");
          await until(
            async () => (await stage.events(taskId)).some((one) => one.type === "worker.swept"),
            5_000,
            "the sweep",
          );
          assert.equal((await stage.view(taskId)).state, "human_required", "an exit makes no failure of it");
        }
        assert.equal(stage.fake.factsOf("start").length, 1, "no second process");
        assert.deepEqual(promptsOf(stage), ["Do it"], "no second message");
      });
    }
  }

  test("B6: each task of one machine waits by itself, spends nothing meanwhile, and goes on when it is told to", async (t) => {
    const clock = manualClock(new Date());
    const steps = [...OPENING, ...[failed({ api_error_status: 401 })]];
    const first = await openStage(t, { seams: () => ({ clock }), steps });
    const other = await first.lab.repo({ "b.txt": "y\n" });
    const ids = [await first.start({ mode: "auto" }), await first.start({ mode: "auto", from: other })];
    const told: string[] = [];
    first.supervisor.subscribe(({ before, after }) => {
      if (before.hold === null && after.hold !== null) told.push(after.taskId);
    });
    for (const id of ids) {
      const view = await first.when(id, (now) => now.state === "human_required", "a person");
      assert.equal(view.reason, "auth");
    }
    clock.advance(6 * 3_600_000);
    for (const id of ids) assert.equal((await first.view(id)).reason, "auth", "hours later it still waits");
    assert.equal(first.fake.factsOf("start").length, 2);
    assert.deepEqual(promptsOf(first), ["Do it", "Do it"], "no storm of retries");
    assert.ok(told.length <= ids.length, "each is told of once");
    for (const id of ids) {
      assert.ok((await first.supervisor.send(id, "Logged in; go on.")).ok);
      await first.when(id, (now) => now.state === "completed", "the end");
    }
  });

  test("B6: a refused login that only was retried and then works goes on without a person", async (t) => {
    const stage = await openStage(t, {
      steps: [...OPENING, retry(401), { sleep: 500 }, { say: "ok" }, { result: {} }],
    });
    const taskId = await stage.start({ mode: "auto" });
    await stage.when(taskId, (now) => now.state === "completed", "the end");
    assert.equal((await dataOf(stage, taskId, "worker.retry"))["status"], 401);
  });
});

describe("a torn configuration of Claude", () => {
  test("B7: its own words reach the person, its files are left as they are, and the task can be recovered", async (t) => {
    const broken = "/home/someone/.claude.json";
    const stage = await openStage(t, {
      scenario: "exits",
      options: {
        code: 1,
        result: {
          subtype: "error_during_execution",
          is_error: true,
          startup_failure_reason: "config_file_invalid",
          errors: [`Claude configuration file at ${broken} is corrupted: config_file_invalid`],
          result: undefined,
        },
      },
    });
    await writeTree(stage.lab.home, { ".claude.json": "{torn", ".claude.json.backup": '{"fine":true}' });
    const taskId = await stage.start({ mode: "auto" });
    const view = await stage.when(taskId, (now) => now.state === "failed", "the failure");
    assert.match(view.why ?? "", /config_file_invalid/);
    assert.match(view.why ?? "", /\.claude\.json/);
    assert.equal(await readFile(join(stage.lab.home, ".claude.json"), "utf8"), "{torn", "no backup is put back");
    assert.equal(stage.fake.factsOf("start").length, 1, "nothing is retried by itself");
    const mended = await openStage(t, { lab: stage.lab, cwd: stage.cwd });
    await until(() => stage.supervisor.live().length === 0, 5_000, "the task to be let go of");
    await writeFile(join(stage.lab.home, ".claude.json"), "{}");
    const recovered = await mended.supervisor.recover(taskId, { fresh: false });
    assert.ok(recovered.ok, JSON.stringify(recovered));
    await mended.when(taskId, (now) => now.state === "completed", "the end");
    assert.deepEqual(promptsOf(mended), ["Do it"], "the goal was never given before");
  });
});

describe("results that look alike", () => {
  const limits = [
    { subtype: "error_max_turns", errors: ["Reached maximum number of turns (7)"], reason: "turns-exhausted" },
    { subtype: "error_max_budget_usd", errors: ["Reached maximum budget ($1)"], reason: "budget-exhausted" },
    { subtype: "error_during_execution", errors: ["boom"], reason: "turn-error" },
    { subtype: "error_max_structured_output_retries", errors: ["no output"], reason: "turn-error" },
  ];
  for (const { subtype, errors, reason } of limits) {
    test(`D4: ${subtype}, without a text of its own, is told apart and told in Claude's words`, async (t) => {
      const result = { subtype, is_error: true, errors, result: undefined, terminal_reason: undefined };
      const stage = await openStage(t, { steps: [...OPENING, { result }] });
      const taskId = await stage.start({ mode: "auto" });
      const view = await stage.when(taskId, (now) => now.state === "human_required", "a person");
      assert.deepEqual([view.reason, view.rounds.used, view.turns], [reason, 0, 1]);
      assert.ok(view.why?.includes(errors[0] ?? "?"), view.why ?? "");
    });
  }
});

describe("what the worker says of its tests", () => {
  const files = {
    "package.json": JSON.stringify({ scripts: { test: "node check.mjs" } }),
    "check.mjs":
      'import { readFileSync } from "node:fs";\nprocess.exit(readFileSync("a.txt", "utf8") === "good\\n" ? 0 : 1);\n',
    "a.txt": "bad\n",
  };

  test("D13: a claim of success with red tests is no success: the frozen command decides", async (t) => {
    const stage = await openStage(t, {
      files,
      steps: [...OPENING, { say: "All 212 tests pass!" }, { result: { result: "All tests pass." } }],
    });
    const taskId = await stage.start({ mode: "auto", verify: ["npm test"], maxRounds: 1 });
    const view = await stage.when(taskId, (now) => now.state === "human_required", "a person");
    assert.deepEqual([view.reason, view.rounds.failed], ["rounds-exhausted", 1]);
  });

  for (const where of ["clean", "workspace"] as const) {
    test(`D13: a test script that the worker turned into true is named, verified in the ${where} tree`, async (t) => {
      const gate = await openStage(t, { files, steps: [...OPENING, { eof: true }] });
      const taskId = await gate.start({ mode: "manual", verify: ["npm test"], verifyIn: where });
      await gate.when(taskId, (now) => now.state === "running", "a turn");
      await writeFile(join(gate.cwd, "package.json"), JSON.stringify({ scripts: { test: "true" } }));
      assert.ok((await gate.supervisor.pause(taskId, undefined)).ok);
      const next = await openStage(t, { lab: gate.lab, cwd: gate.cwd });
      await gate.supervisor.shutdown(1_000);
      assert.ok((await next.supervisor.recover(taskId, { fresh: false })).ok);
      await next.when(taskId, (now) => now.waitsFor === "result", "the result");
      const verified = await next.supervisor.verify(taskId);
      assert.ok(verified.ok, JSON.stringify(verified));
      const report = await dataOf(next, taskId, "verify.finished");
      const findings = report["findings"] as { kind: string; path?: string }[];
      assert.equal(report["where"], where);
      assert.ok(
        findings.some((one) => one.kind === "changed-script" && one.path === "package.json#scripts.test"),
        JSON.stringify(findings),
      );
    });
  }
});

/** Old records go when a person says so, worktrees come when asked for, time is given by `--extend`. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import type { StartInput } from "../../src/supervisor/api.ts";
import { until } from "../support/until.ts";
import { OPENING, openStage, type Stage } from "./stage.ts";

const letGo = (stage: Stage) =>
  until(async () => stage.supervisor.live().length === 0 || undefined, 10_000, "the task to be let go of");

describe("discard and prune", () => {
  test("look first; a live task and the workspace stay", async (t) => {
    const stage = await openStage(t, { scenario: "obedient" });
    const taskId = await stage.start();
    await stage.when(taskId, (view) => view.waitsFor === "result", "the result");
    const live = await stage.supervisor.discard(taskId, true);
    assert.ok(!live.ok && live.reason === "live", JSON.stringify(live));
    assert.ok((await stage.supervisor.stop(taskId, undefined)).ok);
    await letGo(stage);
    const looked = await stage.supervisor.discard(taskId, false);
    assert.ok(looked.ok && !looked.removal.removed && looked.removal.files > 1, JSON.stringify(looked));
    assert.ok((await stage.view(taskId)).state === "stopped");
    const young = await stage.supervisor.prune(3_600_000, true);
    assert.ok(young.ok && young.removals.length === 0);
    const gone = await stage.supervisor.discard(taskId, true);
    assert.ok(gone.ok && gone.removal.removed);
    assert.equal((await stage.supervisor.status(taskId)).ok, false);
    assert.ok(existsSync(join(stage.cwd, "a.txt")));
    const again = await stage.supervisor.discard(taskId, true);
    assert.ok(!again.ok && again.reason === "no-task");
  });

  test("prune takes ended tasks only", async (t) => {
    const stage = await openStage(t, { scenario: "obedient" });
    const ended = await stage.start();
    await stage.when(ended, (view) => view.waitsFor === "result", "the result");
    assert.ok((await stage.supervisor.verify(ended)).ok);
    await letGo(stage);
    const open = await stage.start();
    await stage.when(open, (view) => view.waitsFor === "result", "the result");
    const looked = await stage.supervisor.prune(0, false);
    assert.ok(
      looked.ok && looked.removals.length === 1 && looked.removals[0]?.taskId === ended,
      JSON.stringify(looked),
    );
    const done = await stage.supervisor.prune(0, true);
    assert.ok(done.ok && done.removals[0]?.removed);
    const left = await stage.supervisor.sessions(true);
    assert.deepEqual(
      left.tasks.map((row) => row.taskId),
      [open],
    );
  });
});

describe("--worktree", () => {
  test("works in a folder and on a branch of the task's own, which stay", async (t) => {
    const stage = await openStage(t, { steps: [...OPENING, { result: {} }] });
    const started = await stage.supervisor.start({
      goal: "x",
      from: stage.cwd,
      mode: "manual",
      verify: ["true"],
      worktree: true,
    });
    assert.ok(started.ok, JSON.stringify(started));
    const { taskId, cwd } = started;
    assert.equal(cwd, join(`${stage.cwd}.supervise`, taskId));
    await stage.when(taskId, (view) => view.waitsFor === "result", "the result");
    assert.equal(
      execFileSync("git", ["branch", "--show-current"], { cwd, encoding: "utf8" }).trim(),
      `supervise/${taskId}`,
    );
    writeFileSync(join(cwd, "work.txt"), "uncommitted");
    assert.ok((await stage.supervisor.stop(taskId, undefined)).ok);
    await letGo(stage);
    assert.ok((await stage.supervisor.discard(taskId, true)).ok);
    assert.equal(readFileSync(join(cwd, "work.txt"), "utf8"), "uncommitted", "nobody's work is removed");
  });

  test("a refused start leaves no worktree and no branch; tasks that start at the same moment can share a repository", async (t) => {
    const stage = await openStage(t, { scenario: "obedient" });
    const refused = await stage.supervisor.start({
      goal: "x",
      from: stage.cwd,
      mode: "manual",
      verify: ["  "],
      worktree: true,
    });
    assert.ok(!refused.ok && refused.reason === "verify-empty");
    assert.equal(
      execFileSync("git", ["worktree", "list"], { cwd: stage.cwd, encoding: "utf8" }).trim().split("\n").length,
      1,
    );
    assert.equal(execFileSync("git", ["branch", "--list", "supervise/*"], { cwd: stage.cwd, encoding: "utf8" }), "");
    const base: StartInput = { goal: "x", from: stage.cwd, mode: "manual", verify: ["true"], worktree: true as const };
    const started = await Promise.all(Array.from({ length: 6 }, () => stage.supervisor.start(base)));
    for (const one of started) assert.ok(one.ok, JSON.stringify(one));
  });

  test("outside git is refused with what to do", async (t) => {
    const stage = await openStage(t, { scenario: "obedient" });
    const refused = await stage.supervisor.start({
      goal: "x",
      from: stage.lab.tmp,
      mode: "manual",
      verify: ["true"],
      worktree: true,
    });
    assert.ok(!refused.ok && refused.reason === "worktree-needs-git", JSON.stringify(refused));
  });
});

test("a task that used up its time goes on only with more of it", async (t) => {
  const first = await openStage(t, { steps: [...OPENING, { sleep: 60_000 }] });
  const taskId = await first.start({ timeoutMs: 700 });
  await first.when(taskId, (view) => view.state === "failed", "the wall");
  await letGo(first);
  const second = await openStage(t, { lab: first.lab, cwd: first.cwd, scenario: "obedient" });
  const refused = await second.supervisor.recover(taskId, { fresh: false });
  assert.ok(!refused.ok && refused.reason === "no-time", JSON.stringify(refused));
  const recovered = await second.supervisor.recover(taskId, { fresh: false, extendMs: 3_600_000 });
  assert.ok(recovered.ok, JSON.stringify(recovered));
  await second.when(taskId, (view) => view.waitsFor === "result", "the result");
});

test("F5: a resumed session that comes back empty is set aside; only a fresh one goes on", async (t) => {
  const first = await openStage(t, { steps: [...OPENING, { exit: 9 }] });
  const taskId = await first.start({ mode: "auto" });
  await first.when(taskId, (view) => view.reason === "decider-unavailable", "the exit that nobody judged");
  assert.ok((await first.supervisor.stop(taskId, undefined)).ok);
  await letGo(first);
  const second = await openStage(t, {
    lab: first.lab,
    cwd: first.cwd,
    steps: [...OPENING, { result: { num_turns: 0, result: "" } }],
  });
  assert.ok((await second.supervisor.recover(taskId, { fresh: false })).ok);
  const held = await second.when(taskId, (view) => view.state === "human_required", "the hold");
  assert.equal(held.reason, "session-corrupt");
  assert.equal(held.rounds.used, 0, "nothing is verified that was not worked on");
  assert.ok((await second.supervisor.stop(taskId, undefined)).ok);
  await letGo(second);
  const third = await openStage(t, { lab: first.lab, cwd: first.cwd, scenario: "obedient" });
  const again = await third.supervisor.recover(taskId, { fresh: false });
  assert.ok(!again.ok && again.reason === "quarantined", JSON.stringify(again));
  assert.ok((await third.supervisor.recover(taskId, { fresh: true })).ok);
});

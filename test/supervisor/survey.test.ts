/** Numbers over ten thousand tasks: quick, in the memory of one, whatever lies among them. */
import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { StoredEvent } from "../../src/core/events.ts";
import { createIds } from "../../src/platform/ids.ts";
import { TotalsOf } from "../../src/report/index.ts";
import { supervisorDeps } from "../../src/supervisor/index.ts";
import { LocalSupervisor } from "../../src/supervisor/local-supervisor.ts";
import { snapshotOf } from "../../src/supervisor/snapshot.ts";
import { longTask } from "../report/long-task.ts";
import { memoryFolder } from "../store/temp-store.ts";

const MANY = 10_000;

function openIn(folder: string) {
  const made = supervisorDeps({ ...process.env, PI_CLAUDE_SUPERVISOR_STATE_DIR: join(folder, "state") });
  assert.ok(made.ok, JSON.stringify(made));
  return { layout: made.deps.layout, supervisor: new LocalSupervisor(made.deps) };
}

test("10,000 tasks add up, broken records among them are counted", async (t) => {
  const { layout, supervisor } = openIn(memoryFolder(t));
  const record = snapshotOf(longTask(450).state(), "/log");
  const ids = createIds();
  for (let i = 0; i < MANY; i++) {
    const taskId = ids.taskId();
    const { folder, record: path } = layout.task(taskId);
    mkdirSync(folder, { mode: 0o700 });
    const text = i % 1_000 === 999 ? "{" : JSON.stringify({ ...record, taskId, view: { ...record.view, taskId } });
    writeFileSync(path, text, { mode: 0o600 });
  }
  const sums = new TotalsOf();
  let most = 0;
  const before = process.memoryUsage().heapUsed;
  const from = performance.now();
  const looked = await supervisor.survey((view) => {
    sums.add(view);
    if (sums.totals.tasks % 500 === 0) most = Math.max(most, process.memoryUsage().heapUsed - before);
  }, 120_000);
  t.diagnostic(`${Math.round(performance.now() - from)} ms, at most ${Math.round(most / 1e6)} MB more heap`);
  assert.deepEqual(looked, { ok: true, unreadable: 10, notLooked: 0 });
  const { totals } = sums;
  assert.deepEqual(totals.byState, { completed: MANY - 10 });
  assert.equal(totals.turns, (MANY - 10) * record.view.turns);
  assert.equal(totals.asksByRule["git.push"], MANY - 10);
  // The records together are far more than this.
  assert.ok(most < 150e6, `${most} bytes`);

  const none = await supervisor.survey(() => assert.fail("there was no time"), 0);
  assert.deepEqual(none, { ok: true, unreadable: 0, notLooked: MANY });
});

test("a damaged log is told up to the damage, and says so", async (t) => {
  const { layout, supervisor } = openIn(memoryFolder(t));
  const log = longTask(450);
  const [first] = log.events;
  assert.ok(first);
  const { folder, record, log: path } = layout.task(first.taskId);
  mkdirSync(folder, { mode: 0o700 });
  writeFileSync(record, JSON.stringify(snapshotOf(log.state(), path)), { mode: 0o600 });
  const lines = log.events.map((event) => JSON.stringify(event));
  const whole = `${lines.join("\n")}\n`;
  const read = async () => {
    const events: StoredEvent[] = [];
    const history = await supervisor.history(first.taskId, (event) => events.push(event));
    assert.ok(history.ok, JSON.stringify(history));
    return { count: events.length, damage: history.damage };
  };
  writeFileSync(path, whole, { mode: 0o600 });
  assert.deepEqual(await read(), { count: log.events.length, damage: null });
  writeFileSync(path, whole.replace("claude.bypass", "claude.harmless"), { mode: 0o600 });
  const { count, damage } = await read();
  assert.ok(count > 0 && count < log.events.length, String(count));
  assert.match(damage ?? "", /record/);
});

import assert from "node:assert/strict";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { type Ownership, systemOwnership } from "../../src/platform/account.ts";
import { createIds } from "../../src/platform/ids.ts";
import type { StateLayout } from "../../src/store/layout.ts";
import { listTasks, type Summary } from "../../src/store/task-list.ts";
import { readTaskRecord, writeTaskRecord } from "../../src/store/task-record.ts";
import { discardTask, pruneTasks } from "../../src/store/task-removal.ts";
import {
  holderOf,
  isPlainSentence,
  layoutAt,
  memoryFolder,
  mustBeOk,
  newTask,
  newTaskId,
  reasonOf,
  tempLayout,
} from "./temp-store.ts";

/** Task folders with nothing but a record, as fast as they can be made. */
function plantTasks(layout: StateLayout, count: number): string[] {
  const ids = createIds();
  return Array.from({ length: count }, (_, i) => {
    const taskId = ids.taskId();
    mkdirSync(layout.task(taskId).folder, { mode: 0o700 });
    const record = {
      v: 1,
      taskId,
      state: i % 2 ? "completed" : "failed",
      seq: 7,
      goal: `goal ${i} ${"g".repeat(700)}`,
      costUsd: i,
      nested: { a: 1 },
    };
    writeFileSync(layout.task(taskId).record, JSON.stringify(record), { mode: 0o600 });
    return taskId;
  });
}

const BROKEN: [string, (path: string) => void, string][] = [
  ["{}", (path) => writeFileSync(path, "{}", { mode: 0o600 }), "record-malformed"],
  ["[]", (path) => writeFileSync(path, "[]", { mode: 0o600 }), "record-malformed"],
  ["null", (path) => writeFileSync(path, "null", { mode: 0o600 }), "record-malformed"],
  ["an empty file", (path) => writeFileSync(path, "", { mode: 0o600 }), "record-malformed"],
  ["half a file", (path) => writeFileSync(path, '{"v":1,"taskId":"t-', { mode: 0o600 }), "record-malformed"],
  ["a later version", (path) => writeFileSync(path, '{"v":2}', { mode: 0o600 }), "record-malformed"],
  [
    "the record of another task",
    (path) =>
      writeFileSync(path, JSON.stringify({ v: 1, taskId: newTaskId(), state: "failed", seq: 1 }), { mode: 0o600 }),
    "record-malformed",
  ],
  [
    "a seq that is no number",
    (path) => writeFileSync(path, readFileSync(path, "utf8").replace('"seq":7', '"seq":1.5')),
    "record-malformed",
  ],
  ["no file", (path) => rmSync(path), "missing"],
  ["a file that others can read", (path) => chmodSync(path, 0o644), "wrong-mode"],
  [
    "a link",
    (path) => {
      rmSync(path);
      symlinkSync("events.jsonl", path);
    },
    "symlink",
  ],
  [
    "a folder",
    (path) => {
      rmSync(path);
      mkdirSync(path);
    },
    "not-regular",
  ],
  ["a giant", (path) => writeFileSync(path, " ".repeat(1024 * 1024 + 1), { mode: 0o600 }), "too-large"],
];

describe("the list of tasks", () => {
  test("isolates every broken record and still lists the others, in order, with and without the index", async (t) => {
    const layout = layoutAt(join(memoryFolder(t), "state"));
    const ids = plantTasks(layout, BROKEN.length + 30);
    for (const [i, [, plant]] of BROKEN.entries()) plant(layout.task(ids[i] ?? "").record);
    writeFileSync(join(layout.tasks, "notes.txt"), "");
    mkdirSync(join(layout.tasks, "t-nonsense"));
    mkdirSync(join(layout.tasks, ".new-x"));
    symlinkSync(layout.task(ids[20] ?? "").folder, join(layout.tasks, newTaskId()));

    for (const pass of ["without", "with"]) {
      const list = mustBeOk(await listTasks(layout));
      assert.deepEqual(
        list.tasks.map((task) => task.taskId),
        ids.slice(BROKEN.length),
        pass,
      );
      const faults = new Map(list.faulty.map((one) => [one.taskId, one.fault]));
      BROKEN.forEach(([name, , reason], i) => {
        const fault = faults.get(ids[i] ?? "");
        assert.equal(fault?.reason, reason, name);
        assert.ok(isPlainSentence(fault?.message ?? ""), fault?.message);
      });
      assert.equal(list.faulty.filter((one) => one.fault.reason === "not-a-task").length, 3);
      assert.equal(list.read, pass === "with" ? 0 : 30);
    }
  });

  test("isolates a record of another owner", async (t) => {
    const layout = tempLayout(t);
    const [first = "", second = ""] = plantTasks(layout, 2);
    const ownership: Ownership = { ...systemOwnership, ownerOf: (path, s) => (path.includes(first) ? 4711 : s.uid) };
    const list = mustBeOk(await listTasks(layout, { ownership }));
    assert.deepEqual(
      list.tasks.map((task) => task.taskId),
      [second],
    );
    assert.equal(list.faulty[0]?.fault.reason, "wrong-owner");
  });

  test("shows a changed record at once, and survives any index", async (t) => {
    const layout = layoutAt(join(memoryFolder(t), "state"));
    const ids = plantTasks(layout, 40);
    const [first = ""] = ids;
    mustBeOk(await listTasks(layout));
    assert.ok(existsSync(layout.index));
    mustBeOk(writeTaskRecord(layout.task(first).record, { v: 1, taskId: first, state: "paused", seq: 9 }));
    const list = mustBeOk(await listTasks(layout));
    assert.deepEqual([list.tasks[0]?.state, list.tasks[0]?.seq, list.read], ["paused", 9, 1]);
    assert.equal(String(list.tasks[1]?.fields["goal"]).length, 500);
    assert.equal(list.tasks[1]?.fields["nested"], undefined);

    for (const junk of ["", "{", "[]", '{"v":1,"entries":[{},null,{"stamp":1}]}', "\u0000"]) {
      writeFileSync(layout.index, junk);
      assert.equal(mustBeOk(await listTasks(layout)).tasks.length, 40, junk);
    }
    rmSync(layout.task(first).folder, { recursive: true });
    assert.equal(mustBeOk(await listTasks(layout)).tasks.length, 39);
  });

  test("shows what its summary takes from each record, and never the index of another summary", async (t) => {
    const layout = layoutAt(join(memoryFolder(t), "state"));
    plantTasks(layout, 40);
    mustBeOk(await listTasks(layout));
    const summary: Summary = {
      name: "nested-1",
      of: (record) => ({ a: (record.nested as { a: number }).a, none: undefined, long: String(record.goal).repeat(9) }),
    };
    for (const read of [40, 0]) {
      const list = mustBeOk(await listTasks(layout, { summary }));
      assert.deepEqual([list.read, list.tasks[0]?.fields.a, String(list.tasks[0]?.fields.long).length], [read, 1, 500]);
      assert.ok(list.tasks.every((task) => !("none" in task.fields)));
    }
  });

  test("takes less than a second for ten thousand tasks, without the index and with it", async (t) => {
    const layout = layoutAt(join(memoryFolder(t), "state"));
    plantTasks(layout, 10_000);
    const [times, cpu]: [number[], number[]] = [[], []];
    for (let pass = 0; pass < 2; pass += 1) {
      const [started, used] = [performance.now(), process.cpuUsage()];
      const list = mustBeOk(await listTasks(layout));
      times.push(Math.round(performance.now() - started));
      const { user, system } = process.cpuUsage(used);
      cpu.push(Math.round((user + system) / 1_000));
      assert.equal(list.tasks.length, 10_000);
      assert.equal(list.read, pass === 0 ? 10_000 : 0);
    }
    t.diagnostic(
      `10,000 tasks: ${times[0]} ms without the index, ${times[1]} ms with it; cpu ${cpu[0]} and ${cpu[1]} ms`,
    );
    // The work, not the wait: other programs may have the machine.
    assert.ok(Math.max(...cpu) < 1_000, `${cpu}`);
  });
});

describe("the task record", () => {
  test("is read back as it was written, 0600", (t) => {
    const layout = tempLayout(t);
    const [taskId = ""] = plantTasks(layout, 1);
    const record = {
      v: 1 as const,
      taskId,
      state: "running",
      seq: 3,
      budgets: { usd: null },
      text: "\u0000\ud83d\ude00",
    };
    mustBeOk(writeTaskRecord(layout.task(taskId).record, record));
    assert.deepEqual(mustBeOk(readTaskRecord(layout.task(taskId).record, taskId)).record, record);
  });

  test("that cannot be JSON or is too large is refused, the old one stays", (t) => {
    const layout = tempLayout(t);
    const [taskId = ""] = plantTasks(layout, 1);
    const { record: path } = layout.task(taskId);
    const before = readFileSync(path);
    const head = { v: 1 as const, taskId, state: "running", seq: 3 };
    assert.equal(reasonOf(writeTaskRecord(path, { ...head, n: 1n } as never)), "record-invalid");
    assert.equal(
      reasonOf(writeTaskRecord(path, { ...head, text: "x".repeat(1024 * 1024) } as never)),
      "record-too-large",
    );
    assert.deepEqual(readFileSync(path), before);
  });
});

describe("dropping tasks", () => {
  test("does nothing in a dry run, refuses a live task, and removes whole folders, broken ones too", async (t) => {
    const layout = tempLayout(t);
    const task = await newTask(layout);
    const { taskId } = task;
    const holder = holderOf(taskId);
    assert.equal(reasonOf(discardTask(layout, taskId, { apply: true, holder })), "live");
    await task.log.close();
    task.lock.release();
    writeFileSync(layout.task(taskId).record, "{}");

    const dry = mustBeOk(discardTask(layout, taskId, { apply: false, holder })).removal;
    assert.deepEqual([dry.removed, dry.files >= 3, dry.bytes > 0], [false, true, true]);
    assert.deepEqual(readdirSync(layout.tasks), [taskId]);
    assert.equal(mustBeOk(discardTask(layout, taskId, { apply: true, holder })).removal.removed, true);
    assert.deepEqual(readdirSync(layout.tasks), []);
    assert.equal(reasonOf(discardTask(layout, taskId, { apply: true, holder })), "no-task");
  });

  test("never follows a link out of the task's folder", async (t) => {
    const layout = tempLayout(t);
    const [taskId = ""] = plantTasks(layout, 1);
    mkdirSync(join(layout.root, "precious"));
    writeFileSync(join(layout.root, "precious", "file"), "keep");
    symlinkSync(join(layout.root, "precious"), join(layout.task(taskId).folder, "artifacts"));
    mustBeOk(discardTask(layout, taskId, { apply: true, holder: holderOf(taskId) }));
    assert.equal(readFileSync(join(layout.root, "precious", "file"), "utf8"), "keep");
  });

  test("by age takes only ended tasks, keeps live ones, and sweeps what crashes left", async (t) => {
    const layout = tempLayout(t);
    const [failed = "", completed = "", young = ""] = plantTasks(layout, 3);
    const live = await newTask(layout);
    const old = new Date(Date.now() - 10 * 86_400_000);
    for (const id of [failed, completed, live.taskId]) utimesSync(layout.task(id).record, old, old);
    const leftover = join(layout.tasks, ".new-old");
    mkdirSync(leftover);
    utimesSync(leftover, old, old);
    mkdirSync(join(layout.tasks, ".new-fresh"));
    const staleLock = join(layout.locks, "a.lock");
    writeFileSync(staleLock, "", { mode: 0o600 });
    utimesSync(staleLock, old, old);

    const options = { olderThanMs: 86_400_000, isEnded: (state: string) => state !== "running", holder: holderOf };
    const dry = mustBeOk(await pruneTasks(layout, { ...options, apply: false }));
    assert.deepEqual(
      dry.removals.map((one) => [one.taskId, one.removed]),
      [
        [failed, false],
        [completed, false],
      ],
    );
    assert.deepEqual(
      dry.kept.map((one) => one.taskId),
      [live.taskId],
    );
    assert.equal(readdirSync(layout.tasks).length, 6);

    mustBeOk(await pruneTasks(layout, { ...options, apply: true }));
    assert.deepEqual(readdirSync(layout.tasks).sort(), [".new-fresh", live.taskId, young].sort());
    assert.deepEqual(readdirSync(layout.locks), []);
    await live.log.close();
    live.lock.release();
  });
});

import assert from "node:assert/strict";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import fc from "fast-check";
import { readEvents, verifyLog } from "../../src/store/log-reader.ts";
import { openEventLog } from "../../src/store/open-log.ts";
import { memoryFolder, mustBeOk, newLog, newTaskId, note, openLog } from "./temp-store.ts";

const LF = 10;

/** A log of `count` records and its bytes. */
async function sample(t: TestContext, count: number) {
  const taskId = newTaskId();
  const folder = memoryFolder(t);
  const { path, log } = newLog(folder, { taskId });
  for (let i = 1; i <= count; i += 1) mustBeOk(log.append([note(`record ${i} \u00fc \ud83d\ude00 ${"x".repeat(i)}`)]));
  mustBeOk(await log.close());
  const bytes = readFileSync(path);
  const starts = [0];
  for (let at = bytes.indexOf(LF) + 1; at < bytes.length; at = bytes.indexOf(LF, at) + 1) starts.push(at);
  return { taskId, folder, bytes, starts, hash: log.hash };
}

/** The bytes as a log in a folder of their own. */
function plant(folder: string, bytes: Buffer): string {
  const place = join(folder, "case");
  rmSync(place, { recursive: true, force: true });
  mkdirSync(place);
  const path = join(place, "events.jsonl");
  writeFileSync(path, bytes, { mode: 0o600 });
  return path;
}

describe("a log whose end was cut off", () => {
  test("at every byte of the last three records: the torn bytes are kept, whole records stay, numbering goes on", async (t) => {
    const { taskId, folder, bytes, starts } = await sample(t, 6);
    const first = starts[3] ?? 0;
    for (let cut = first; cut <= bytes.length; cut += 1) {
      const path = plant(folder, bytes.subarray(0, cut));
      const whole = bytes.subarray(0, cut).lastIndexOf(LF) + 1;
      const records = bytes.subarray(0, whole).filter((byte) => byte === LF).length;

      const opened = openLog(path, { taskId });
      assert.equal(opened.log.seq, records, `cut at ${cut}`);
      assert.equal(opened.recovered?.bytes ?? 0, cut - whole);
      if (cut > whole) assert.deepEqual(readFileSync(`${path}.torn-1`), bytes.subarray(whole, cut));
      else assert.deepEqual(readdirSync(join(folder, "case")), ["events.jsonl"]);

      const again = opened.log.append([{ type: "log.recovered", data: { bytes: cut - whole } }]);
      assert.equal(mustBeOk(again).events[0]?.seq, records + 1);
      opened.log.closeNow();
      assert.deepEqual(readFileSync(path).subarray(0, whole), bytes.subarray(0, whole));
      assert.equal(mustBeOk(await verifyLog(path, taskId)).records, records + 1);
    }
  });

  test("twice: each torn end has its own file; a copy whose cut was not reached is not made twice", async (t) => {
    const { taskId, folder, bytes } = await sample(t, 3);
    const torn = bytes.subarray(0, bytes.length - 5);
    const whole = torn.lastIndexOf(LF) + 1;
    const path = plant(folder, torn);
    writeFileSync(`${path}.torn-1`, "something older", { mode: 0o600 });
    openLog(path, { taskId }).log.closeNow();
    assert.deepEqual(readFileSync(`${path}.torn-2`), torn.subarray(whole));
    assert.equal(readFileSync(`${path}.torn-1`, "utf8"), "something older");
    writeFileSync(path, torn);
    openLog(path, { taskId }).log.closeNow();
    assert.deepEqual(readdirSync(join(folder, "case")).sort(), [
      "events.jsonl",
      "events.jsonl.torn-1",
      "events.jsonl.torn-2",
    ]);
  });

  test("is readable meanwhile, up to the cut", async (t) => {
    const { taskId, folder, bytes } = await sample(t, 3);
    const path = plant(folder, bytes.subarray(0, bytes.length - 1));
    const seen: number[] = [];
    for await (const item of readEvents(path, taskId)) seen.push(mustBeOk(item).event.seq);
    assert.deepEqual(seen, [1, 2]);
    assert.ok(mustBeOk(await verifyLog(path, taskId)).torn > 0);
  });

  test("and is known from the task's snapshot to have been longer opens, and says how much is missing", async (t) => {
    const { taskId, folder, bytes, starts } = await sample(t, 5);
    const anchor = { seq: 5 };
    for (const [end, missing] of [
      [starts[3], 2],
      [(starts[3] ?? 0) + 9, 2],
      [bytes.length, undefined],
    ] as const) {
      const path = plant(folder, bytes.subarray(0, end));
      const opened = openLog(path, { taskId, anchor });
      opened.log.closeNow();
      assert.equal(opened.missing, missing);
      const verified = await verifyLog(path, taskId, { anchor });
      assert.equal(verified.ok ? "sound" : verified.message.includes("ends at record 3"), missing ? true : "sound");
    }
  });
});

describe("a log with a flipped bit", () => {
  test("is never changed: in its last two lines it is not opened, before them verification finds it; without its last line end it is a torn one", async (t) => {
    const { taskId, folder, bytes, starts, hash } = await sample(t, 8);
    const secondLast = (starts[6] ?? 0) - 1;
    const lastSeqDigit = (starts[7] ?? 0) + '{"v":1,"seq":'.length;
    const anchor = { seq: 8, hash };
    await fc.assert(
      fc.asyncProperty(fc.nat(bytes.length - 1), fc.integer({ min: 0, max: 7 }), async (at, bit) => {
        const flipped = Buffer.from(bytes);
        flipped[at] = (flipped[at] ?? 0) ^ (1 << bit);
        const path = plant(folder, flipped);
        const verified = await verifyLog(path, taskId, { anchor });
        assert.equal(verified.ok ? "sound" : verified.reason, "log-damaged");
        const opened = openEventLog(path, { taskId, anchor });
        if (opened.ok) opened.log.closeNow();
        if (at === bytes.length - 1) {
          const found = mustBeOk(opened);
          assert.deepEqual([found.missing, found.recovered?.bytes], [1, bytes.length - (starts[7] ?? 0)]);
          return;
        }
        assert.equal(opened.ok ? "opened" : opened.reason, at >= secondLast ? "log-damaged" : "opened");
        assert.deepEqual(readFileSync(path), flipped);
        assert.deepEqual(readdirSync(join(folder, "case")), ["events.jsonl"]);
      }),
      {
        numRuns: 400,
        examples: [
          [lastSeqDigit, 0],
          [bytes.length - 1, 0],
          [secondLast, 0],
        ],
      },
    );
  });

  test("gives readers the records before the damage and then the reason, naming record and byte", async (t) => {
    const { taskId, folder, bytes, starts } = await sample(t, 6);
    const flipped = Buffer.from(bytes);
    flipped[(starts[3] ?? 0) + 2] = 0;
    const path = plant(folder, flipped);
    const seen: (number | string)[] = [];
    for await (const item of readEvents(path, taskId)) seen.push(item.ok ? item.event.seq : item.message);
    assert.deepEqual(seen.slice(0, 3), [1, 2, 3]);
    assert.match(String(seen[3]), new RegExp(`record 4.*byte ${starts[3]}`));
    assert.equal(seen.length, 4);
  });
});

describe("a log that is no log of this task", () => {
  const CASES: [string, (bytes: Buffer) => Buffer][] = [
    ["an empty line", () => Buffer.from("\n")],
    ["zeros with a line end", (bytes) => Buffer.concat([bytes, Buffer.alloc(4096), Buffer.from("\n")])],
    ["a record of another version", (bytes) => Buffer.concat([bytes, Buffer.from('{"v":2,"seq":4}\n')])],
    ["a repeated last line", (bytes) => Buffer.concat([bytes, bytes.subarray(bytes.lastIndexOf(LF, -2) + 1)])],
    [
      "a line of another log",
      (bytes) =>
        Buffer.concat([
          bytes,
          Buffer.from(`${JSON.stringify({ v: 1, seq: 4, taskId: "t-x", at: "", type: "x", data: {}, prev: "" })}\n`),
        ]),
    ],
    ["an array", (bytes) => Buffer.concat([bytes, Buffer.from("[]\n")])],
    ["a carriage return", (bytes) => Buffer.from(bytes.toString("utf8").replaceAll("\n", "\r\n"))],
  ];
  for (const [name, change] of CASES) {
    test(`${name} is damage, and not one byte changes`, async (t) => {
      const { taskId, folder, bytes } = await sample(t, 3);
      const changed = change(bytes);
      const path = plant(folder, changed);
      const opened = openEventLog(path, { taskId });
      assert.equal(opened.ok ? "opened" : opened.reason, "log-damaged");
      const verified = await verifyLog(path, taskId);
      assert.equal(verified.ok ? "sound" : verified.reason, "log-damaged");
      assert.deepEqual(readFileSync(path), changed);
    });
  }

  test("zeros without a line end are a torn end: a file grew, its data never came", async (t) => {
    const { taskId, folder, bytes } = await sample(t, 3);
    const path = plant(folder, Buffer.concat([bytes, Buffer.alloc(10_000)]));
    const opened = openLog(path, { taskId });
    assert.equal(opened.recovered?.bytes, 10_000);
    opened.log.closeNow();
    assert.deepEqual(readFileSync(path), bytes);
  });
});

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { describe, test } from "node:test";
import { readEvents, verifyLog } from "../../src/store/log-reader.ts";
import { mustBeOk, newLog, newTaskId, note, openLog, tempFolder } from "./temp-store.ts";

describe("the event log", () => {
  test("numbers records from 1 without a gap and links each to the bytes of the line before", async (t) => {
    const taskId = newTaskId();
    const { path, log } = newLog(tempFolder(t), { taskId });
    mustBeOk(log.append([note("one"), { ...note("two\u2028 \ud83d\ude00"), workerId: "w-1", idempotencyKey: "k" }]));
    mustBeOk(log.append([note("three")]));
    mustBeOk(await log.close());

    const lines = readFileSync(path, "utf8").trimEnd().split("\n");
    let prev = "0".repeat(64);
    assert.deepEqual(
      lines.map((line) => JSON.parse(line)).map((record) => [record.v, record.seq, record.taskId, record.type]),
      [1, 2, 3].map((seq) => [1, seq, taskId, "note"]),
    );
    for (const line of lines) {
      assert.equal(JSON.parse(line).prev, prev);
      prev = createHash("sha256").update(line).digest("hex");
    }
    assert.equal(log.hash, prev);
    assert.equal(statSync(path).mode & 0o777, 0o600);
  });

  test("goes on where it was when it is opened again", async (t) => {
    const taskId = newTaskId();
    const { path, log } = newLog(tempFolder(t), { taskId });
    mustBeOk(log.append([note("one"), note("two")]));
    mustBeOk(await log.close());

    const again = openLog(path, { taskId });
    assert.equal(again.recovered, undefined);
    assert.equal(again.log.seq, 2);
    mustBeOk(again.log.append([note("three")]));
    mustBeOk(await again.log.close());
    const verified = mustBeOk(await verifyLog(path, taskId));
    assert.equal(verified.records, 3);
    assert.equal(verified.hash, again.log.hash);

    const seen: number[] = [];
    for await (const item of readEvents(path, taskId, { from: 2, to: 3 })) seen.push(mustBeOk(item).event.seq);
    assert.deepEqual(seen, [2, 3]);
  });
});

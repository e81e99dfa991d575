/** Every byte of the last two lines but the last line end replaced by every other value: none is taken for sound, and none is changed. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { describe, test } from "node:test";
import { openEventLog } from "../../src/store/open-log.ts";
import { memoryFolder, mustBeOk, newLog, newTaskId, note } from "./temp-store.ts";

describe("the end of a log", () => {
  test("with any one byte replaced is not opened by whoever knows its last record", (t) => {
    const taskId = newTaskId();
    const folder = memoryFolder(t);
    const { path, log } = newLog(folder, { taskId });
    for (let i = 1; i <= 12; i += 1) mustBeOk(log.append([note(`record ${i} \u00fc`)]));
    const anchor = { seq: log.seq, hash: log.hash };
    log.closeNow();
    const bytes = readFileSync(path);
    const lineEnds = [...bytes.keys()].filter((at) => bytes[at] === 10);
    let tried = 0;
    for (let at = lineEnds.at(-3) ?? 0; at < bytes.length - 1; at += 1) {
      for (let value = 0; value < 256; value += 1) {
        if (bytes[at] === value) continue;
        const changed = Buffer.from(bytes);
        changed[at] = value;
        writeFileSync(path, changed);
        const opened = openEventLog(path, { taskId, anchor });
        if (opened.ok) opened.log.closeNow();
        assert.equal(opened.ok ? "opened" : opened.reason, "log-damaged", `byte ${at}, value ${value}`);
        assert.ok(readFileSync(path).equals(changed));
        tried += 1;
      }
    }
    assert.deepEqual(readdirSync(folder), ["events.jsonl"]);
    t.diagnostic(`${tried} replacements`);
  });
});

import assert from "node:assert/strict";
import { appendFileSync, readFileSync, truncateSync, unlinkSync } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { describe, type TestContext, test } from "node:test";
import fc from "fast-check";
import { chainFrom, checkedBatches } from "../../src/store/checked-lines.ts";
import { encodeLines, FIRST_PREV } from "../../src/store/event-line.ts";
import { nodeLogFs } from "../../src/store/log-fs.ts";
import { followEvents, type ReadItem, readEvents, tailOfLog } from "../../src/store/log-reader.ts";
import { offsetOfSeq } from "../../src/store/log-seek.ts";
import { memoryFolder, mustBeOk, newLog, newTaskId, note, tempFolder } from "./temp-store.ts";

function logOf(t: TestContext, sizes: readonly number[]) {
  const taskId = newTaskId();
  const { path, log } = newLog(memoryFolder(t), { taskId });
  mustBeOk(log.append(sizes.map((size) => note("z".repeat(size)))));
  return { taskId, path, log };
}

async function seqsOf(items: AsyncIterable<ReadItem>): Promise<number[]> {
  const seqs: number[] = [];
  for await (const item of items) seqs.push(mustBeOk(item).event.seq);
  return seqs;
}

describe("reading a range", () => {
  test("finds every record by bisection, whatever the sizes of the lines", async (t) => {
    const folder = memoryFolder(t);
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.oneof({ weight: 9, arbitrary: fc.nat(300) }, { weight: 1, arbitrary: fc.nat(60_000) }), {
          maxLength: 60,
        }),
        async (sizes) => {
          const taskId = newTaskId();
          const { path, log } = newLog(folder, { taskId });
          mustBeOk(log.append(sizes.map((size) => note("z".repeat(size)))));
          log.closeNow();
          const bytes = readFileSync(path);
          unlinkSync(path);
          const fs = {
            ...nodeLogFs,
            read: (_fd: number, into: Uint8Array, offset: number, length: number, position: number) =>
              bytes.copy(into, offset, position, position + length),
          };
          let start = 0;
          for (let seq = 1; seq <= sizes.length + 1; seq += 1) {
            assert.equal(mustBeOk(offsetOfSeq(fs, 0, bytes.length, seq)).offset, start);
            start = bytes.indexOf(10, start) + 1;
          }
        },
      ),
      { numRuns: 60 },
    );
  });

  test("gives the same records with and without the check of what is before them", async (t) => {
    const { path, taskId, log } = logOf(
      t,
      Array.from({ length: 200 }, (_, i) => i * 20),
    );
    log.closeNow();
    const all = Array.from({ length: 200 }, (_, i) => i + 1);
    for (const [from, to] of [
      [1, 200],
      [57, 60],
      [200, 200],
      [201, 300],
      [10, 9],
    ] as const) {
      const expected = all.filter((seq) => seq >= from && seq <= to);
      assert.deepEqual(await seqsOf(readEvents(path, taskId, { from, to })), expected);
      assert.deepEqual(await seqsOf(readEvents(path, taskId, { from, to, check: "from" })), expected);
    }
    assert.equal(mustBeOk(tailOfLog(path, taskId)).tail.last?.seq, 200);
  });

  test("of a line as long as the largest gives it whole", async (t) => {
    const { path, taskId, log } = logOf(t, [10, 4_000_000, 10]);
    log.closeNow();
    assert.deepEqual(await seqsOf(readEvents(path, taskId)), [1, 2, 3]);
    assert.equal(mustBeOk(tailOfLog(path, taskId)).tail.last?.seq, 3);
  });

  test("of a log that is not there says so", async (t) => {
    const items: ReadItem[] = [];
    for await (const item of readEvents(`${tempFolder(t)}/none`, newTaskId())) items.push(item);
    assert.deepEqual(
      items.map((item) => (item.ok ? "event" : item.reason)),
      ["missing"],
    );
  });
});

describe("a line that changes between two reads", () => {
  const place = { at: "2026-01-02T03:04:05.000Z", mono: 1, seq: 0, prev: FIRST_PREV };

  /** A file whose content is another one at each read. */
  async function readThrough(taskId: string, contents: readonly string[]): Promise<(number | string)[]> {
    let reads = 0;
    const read = async (into: Buffer, offset: number, length: number, position: number) => {
      const content = Buffer.from(contents[Math.min(reads, contents.length - 1)] ?? "");
      reads += 1;
      return {
        bytesRead: content.copy(into, offset, position, Math.min(position + length, content.length)),
        buffer: into,
      };
    };
    const seen: (number | string)[] = [];
    for await (const batch of checkedBatches({ read } as unknown as FileHandle, chainFrom(taskId, 0))) {
      seen.push(...(batch.ok ? batch.events.map((event) => event.seq) : [batch.reason]));
    }
    return seen;
  }

  test("because half a record was cut off and another one written is read anew, not called damage", async () => {
    const taskId = newTaskId();
    const { lines } = mustBeOk(encodeLines([note("one"), note("two"), note("three")], { taskId, ...place }));
    const [one = "", two = "", three = ""] = lines.map((line) => `${line.text}\n`);
    const half = `${one}${JSON.stringify({ v: 1, seq: 2, taskId, half: "x".repeat(20) }).slice(0, -9)}`;
    assert.deepEqual(await readThrough(taskId, [half, `${one}${two}${three}`]), [1, 2, 3]);
  });

  test("but stays what it is the second time is damage", async () => {
    const taskId = newTaskId();
    const { lines } = mustBeOk(encodeLines([note("one")], { taskId, ...place }));
    assert.deepEqual(await readThrough(taskId, [`${lines[0]?.text}\n{}\n`]), [1, "log-damaged"]);
  });
});

describe("following a log", () => {
  test("gives what is there, then what is appended, never half a record, and ends with the signal", async (t) => {
    const { path, taskId, log } = logOf(t, [1, 2, 3]);
    const abort = new AbortController();
    const seen: number[] = [];
    for await (const item of followEvents(path, taskId, { from: 2, signal: abort.signal, everyMs: 1 })) {
      const { seq } = mustBeOk(item).event;
      seen.push(seq);
      if (seq === 3) {
        // Half a record that its writer takes back, and then another one in its place.
        const { size } = log;
        appendFileSync(path, '{"v":1,"seq":4,"taskId":"half');
        setTimeout(() => {
          truncateSync(path, size);
          mustBeOk(log.append([note("four"), note("five")]));
        }, 20);
      }
      if (seq === 5) abort.abort();
    }
    assert.deepEqual(seen, [2, 3, 4, 5]);
    log.closeNow();
  });

  test("ends when the log is removed", async (t) => {
    const { path, taskId, log } = logOf(t, [1]);
    const seen: number[] = [];
    for await (const item of followEvents(path, taskId, { signal: new AbortController().signal, everyMs: 1 })) {
      seen.push(mustBeOk(item).event.seq);
      unlinkSync(path);
    }
    assert.deepEqual(seen, [1]);
    log.closeNow();
  });

  test("stops at damage with the reason", async (t) => {
    const { path, taskId, log } = logOf(t, [1, 2]);
    log.closeNow();
    const items: ReadItem[] = [];
    for await (const item of followEvents(path, taskId, { signal: new AbortController().signal, everyMs: 1 })) {
      items.push(item);
      if (items.length === 2) appendFileSync(path, "{}\n");
    }
    assert.deepEqual(
      items.map((item) => (item.ok ? item.event.seq : item.reason)),
      [1, 2, "log-damaged"],
    );
  });
});

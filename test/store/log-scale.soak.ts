/** The event log at size: what opening, verifying and appending cost, in numbers and as bounds. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { generateLog, MIB, readBare, timeOf } from "../../scripts/bench/log-file.ts";
import { median } from "../../scripts/bench/measure.ts";
import { readEvents, tailOfLog, verifyLog } from "../../src/store/log-reader.ts";
import { mustBeOk, newLog, newTaskId, openLog, tempFolder } from "./temp-store.ts";
import { interleave } from "./two-owners.ts";

describe("a large log", () => {
  test("of 1 GiB opens as fast as one of 1 MiB, shows its end as fast, and finds a record in the middle at once", async (t) => {
    const folder = tempFolder(t);
    const taskId = newTaskId();
    const [small, large] = [join(folder, "small.jsonl"), join(folder, "large.jsonl")];
    generateLog(small, taskId, MIB, 2_000);
    const records = generateLog(large, taskId, 1024 * MIB, 2_000);

    const opening = (path: string) => () => openLog(path, { taskId }).log.closeNow();
    // In turns, so that a busy machine slows both.
    const times = Array.from({ length: 301 }, () => [timeOf(opening(small)), timeOf(opening(large))] as const).slice(
      50,
    );
    const openSmall = median(times.map(([first]) => first));
    const openLarge = median(times.map(([, second]) => second));
    t.diagnostic(`open: 1 MiB ${openSmall.toFixed(3)} ms, 1 GiB ${openLarge.toFixed(3)} ms`);
    assert.ok(openLarge <= 2 * openSmall, `${openLarge} ms against ${openSmall} ms`);
    const tail = median(Array.from({ length: 51 }, () => timeOf(() => mustBeOk(tailOfLog(large, taskId)))));
    t.diagnostic(`tail of 1 GiB: ${tail.toFixed(3)} ms`);

    const started = performance.now();
    const middle = Math.floor(records / 2);
    for await (const item of readEvents(large, taskId, { from: middle, to: middle, check: "from" })) {
      assert.equal(mustBeOk(item).event.seq, middle);
    }
    const seek = performance.now() - started;
    t.diagnostic(`seek into 1 GiB: ${seek.toFixed(1)} ms`);
    assert.ok(seek < 2_000);
  });

  test("is verified in about the time of reading, hashing and parsing it bare, in bounded memory", async (t) => {
    const folder = tempFolder(t);
    const taskId = newTaskId();
    const path = join(folder, "events.jsonl");
    const records = generateLog(path, taskId, 128 * MIB, 300);
    readBare(path);
    const [bareTimes, verifyTimes]: [number[], number[]] = [[], []];
    for (let round = 0; round < 7; round += 1) {
      const started = performance.now();
      const lines = readBare(path);
      const between = performance.now();
      const verified = mustBeOk(await verifyLog(path, taskId));
      verifyTimes.push(performance.now() - between);
      bareTimes.push(between - started);
      assert.deepEqual([verified.records, lines], [records, records]);
    }
    const [least, ours] = [Math.min(...bareTimes), Math.min(...verifyTimes)];
    t.diagnostic(`128 MiB, ${records} records: bare ${Math.round(least)} ms, verified ${Math.round(ours)} ms`);
    // The goal of 1.2 is the benchmark's, on a quiet machine; other proofs run beside this one.
    assert.ok(ours <= 2 * least, `${ours} ms against ${least} ms`);
    assert.ok(process.memoryUsage().rss < 600 * MIB);
  });
});

describe("appending", () => {
  test("costs microseconds written, one flush synced, and little more in a group of a hundred", async (t) => {
    const { log } = newLog(tempFolder(t), { taskId: newTaskId() });
    const verdict = {
      type: "gate.verdict",
      data: { toolUseId: "toolu_01ABCDEFGHIJKLMNOPQRSTUV", toolName: "Bash", verdict: "allow", rule: "bash.read-only" },
    };
    const perRecord = async (rounds: number, work: () => Promise<void> | void, records = 1): Promise<number> => {
      const started = performance.now();
      for (let i = 0; i < rounds; i += 1) await work();
      return ((performance.now() - started) * 1_000) / (rounds * records);
    };
    const write = () => {
      mustBeOk(log.append([verdict]));
    };
    await perRecord(5_000, write);
    const written = await perRecord(20_000, write);
    const synced = await perRecord(500, async () => {
      write();
      mustBeOk(await log.sync());
    });
    const batch = Array.from({ length: 100 }, () => verdict);
    const group = await perRecord(
      200,
      async () => {
        mustBeOk(log.append(batch));
        mustBeOk(await log.sync());
      },
      100,
    );
    const joined = await perRecord(
      200,
      async () => {
        await Promise.all(
          batch.map(async () => {
            write();
            mustBeOk(await log.sync());
          }),
        );
      },
      100,
    );
    t.diagnostic(
      `a record: written ${written.toFixed(1)} us, synced ${synced.toFixed(0)} us, in a synced batch of 100 ${group.toFixed(1)} us, 100 callers joined ${joined.toFixed(1)} us`,
    );
    assert.ok(written < 100 && group < synced && joined < synced);
    mustBeOk(await log.close());
  });
});

describe("many owners", () => {
  test("of one store interleave two hundred times without a repeated number or a double owner", (t: TestContext) =>
    interleave(t, { processes: 3, rounds: 200 }));
});

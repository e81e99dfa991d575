import assert from "node:assert/strict";
import { appendFileSync, mkdtempSync, readFileSync, unlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import fc from "fast-check";
import { manualClock } from "../../src/platform/clock.ts";
import type { LogState } from "../../src/store/event-log.ts";
import { readEvents, verifyLog } from "../../src/store/log-reader.ts";
import { faultyFs } from "./faulty-fs.ts";
import { mustBeOk, newLog, newTaskId, note, tempFolder } from "./temp-store.ts";

async function textsIn(path: string, taskId: string): Promise<string[]> {
  const texts: string[] = [];
  for await (const item of readEvents(path, taskId)) {
    texts.push(String((mustBeOk(item).event.data as { text?: unknown }).text));
  }
  return texts;
}

describe("the event log on a full disk", () => {
  for (const code of ["ENOSPC", "EDQUOT", "EIO", "EROFS"]) {
    test(`${code}: nothing is claimed or torn, kept records go in order when there is space, the others are dropped`, async (t) => {
      const taskId = newTaskId();
      const fs = faultyFs();
      const clock = manualClock();
      const states: LogState[] = [];
      const { path, log } = newLog(tempFolder(t), { taskId, fs, clock, onChange: (state) => states.push(state) });
      mustBeOk(log.append([note("before")]));
      const sound = readFileSync(path);

      fs.fullCode = code;
      fs.space = 100;
      const kept = log.append([note("stop 1"), note("stop 2")], { keep: true });
      assert.ok(!kept.ok);
      assert.deepEqual(
        kept.kept.map((event) => event.seq),
        [2, 3],
      );
      const dropped = log.append([note("chatter")]);
      assert.ok(!dropped.ok && dropped.kept.length === 0);
      assert.equal(log.append([note("stop 3")], { keep: true }).ok, false);
      assert.equal((await log.sync()).ok, false, "a sync must not claim what waits in memory");
      assert.deepEqual(readFileSync(path), sound, "the log ends with its last whole record");
      assert.deepEqual(log.state.mode === "waiting" && log.state.pending, 3);

      fs.space = Number.POSITIVE_INFINITY;
      clock.advance(1_000);
      assert.equal(log.state.mode, "open");
      mustBeOk(log.append([note("after")]));
      mustBeOk(await log.close());
      assert.deepEqual(await textsIn(path, taskId), ["before", "stop 1", "stop 2", "stop 3", "after"]);
      assert.equal(mustBeOk(await verifyLog(path, taskId)).records, 5);
      assert.equal(states.at(-1)?.mode, "closed");
      assert.equal(clock.pending, 0);
    });
  }

  test("whatever the weather, the file is a whole log of exactly what was claimed, in order", async (t) => {
    const folder = tempFolder(t);
    const operation = fc.oneof(
      {
        weight: 6,
        arbitrary: fc.record({
          op: fc.constant("append" as const),
          count: fc.integer({ min: 1, max: 4 }),
          keep: fc.boolean(),
          size: fc.nat(300),
        }),
      },
      {
        weight: 2,
        arbitrary: fc.record({ op: fc.constant("space" as const), left: fc.oneof(fc.nat(900), fc.constant(1e9)) }),
      },
      { weight: 1, arbitrary: fc.record({ op: fc.constant("tick" as const) }) },
      { weight: 1, arbitrary: fc.record({ op: fc.constant("sync" as const) }) },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(operation, { maxLength: 40 }), async (operations) => {
        const taskId = newTaskId();
        const fs = faultyFs();
        const clock = manualClock();
        const { path, log } = newLog(mkdtempSync(join(folder, "run-")), { taskId, fs, clock });
        const claimed: string[] = [];
        const waiting: string[] = [];
        let n = 0;
        for (const step of operations) {
          if (step.op === "space") fs.space = step.left;
          else if (step.op === "tick") clock.advance(1_000);
          else if (step.op === "sync") await log.sync();
          else {
            const texts = Array.from({ length: step.count }, () => `${++n}-${"y".repeat(step.size)}`);
            const outcome = log.append(texts.map(note), { keep: step.keep });
            if (outcome.ok) claimed.push(...waiting.splice(0), ...texts);
            else if (step.keep) waiting.push(...texts);
          }
          // A little space takes the first of what waits; it is on disk by then, and nothing else is.
          claimed.push(...waiting.splice(0, log.seq - claimed.length));
          assert.equal(log.state.mode === "waiting" ? log.state.pending : 0, waiting.length);
          assert.equal(log.seq, mustBeOk(await verifyLog(path, taskId)).records);
          assert.deepEqual(await textsIn(path, taskId), claimed);
        }
        fs.space = Number.POSITIVE_INFINITY;
        mustBeOk(await log.close());
        assert.deepEqual(await textsIn(path, taskId), [...claimed, ...waiting]);
        unlinkSync(path);
      }),
      { numRuns: 60 },
    );
  });

  test("kept records are synced soon after they were written, without anybody asking", async (t) => {
    const fs = faultyFs();
    const clock = manualClock();
    const { log } = newLog(tempFolder(t), { taskId: newTaskId(), fs, clock });
    fs.space = 0;
    log.append([note("stop")], { keep: true });
    fs.space = 1e9;
    clock.advance(1_000);
    assert.deepEqual([log.state.mode, fs.syncs], ["open", 0]);
    clock.advance(50);
    mustBeOk(await log.sync());
    assert.equal(fs.syncs, 1);
    mustBeOk(await log.close());
  });

  test("what waits in memory is bounded", (t) => {
    const taskId = newTaskId();
    const fs = faultyFs();
    const { log } = newLog(tempFolder(t), { taskId, fs, clock: manualClock() });
    fs.space = 0;
    let kept = 0;
    for (let i = 0; i < 1_100; i += 1) {
      const outcome = log.append([note(`${i}`)], { keep: true });
      if (!outcome.ok) kept += outcome.kept.length;
    }
    assert.equal(kept, 1_000);
    log.closeNow();
  });

  test("a partial record that cannot be taken back makes the log read-only at once", (t) => {
    const taskId = newTaskId();
    const fs = faultyFs();
    const { log } = newLog(tempFolder(t), { taskId, fs });
    fs.space = 50;
    fs.failTruncate = true;
    const outcome = log.append([note("x")], { keep: true });
    assert.equal(outcome.ok ? "" : outcome.reason, "log-torn");
    fs.space = 1e9;
    const next = log.append([note("y")]);
    assert.equal(next.ok ? "" : next.reason, "log-torn");
    assert.equal(log.state.mode, "read-only");
    log.closeNow();
  });
});

describe("syncing", () => {
  test("a hundred callers share two flushes", async (t) => {
    const fs = faultyFs();
    const { log } = newLog(tempFolder(t), { taskId: newTaskId(), fs });
    const all = Array.from({ length: 100 }, async (_, i) => {
      if (i > 0) await Promise.resolve();
      mustBeOk(log.append([note(`${i}`)]));
      mustBeOk(await log.sync());
    });
    await Promise.all(all);
    assert.ok(fs.syncs <= 2, `${fs.syncs} flushes`);
    mustBeOk(await log.sync());
    assert.ok(fs.syncs <= 2, "nothing new, nothing flushed");
    mustBeOk(await log.close());
  });

  test("a record written while a flush runs is not covered by it", async (t) => {
    const fs = faultyFs();
    const { log } = newLog(tempFolder(t), { taskId: newTaskId(), fs });
    let letGo = (): void => undefined;
    fs.hold = new Promise((done) => {
      letGo = done;
    });
    mustBeOk(log.append([note("first")]));
    const first = log.sync();
    await Promise.resolve();
    await Promise.resolve();
    assert.equal(fs.syncs, 1);
    mustBeOk(log.append([note("second")]));
    let done = false;
    const second = log.sync().then((outcome) => {
      done = true;
      return outcome;
    });
    fs.hold = undefined;
    letGo();
    mustBeOk(await first);
    assert.equal(done, false);
    mustBeOk(await second);
    assert.equal(fs.syncs, 2);
    mustBeOk(await log.close());
  });

  test("a lazily synced record is flushed at most 50 ms later, and not at all when a sync came before", async (t) => {
    const fs = faultyFs();
    const clock = manualClock();
    const { log } = newLog(tempFolder(t), { taskId: newTaskId(), fs, clock });
    mustBeOk(log.appendSoon([note("verdict")]));
    mustBeOk(log.appendSoon([note("verdict")]));
    clock.advance(49);
    assert.equal(fs.syncs, 0);
    clock.advance(1);
    mustBeOk(await log.sync());
    assert.equal(fs.syncs, 1);
    mustBeOk(log.appendSoon([note("verdict")]));
    mustBeOk(await log.sync());
    clock.advance(100);
    mustBeOk(await log.sync());
    assert.equal(fs.syncs, 2);
    mustBeOk(await log.close());
  });

  test("a failed flush ends the log for this process: the kernel may have dropped what it could not write", async (t) => {
    const fs = faultyFs();
    const { log } = newLog(tempFolder(t), { taskId: newTaskId(), fs });
    mustBeOk(log.append([note("x")]));
    fs.failSync = "EIO";
    const outcomes = await Promise.all([log.sync(), log.sync()]);
    assert.deepEqual(
      outcomes.map((one) => (one.ok ? "ok" : one.reason)),
      ["log-sync-failed", "log-sync-failed"],
    );
    fs.failSync = undefined;
    assert.equal((await log.sync()).ok, false);
    assert.equal(log.append([note("y")]).ok, false);
    log.closeNow();
  });

  test("closing waits for a running flush", async (t) => {
    const fs = faultyFs();
    let closed = false;
    const close = fs.close;
    fs.close = (fd) => {
      closed = true;
      close(fd);
    };
    const { log } = newLog(tempFolder(t), { taskId: newTaskId(), fs });
    let letGo = (): void => undefined;
    fs.hold = new Promise((done) => {
      letGo = done;
    });
    mustBeOk(log.append([note("x")]));
    const flush = log.sync();
    await Promise.resolve();
    log.closeNow();
    assert.equal(closed, false);
    letGo();
    mustBeOk(await flush);
    mustBeOk(await log.close());
    await new Promise((done) => setImmediate(done));
    assert.equal(closed, true);
  });
});

describe("a log that someone else touches", () => {
  test("is not written any more once foreign bytes are in it", (t) => {
    const { path, log } = newLog(tempFolder(t), { taskId: newTaskId() });
    mustBeOk(log.append([note("x")]));
    appendFileSync(path, "foreign\n");
    const before = readFileSync(path);
    const outcome = log.append([note("y")], { keep: true });
    assert.equal(outcome.ok ? "" : outcome.reason, "log-foreign-write");
    assert.deepEqual(readFileSync(path), before);
    log.closeNow();
  });

  test("is not written any more once its name is gone", (t) => {
    const { path, log } = newLog(tempFolder(t), { taskId: newTaskId() });
    unlinkSync(path);
    const outcome = log.append([note("y")]);
    assert.equal(outcome.ok ? "" : outcome.reason, "log-foreign-write");
    log.closeNow();
  });
});

describe("a record that cannot be stored", () => {
  test("is refused without a trace: not JSON, or too large", async (t) => {
    const taskId = newTaskId();
    const { path, log } = newLog(tempFolder(t), { taskId });
    const cycle: { self?: object } = {};
    cycle.self = cycle;
    const refused = [
      log.append([note("good"), { type: "bad", data: cycle }]),
      log.append([{ type: "bad", data: { n: 1n } }]),
      log.append([note("\u20ac".repeat(1_500_000))]),
    ];
    assert.deepEqual(
      refused.map((one) => (one.ok ? "ok" : one.reason)),
      ["record-invalid", "record-invalid", "record-too-large"],
    );
    mustBeOk(log.append([note("\u20ac".repeat(1_300_000))]));
    mustBeOk(await log.close());
    assert.equal(mustBeOk(await verifyLog(path, taskId)).records, 1);
  });
});

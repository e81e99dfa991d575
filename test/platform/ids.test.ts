import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { manualClock } from "../../src/platform/clock.ts";
import { createIds, isTaskId, timeOfTaskId } from "../../src/platform/ids.ts";

describe("ids", () => {
  test("task ids sort by creation, also within one millisecond and when the wall clock goes back", () => {
    const clock = manualClock();
    const ids = createIds({ clock });
    const made = Array.from({ length: 500 }, (_, i) => {
      if (i % 50 === 0) clock.advance(3);
      if (i === 250) clock.setWall(new Date(clock.now().getTime() - 60_000));
      return ids.taskId();
    });
    assert.deepEqual([...made].sort(), made);
    assert.equal(new Set(made).size, made.length);
  });

  test("task ids carry their moment and are bare words for shells and file systems", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 32 ** 9 - 1 }), (ms) => {
        const id = createIds({ clock: { now: () => new Date(ms) } }).taskId();
        assert.match(id, /^t-[a-z0-9]{13}$/);
        assert.ok(isTaskId(id));
        assert.equal(timeOfTaskId(id), Math.max(ms, 1));
      }),
      { numRuns: 500 },
    );
  });

  test("two sources at the same moment do not meet", () => {
    const clock = manualClock();
    const made = Array.from({ length: 50 }, () => createIds({ clock }).taskId());
    assert.equal(new Set(made).size, made.length);
  });

  test("anything else is no task id", () => {
    for (const text of [
      "",
      "t-",
      "..",
      "t-../../../etc/p",
      "t-0123456789abC",
      "t-0123456789abcd",
      "-t0123456789abc",
      "t-0123456789ab\n",
    ]) {
      assert.equal(isTaskId(text), false, JSON.stringify(text));
    }
  });

  test("request and worker ids have their own shape", () => {
    const ids = createIds();
    assert.match(ids.requestId(), /^r-[0-9a-hjkmnp-tv-z]{8}$/);
    assert.match(ids.workerId(), /^w-[0-9a-hjkmnp-tv-z]{8}$/);
    assert.match(ids.uuid(), /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  });
});

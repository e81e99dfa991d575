import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { manualClock, systemClock } from "../../src/platform/clock.ts";

describe("the manual clock", () => {
  test("fires timers in the order of their due times, those set meanwhile too, and never early", () => {
    const clock = manualClock(new Date(0));
    const seen: string[] = [];
    clock.setTimer(20, () => seen.push(`b@${clock.mono()}`));
    clock.setTimer(10, () => {
      seen.push(`a@${clock.mono()}`);
      clock.setTimer(5, () => seen.push(`c@${clock.now().getTime()}`));
    });
    const cancel = clock.setTimer(15, () => seen.push("cancelled"));
    cancel();
    cancel();
    clock.advance(9);
    assert.deepEqual(seen, []);
    clock.advance(11);
    assert.deepEqual(seen, ["a@10", "c@15", "b@20"]);
    assert.equal(clock.pending, 0);
  });

  test("a jump of the wall clock fires nothing and moves no monotonic time", () => {
    const clock = manualClock();
    clock.setTimer(1, () => assert.fail("fired"));
    clock.setWall(new Date("2030-01-01T00:00:00Z"));
    assert.equal(clock.mono(), 0);
    assert.equal(clock.now().toISOString(), "2030-01-01T00:00:00.000Z");
  });
});

describe("the system clock", () => {
  test("a timer longer than Node's limit does not fire at once", async () => {
    let early = false;
    const cancel = systemClock.setTimer(2 ** 31 + 1_000, () => {
      early = true;
    });
    await new Promise<void>((done) => systemClock.setTimer(20, done));
    cancel();
    assert.equal(early, false);
  });

  test("mono never goes back", () => {
    let last = systemClock.mono();
    for (let i = 0; i < 1_000; i += 1) {
      const now = systemClock.mono();
      assert.ok(now >= last);
      last = now;
    }
  });
});

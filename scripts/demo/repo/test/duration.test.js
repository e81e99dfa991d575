import assert from "node:assert/strict";
import { test } from "node:test";
import { parseDuration } from "../src/duration.js";

test("one part", () => {
  assert.equal(parseDuration("90s"), 90_000);
});

test("several parts add up", () => {
  assert.equal(parseDuration("1h 30m"), 5_400_000);
});

test("what is no duration is refused", () => {
  assert.throws(() => parseDuration("1h and a bit"), RangeError);
});

/** Asks per hundred calls. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { asksPer100Calls } from "../../src/core/economy.ts";

test("asks are counted over all calls, denied ones included; no call is no number", () => {
  const of = (allow: number, review: number, person: number, deny: number) =>
    asksPer100Calls({ allow, review, person, deny });
  assert.equal(of(0, 0, 0, 0), null);
  assert.equal(of(10, 0, 0, 0), 0);
  assert.equal(of(194, 3, 2, 1), 2.5);
  assert.equal(of(0, 1, 1, 1), 66.7);
});

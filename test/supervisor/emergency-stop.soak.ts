/** A thousand stops, each into another moment of a task: 200 rounds of five tasks. SOAK_ROUNDS and SOAK_SEED change that. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { KINDS, race } from "./stop-races.ts";

test("49: a stop against completion, message, approval, verification and takeover wins a thousand times", async (t) => {
  const rounds = Number(process.env["SOAK_ROUNDS"] ?? 200);
  const seed = Number(process.env["SOAK_SEED"] ?? Date.now() % 2 ** 31);
  const tally = await race(t, { rounds, seed });
  assert.equal(tally.stopped + tally.completed, rounds * KINDS.length);
  assert.ok(tally.stopped > tally.completed, "most stops came into something");
});

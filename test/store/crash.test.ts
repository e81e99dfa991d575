import { describe, test } from "node:test";
import fc from "fast-check";
import { allPoints, crashAt } from "./crash-points.ts";

describe("a process killed in the middle of its work on the store", () => {
  test("leaves whole tasks and every record that was claimed, at a sample of points", async (t) => {
    const points = await allPoints(t);
    const seed = Date.now();
    t.diagnostic(`8 of ${points.length} points, seed ${seed}`);
    for (const [point, moment] of fc.sample(fc.constantFrom(...points), { numRuns: 8, seed })) {
      await crashAt(t, point, moment);
    }
  });
});

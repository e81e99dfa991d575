import { describe, test } from "node:test";
import { allPoints, crashAt } from "./crash-points.ts";

describe("a process killed in the middle of its work on the store", () => {
  test("leaves whole tasks and every record that was claimed, at every point", async (t) => {
    const points = await allPoints(t);
    t.diagnostic(`${points.length} points`);
    for (const [point, moment] of points) await crashAt(t, point, moment);
  });
});

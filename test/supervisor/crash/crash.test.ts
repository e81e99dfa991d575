import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { createLab } from "../../support/workspace.ts";
import type { Point } from "./points.ts";
import { allPoints, type Journey, playAll } from "./run.ts";
import { TEMPLATE } from "./stage.ts";

describe("a Pi killed at a sample of points of a task's life", () => {
  test("loses nothing and repeats nothing: the next one brings the task to the same end", async (t) => {
    const lab = await createLab(t);
    const template = await lab.repo(TEMPLATE);
    const points = await allPoints(lab, template, "claude-jsonl");
    const pipe = await allPoints(lab, template, "process-pipe");
    const seed = Number(process.env["CRASH_SEED"] ?? Date.now());
    const some = (from: readonly Point[], numRuns: number): Point[] =>
      fc.sample(fc.constantFrom(...from), { numRuns, seed });
    const journeys: Journey[] = [
      ...some(points, 8).map((point) => ({ points: [point] })),
      ...some(pipe, 3).map((point) => ({ points: [point], transport: "process-pipe" as const })),
      { points: some(points, 2) },
    ];
    t.diagnostic(`${journeys.length} of ${points.length + pipe.length} points, seed ${seed}`);
    const played = await playAll(t, journeys, 2);
    assert.ok(played.some((one) => one.killed > 0));
  });
});

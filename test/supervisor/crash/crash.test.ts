import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { createLab } from "../../support/workspace.ts";
import type { Point } from "./points.ts";
import { allPoints, type Journey, KINDS_OF_LIFE, playAll } from "./run.ts";
import { TEMPLATE } from "./stage.ts";

describe("a Pi killed at a sample of points of a task's life", () => {
  test("loses nothing and repeats nothing: the next one brings the task to the same end", async (t) => {
    const lab = await createLab(t);
    const template = await lab.repo(TEMPLATE);
    const { whole, pipe, stopped, taken } = KINDS_OF_LIFE;
    const points = await allPoints(lab, template, whole);
    const ofPipe = await allPoints(lab, template, pipe);
    const seed = Number(process.env["CRASH_SEED"] ?? Date.now());
    const some = (from: readonly Point[], numRuns: number): Point[] =>
      fc.sample(fc.constantFrom(...from), { numRuns, seed });
    /* The records of a stop, beginning with the request for it. */
    const inStop = [13, 14, 15].flatMap((number) => [
      { kind: "log", number, moment: "half" } as const,
      { kind: "log", number, moment: "after" } as const,
    ]);
    /* From the request for a takeover to the first word after the handback. */
    const whileTaken = Array.from(
      { length: 14 },
      (_, at): Point => ({ kind: "log", number: 13 + at, moment: "after" }),
    );
    const journeys: Journey[] = [
      ...some(points, 4).map((point) => ({ points: [point], kind: whole })),
      ...some(ofPipe, 1).map((point) => ({ points: [point], kind: pipe })),
      ...some(inStop, 1).map((point) => ({ points: [point], kind: stopped })),
      ...some(whileTaken, 2).map((point) => ({ points: [point], kind: taken })),
      { points: some(points, 2), kind: whole },
    ];
    t.diagnostic(`${journeys.length} points, seed ${seed}`);
    const played = await playAll(t, journeys, 2);
    assert.ok(played.some((one) => one.killed > 0));
  });
});

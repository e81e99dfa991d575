import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { createLab } from "../../support/workspace.ts";
import type { Point } from "./points.ts";
import { allPoints, type Journey, playAll } from "./run.ts";
import { TEMPLATE } from "./stage.ts";

describe("a Pi killed at any point of a task's life", () => {
  test("loses nothing and repeats nothing: the next one brings the task to the same end", async (t) => {
    const lab = await createLab(t);
    const template = await lab.repo(TEMPLATE);
    const points = await allPoints(lab, template, "claude-jsonl");
    const pipe = await allPoints(lab, template, "process-pipe");
    const seed = Number(process.env["CRASH_SEED"] ?? Date.now());
    const twice = fc.sample(fc.tuple(fc.constantFrom(...points), fc.constantFrom(...points)), { numRuns: 40, seed });
    const journeys: Journey[] = [
      ...points.map((point) => ({ points: [point] })),
      ...pipe.map((point) => ({ points: [point], transport: "process-pipe" as const })),
      ...twice.map((pair: Point[]) => ({ points: pair })),
    ];
    assert.ok(journeys.length >= 300, `${journeys.length} points`);
    t.diagnostic(`${points.length} points, ${pipe.length} by process-pipe, ${twice.length} pairs, seed ${seed}`);
    const played = await playAll(t, journeys, 3);
    const killed = played.filter((one) => one.killed > 0).length;
    assert.ok(killed > journeys.length * 0.95, `only ${killed} of ${journeys.length} were killed`);
  });
});

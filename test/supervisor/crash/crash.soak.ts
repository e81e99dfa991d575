import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { createLab } from "../../support/workspace.ts";
import type { Point } from "./points.ts";
import { allPoints, type Journey, KINDS_OF_LIFE, playAll } from "./run.ts";
import { TEMPLATE } from "./stage.ts";

describe("a Pi killed at any point of a task's life", () => {
  test("loses nothing and repeats nothing: the next one brings the task to the same end", async (t) => {
    const lab = await createLab(t);
    const template = await lab.repo(TEMPLATE);
    const { whole, pipe, stopped, taken } = KINDS_OF_LIFE;
    const points = await allPoints(lab, template, whole);
    const ofPipe = await allPoints(lab, template, pipe);
    /* Up to its stop, that life is the other one. */
    const ofStop = (await allPoints(lab, template, stopped)).filter(
      ({ kind, number }) => kind === "end" || (kind === "log" && number > 12),
    );
    const ofTakeover = (await allPoints(lab, template, taken)).filter(
      ({ kind, number }) => kind === "end" || (kind === "log" && number > 12 && number < 32),
    );
    const seed = Number(process.env["CRASH_SEED"] ?? Date.now());
    const twice = fc.sample(fc.tuple(fc.constantFrom(...points), fc.constantFrom(...points)), { numRuns: 15, seed });
    const journeys: Journey[] = [
      ...points.map((point) => ({ points: [point], kind: whole })),
      ...ofPipe.map((point) => ({ points: [point], kind: pipe })),
      ...ofStop.map((point) => ({ points: [point], kind: stopped })),
      ...ofTakeover.map((point) => ({ points: [point], kind: taken })),
      ...twice.map((pair: Point[]) => ({ points: pair, kind: whole })),
    ];
    assert.ok(journeys.length >= 300, `${journeys.length} points`);
    const parts = [points, ofPipe, ofStop, ofTakeover, twice].map((part) => part.length);
    t.diagnostic(`whole, by process-pipe, in a stop, in a takeover, in pairs: ${parts.join(", ")}; seed ${seed}`);
    const played = await playAll(t, journeys, 3);
    const killed = played.filter((one) => one.killed > 0).length;
    assert.ok(killed > journeys.length * 0.9, `only ${killed} of ${journeys.length} were killed`);
  });
});

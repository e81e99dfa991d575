/** The page of the benchmarks says of each number what it is, whatever it is. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Section, Target } from "../../scripts/bench/measure.ts";
import { linesOf, pageOf, type Results } from "../../scripts/bench/page.ts";

const WHY = "It is made of three parts.";
const target = (change: Partial<Target>): Target => ({
  what: "a thing",
  value: 1,
  limit: 2,
  kind: "at most",
  unit: "ms",
  why: WHY,
  ...change,
});

function results(targets: Target[], change: Partial<Results> = {}, rows: Section["rows"] = []): Results {
  const machine = { cpu: "a", cores: 2, memoryGiB: 4, kernel: "linux 6", node: "v20", loadBefore: 0.1, commit: "c" };
  const sections = [{ title: "Things", method: "So.", rows, targets }];
  const shared = { date: "2030-01-02", command: "npm run bench", rounds: 5, quick: false, seconds: 200, failed: [] };
  return { machine, ...shared, sections, ...change };
}

/** [what, target, what stands in its row, whether a reason is given]. */
const VERDICTS: readonly (readonly [string, Partial<Target>, RegExp, boolean])[] = [
  ["met", {}, /\| met \|$/m, false],
  ["met exactly", { value: 2 }, /\| met \|$/m, false],
  ["missed, at most", { value: 3 }, /\*\*missed by 50 %\*\*/, true],
  ["missed by far", { value: 9 }, /\*\*missed: 4\.50 times the limit\*\*/, true],
  ["missed by a hair", { value: 2.001 }, /\*\*missed by less than 1 %\*\*/, true],
  ["missed, at least", { value: 0.35, limit: 0.7, kind: "at least" }, /\*\*missed by 50 %\*\*/, true],
  ["met, at least", { value: 0.7, limit: 0.7, kind: "at least" }, /\| met \|$/m, false],
  ["a number that is none", { value: Number.NaN }, /\*\*not measured\*\*/, true],
  ["its rounds", { value: 1, rounds: [0.5, 1, 1.5] }, /\| 0\.50 to 1\.50 \|/, false],
];

describe("the page of the benchmarks", () => {
  for (const [what, change, row, missed] of VERDICTS) {
    test(`has for ${what} the row and ${missed ? "the reason" : "no reason"}`, () => {
      const page = pageOf(results([target(change)]));
      assert.match(page, row);
      assert.equal(page.includes(WHY), missed);
      assert.equal(page.includes("### Why a target is missed"), missed);
      assert.doesNotMatch(page, /NaN|undefined|Infinity/);
      assert.match(page, missed ? /0 of 1 met\./ : /All 1 met\./);
    });
  }

  test("says in how many rounds a missed target was met", () => {
    const page = pageOf(results([target({ value: 3, rounds: [1, 3, 4] })]));
    assert.match(page, /In 1 of 3 rounds it was met\./);
  });

  test("warns of a busy machine, a quick run, few rounds and a measurement that failed, and of nothing else", () => {
    const quiet = pageOf(results([target({})]));
    assert.doesNotMatch(quiet, /\*\*/);
    const busy = { ...results([]).machine, loadBefore: 5 };
    const page = pageOf(results([], { machine: busy, rounds: 2, failed: ["stop"] }));
    for (const said of [
      /busy with other work/,
      /Fewer than five rounds/,
      /"stop" ended with an error/,
      /None was measured/,
    ])
      assert.match(page, said);
    assert.match(pageOf(results([], { quick: true })), /A quick run/);
  });

  test("shows numbers of every size with about three digits, and a measurement without rows without a table", () => {
    const rows = [12_345.6, 99.94, 1.234, 0.01234, 0, -3].map((value) => ({ what: `is ${value}`, value, unit: "ms" }));
    const page = pageOf(
      results([], {}, [...rows, { what: "r", value: 1, unit: "ms", ratio: { to: "raw", value: 0.004 } }]),
    );
    for (const said of [
      "| 12,346 ms |",
      "| 99.9 ms |",
      "| 1.23 ms |",
      "| 0.012 ms |",
      "| 0.00 ms |",
      "| -3.00 ms |",
      "0.0040 × raw",
    ])
      assert.ok(page.includes(said), said);
    assert.doesNotMatch(pageOf(results([])), /\| Median \|/);
  });

  test("and the terminal say the same of a target", () => {
    const [section] = results([target({ value: 3 }), target({})]).sections;
    assert.ok(section);
    const lines = linesOf(section).join("\n");
    assert.match(lines, /MISSED a thing: 3\.00 ms \(at most 2\.00\)/);
    assert.match(lines, /met {4}a thing: 1\.00 ms/);
  });
});

/**
 * The fault table of the emergency stop: every number stands at the beginning of at least one test's name, in the rooms
 * that the stop is made of. The table is printed, so that a gap is seen.
 */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";

const TESTS = fileURLToPath(new URL(".", import.meta.url));
const titles = JSON.parse(readFileSync(join(TESTS, "data", "stop-faults.json"), "utf8")) as Record<string, string>;

const ROOMS = ["control", "cli", "supervisor", "e2e"];
/** Of the rooms that have other subjects too, only these files speak of the stop's table. */
const OF_THE_STOP = /^(?:control|cli)\/|\/emergency-stop[\w-]*\.(?:test|soak)\.ts$/;

/** A name as the source says it: the first string of a `test(…)` or `describe(…)`, or the name of a table's row. */
const NAMED = /(?:^\s*(?:test|describe)\(\s*|\bname: )(?:"([^"\n]*)"|'([^'\n]*)'|`([^`]*)`)/gm;

/** The numbers that a source's names begin with: `"12: …"`, `"45, 46: …"`. */
function numbersOf(source: string): Set<string> {
  const names = [...source.matchAll(NAMED)].map((match) => match[1] ?? match[2] ?? match[3] ?? "");
  return new Set(names.flatMap((name) => /^(\d+(?:, \d+)*): /.exec(name)?.[1]?.split(", ") ?? []));
}

const proofs = new Map<string, string[]>(Object.keys(titles).map((number) => [number, []]));
const strangers: string[] = [];
for (const room of ROOMS) {
  for (const name of readdirSync(join(TESTS, room)).filter((one) => /\.(?:test|soak)\.ts$/.test(one))) {
    const file = `${room}/${name}`;
    if (!OF_THE_STOP.test(file)) continue;
    for (const number of numbersOf(readFileSync(join(TESTS, file), "utf8"))) {
      const found = proofs.get(number);
      if (found) found.push(file);
      else strangers.push(`${number} in ${file}`);
    }
  }
}

describe("the fault table of the emergency stop", () => {
  test("is whole: fifty numbers, each with a title", () => {
    assert.equal(Object.keys(titles).length, 50);
    for (const title of Object.values(titles)) assert.match(title, /\S/);
  });

  for (const [number, title] of Object.entries(titles)) {
    test(`number ${number} (${title}) has a test by its name`, (t) => {
      const files = proofs.get(number) ?? [];
      t.diagnostic(`${number.padEnd(3)} ${files.join("  ")}`);
      assert.notDeepEqual(files, [], `No test's name begins with "${number}: " (${title}).`);
    });
  }

  test("has no number in a test's name that it does not hold", () => {
    assert.deepEqual(strangers, []);
  });

  test("is read from names alone: a comment or a text of a test is no proof", () => {
    assert.deepEqual(
      [...numbersOf('// test("1: x")\n  test("22, 52: y", () => "3: z");\n  it("5: w");')],
      ["22", "52"],
    );
    assert.deepEqual([...numbersOf('describe("49: a", () => {});\n  { name: "5: b", plant },')], ["49", "5"]);
  });
});

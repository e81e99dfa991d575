/**
 * The failure list of other people's supervisors (groups A to E and G: framing, start-up, gate, turns, lifecycle, secrets and injection), and who proves
 * each of them here: every id stands in the name of at least one test. The table is printed, so that a gap is seen.
 */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";

const TESTS = fileURLToPath(new URL(".", import.meta.url));
const titles = JSON.parse(readFileSync(join(TESTS, "data", "failures.json"), "utf8")) as Record<string, string>;

/** Ids that no test can carry, each with the reason why it can't. */
const NO_TEST: Readonly<Record<string, string>> = {};

/** A test's name as its source says it: the first string of a `test(…)`. */
const NAMED = /^\s*test\(\s*(?:"([^"\n]*)"|'([^'\n]*)'|`([^`]*)`)/gm;
const ID = /\b[A-EG]\d{1,2}\b/g;

function testFiles(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return testFiles(path);
    return /\.(test|soak)\.ts$/.test(entry.name) ? [path] : [];
  });
}

/** The ids in the names of a source's tests. */
function idsOf(source: string): Set<string> {
  const names = [...source.matchAll(NAMED)].map((match) => match[1] ?? match[2] ?? match[3] ?? "");
  return new Set(names.flatMap((name) => name.match(ID) ?? []));
}

const proofs = new Map<string, string[]>(Object.keys(titles).map((id) => [id, []]));
const strangers: string[] = [];
for (const path of testFiles(TESTS)) {
  const file = relative(TESTS, path).split(sep).join("/");
  for (const id of idsOf(readFileSync(path, "utf8"))) {
    const found = proofs.get(id);
    if (found) found.push(file);
    else strangers.push(`${id} in ${file}`);
  }
}

describe("the failure list", () => {
  test("is whole: gaps in its numbers are known, each id has a title", () => {
    const count = (group: string) => Object.keys(titles).filter((id) => id.startsWith(group)).length;
    assert.deepEqual(["A", "B", "C", "D", "E", "G"].map(count), [11, 8, 12, 10, 12, 8]);
    for (const title of Object.values(titles)) assert.match(title, /\S/);
  });

  for (const [id, title] of Object.entries(titles)) {
    test(`case ${id.toLowerCase()} (${title}) has a test by its name`, (t) => {
      const files = proofs.get(id) ?? [];
      const excuse = NO_TEST[id];
      t.diagnostic(`${id.padEnd(4)} ${files.join("  ") || `no test: ${excuse}`}`);
      if (excuse === undefined) assert.notDeepEqual(files, [], `No test is named after ${id}: ${title}.`);
      else assert.deepEqual(files, [], `${id} has a test now: take it out of the excuses.`);
    });
  }

  test("names no id that it does not hold", () => {
    assert.deepEqual(strangers, []);
  });

  test("is read from names alone: a comment or a text of a test is no proof", () => {
    assert.deepEqual([...idsOf('// test("A1: x")\n  test("B2, C3: y", () => "D4");\n  it("E5");')], ["B2", "C3"]);
    const multiline = ["test(", "  `E1, E2: with a $", "{what}`,", "  async () => {},", ");"].join("\n");
    assert.deepEqual([...idsOf(multiline)], ["E1", "E2"]);
  });
});

/** Task files: what is refused names its place and what is allowed; the published schema says the same as the reader. */
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { describe, test } from "node:test";
import fc from "fast-check";
import * as Schema from "typebox/schema";
import { parseTaskFile, readTaskFile } from "../../src/store/task-file.ts";

const SCHEMA = JSON.parse(
  readFileSync(resolve(import.meta.dirname, "../../docs/task.schema.json"), "utf8"),
) as Parameters<typeof Schema.Check>[0];

const WHOLE = {
  $schema: "https://example.org/task.schema.json",
  goal: "Mend the parser\nand its tests",
  scope: ["only src/parser"],
  constraints: ["no new dependency"],
  forbidden: ["the public API"],
  verifications: [{ command: "npm test", timeout: "10m" }, { command: "npm run lint" }],
  review: true,
  profile: "strict",
  budgets: { maxRounds: 2, maxTurns: 40, maxDecisions: 0, budgetUsd: 2.5, timeout: "2h" },
};

const parsed = (content: unknown) => parseTaskFile(JSON.stringify(content), "task.json");

test("a whole task file is read, durations in milliseconds", () => {
  const read = parsed(WHOLE);
  assert.ok(read.ok, JSON.stringify(read));
  assert.equal(read.task.goal, WHOLE.goal);
  assert.deepEqual(read.task.verifications, [{ command: "npm test", timeout: 600_000 }, { command: "npm run lint" }]);
  assert.deepEqual(read.task.budgets, {
    maxRounds: 2,
    maxTurns: 40,
    maxDecisions: 0,
    budgetUsd: 2.5,
    timeout: 7_200_000,
  });
  assert.ok(parsed({}).ok, "everything may be left to the flags");
});

/** Content, and what the complaint must name: the place, then what is allowed. */
const WRONG: [unknown, RegExp][] = [
  [[], /the file must be an object with \$schema, goal, scope/],
  ["text", /the file must be an object/],
  [null, /the file must be an object/],
  [{ goals: "x" }, /goals is not known; allowed here: .*goal, scope/],
  [{ goal: "" }, /goal must be a text of 1 to 100000 characters/],
  [{ goal: "a\u0007b" }, /goal must be a text/],
  [{ goal: 7 }, /goal must be a text/],
  [{ scope: "all" }, /scope must be a list of 0 to 100 entries/],
  [{ constraints: ["fine", 3] }, /constraints\[1\] must be a text of 1 to 2000/],
  [{ forbidden: [["x"]] }, /forbidden\[0\] must be a text/],
  [{ verifications: [] }, /verifications must be a list of 1 to 32 entries/],
  [{ verifications: ["npm test"] }, /verifications\[0\] must be an object with command, timeout/],
  [{ verifications: [{ timeout: "1m" }] }, /verifications\[0\] needs command/],
  [
    { verifications: [{ command: "x" }, { command: "y", timeout: 5 }] },
    /verifications\[1\]\.timeout must be a duration such as 500ms/,
  ],
  [
    { verifications: [{ command: "x", shell: true }] },
    /verifications\[0\]\.shell is not known; allowed here: command, timeout/,
  ],
  [{ review: "yes" }, /review must be one of true, false/],
  [{ profile: "loose" }, /profile must be one of strict, standard, open/],
  [{ budgets: 3 }, /budgets must be an object with maxRounds/],
  [{ budgets: { maxRounds: 0 } }, /budgets\.maxRounds must be a whole number from 1 to 1000/],
  [{ budgets: { maxTurns: 1.5 } }, /budgets\.maxTurns must be a whole number/],
  [{ budgets: { budgetUsd: -1 } }, /budgets\.budgetUsd must be a number above 0/],
  [{ budgets: { timeout: "soon" } }, /budgets\.timeout must be a duration/],
  [{ budgets: { "x\u202e": 1 } }, /budgets\."x\?" is not known/],
  [JSON.parse('{ "__proto__": { "goal": "x" } }'), /__proto__ is not known/],
];

describe("a task file is refused", () => {
  for (const [content, complaint] of WRONG) {
    test(`with ${JSON.stringify(content).slice(0, 70)}`, () => {
      const read = parsed(content);
      assert.ok(!read.ok);
      assert.equal(read.reason, "task-file-value");
      assert.match(read.message, /^task\.json: /);
      assert.match(read.message, complaint);
    });
  }

  test("with all its complaints at once, bounded", () => {
    const read = parsed({ goal: 1, scope: 2, budgets: { maxRounds: "x" } });
    assert.ok(!read.ok);
    for (const place of ["goal must", "scope must", "budgets.maxRounds must"]) assert.ok(read.message.includes(place));
    const many = parsed(Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`key${index}`, 1])));
    assert.ok(!many.ok && many.message.length < 3_000);
  });

  test("when it is no JSON, without a word of what it holds", () => {
    const secret = `word-${Math.random().toString(36).slice(2)}`;
    const read = parseTaskFile(`{ "goal": ${secret} }`, "task.json");
    assert.ok(!read.ok && read.reason === "task-file-malformed");
    assert.ok(!read.message.includes(secret));
  });
});

describe("the published schema", () => {
  test("accepts what the reader accepts", () => {
    for (const content of [WHOLE, {}, { goal: "x" }, { verifications: [{ command: "true" }] }])
      assert.ok(Schema.Check(SCHEMA, content), JSON.stringify(content));
  });

  for (const [content] of WRONG.filter(([content]) => !/\\u0007/.test(JSON.stringify(content)))) {
    test(`refuses ${JSON.stringify(content).slice(0, 70)}`, () => {
      assert.equal(Schema.Check(SCHEMA, content), false);
    });
  }

  test("and the reader agree on arbitrary near misses", () => {
    const odd = fc.oneof(
      fc.constantFrom<unknown>(1, 0, -1, 1.5, true, null, [], {}, "x", "1m", "1 m", "strict", 1001, 5_000_000),
      fc.array(fc.constantFrom<unknown>("x", 1, { command: "x" }, { command: "x", timeout: "1m" }), { maxLength: 3 }),
      fc.record(
        {
          maxRounds: fc.constantFrom<unknown>(1, 0, 1000, 1001, "1"),
          maxDecisions: fc.constantFrom<unknown>(0, 1, -1),
          budgetUsd: fc.constantFrom<unknown>(0, 1, 1_000_000, 1_000_001),
          timeout: fc.constantFrom<unknown>("1h", "2s", 3, "x"),
          other: fc.constant(1),
        },
        { requiredKeys: [] },
      ),
    );
    const names = [
      "goal",
      "scope",
      "constraints",
      "forbidden",
      "verifications",
      "review",
      "profile",
      "budgets",
      "else",
    ];
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom(...names), odd, { maxKeys: 4 }), (content) => {
        const plain: unknown = JSON.parse(JSON.stringify(content));
        assert.equal(parsed(plain).ok, Schema.Check(SCHEMA, plain), JSON.stringify(plain));
      }),
      { numRuns: 1_000 },
    );
  });
});

test("what can't be read as a file is refused by name: missing, a folder, too large; a link is followed", (t) => {
  const folder = mkdtempSync(join(tmpdir(), "pcs-task-file-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const at = (name: string) => join(folder, name);
  writeFileSync(at("large.json"), " ".repeat(300 * 1024));
  writeFileSync(at("good.json"), '\uFEFF{ "goal": "x" }');
  symlinkSync(at("good.json"), at("link.json"));
  const said = (name: string): string => {
    const read = readTaskFile(at(name));
    return read.ok ? "read" : `${read.reason}: ${read.message}`;
  };
  assert.match(said("none.json"), /task-file-unreadable: .*none\.json does not exist/);
  assert.match(readTaskFile(folder).ok ? "" : said("."), /is no regular file/);
  assert.match(said("large.json"), /is larger than 262144 bytes/);
  assert.equal(said("link.json"), "read");
});

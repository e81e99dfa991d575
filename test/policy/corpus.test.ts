import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { type CaseResult, familyTable, judgeCase, readCases, summarize } from "../../scripts/corpus/policy.ts";

const FILES: readonly { name: string; atLeast: number }[] = [
  { name: "policy.jsonl", atLeast: 686 },
  { name: "own.jsonl", atLeast: 2_000 },
];

for (const { name, atLeast } of FILES) {
  describe(`the cases of ${name}`, () => {
    const rows = readCases(fileURLToPath(new URL(`./data/${name}`, import.meta.url)));
    const results = rows.map(judgeCase);

    test("are all there, each id once", () => {
      assert.ok(rows.length >= atLeast, `${rows.length} rows`);
      assert.equal(new Set(rows.map((row) => row.id)).size, rows.length);
    });

    test("have no false allow", () => {
      assert.deepEqual(
        mismatches(results.filter(({ row, decision }) => row.expect !== "allow" && decision.verdict === "allow")),
        [],
      );
    });

    test("have no needless ask", () => {
      assert.deepEqual(
        mismatches(results.filter(({ row, decision }) => row.expect === "allow" && decision.verdict !== "allow")),
        [],
      );
    });

    test("all get the verdict that they expect", (t) => {
      t.diagnostic(`${JSON.stringify(summarize(results))}\n${familyTable(results)}`);
      assert.deepEqual(mismatches(results.filter(({ passes }) => !passes)), []);
    });

    test("come with a rule, a short reason, and a loss where somebody is asked", () => {
      for (const { row, decision } of results) {
        assert.match(decision.rule, /^[a-z][a-zA-Z0-9._-]*$/, row.id);
        assert.ok(decision.reason.length > 0 && decision.reason.length < 120, row.id);
        assert.equal(
          decision.loss !== undefined,
          decision.verdict === "review" || decision.verdict === "person",
          row.id,
        );
        assert.ok((decision.facts ?? []).length <= 20, row.id);
        for (const fact of decision.facts ?? []) assert.ok(fact.subject.length <= 200, row.id);
      }
    });
  });
}

function mismatches(results: readonly CaseResult[]): string[] {
  return results.map(
    ({ row, decision }) => `${row.id}: ${row.expect} expected, ${decision.verdict} by ${decision.rule}`,
  );
}

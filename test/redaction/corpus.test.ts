import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { judge, readRows, type SecretRow } from "../../scripts/corpus/secrets.ts";

const FILES = [
  { file: "secrets.jsonl", seeds: [0, 1, 2] },
  { file: "own.jsonl", seeds: [0] },
];

function byFamily(rows: SecretRow[]): Map<string, SecretRow[]> {
  const families = new Map<string, SecretRow[]>();
  for (const row of rows) families.set(row.family, [...(families.get(row.family) ?? []), row]);
  return families;
}

for (const { file, seeds } of FILES) {
  const rows = readRows(fileURLToPath(new URL(`data/${file}`, import.meta.url)));
  describe(`${file}: hidden, kept, the same for every cut, twice the same, still JSON`, () => {
    for (const [family, members] of byFamily(rows)) {
      test(`${family} (${members.length})`, () => {
        for (const row of members) {
          for (const seed of row.max_ms === undefined ? seeds : seeds.slice(0, 1)) {
            assert.deepEqual(judge(row, seed), [], `${row.id}, seed ${seed}: ${row.why ?? ""}`);
          }
        }
      });
    }
  });
}

test("a row whose secret is shown, whose text is changed or whose part is lost fails", () => {
  const placeholders = { k: { alphabet: "words", length: 3 } };
  const shown = { id: "x", family: "x", template: "plain {k}", placeholders, must_hide: ["k"] };
  assert.match(judge(shown, 1)[0] ?? "", /^k leaks/);
  const token = { k: { alphabet: "base62", length: 36, prefix: "ghp_" } };
  assert.match(judge({ id: "x", family: "x", keep: "a {k}", placeholders: token }, 1)[0] ?? "", /^changed/);
  const lost = { id: "x", family: "x", template: "a {k}", placeholders: token, must_hide: ["k"], keep_parts: ["ghp_"] };
  assert.match(judge(lost, 1)[0] ?? "", /^lost/);
});

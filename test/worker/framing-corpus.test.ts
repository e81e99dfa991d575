/** The framing corpus through the real reader, and proof that the program which runs it can fail. */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import { run } from "../../scripts/corpus/framing.ts";
import { createLab } from "../support/workspace.ts";

const CORPUS = join(dirname(fileURLToPath(import.meta.url)), "fixtures", "framing.jsonl");

async function quietly(t: TestContext, file: string): Promise<{ code: number; lines: Record<string, unknown>[] }> {
  const lines: Record<string, unknown>[] = [];
  const log = t.mock.method(console, "log", (line: string) => void lines.push(JSON.parse(line)));
  try {
    return { code: await run(file), lines };
  } finally {
    log.mock.restore();
  }
}

test("every case of the corpus comes out as wanted, at every read size", async (t) => {
  const { code, lines } = await quietly(t, CORPUS);
  assert.deepEqual(lines, [{ cases: 60, failed: 0 }]);
  assert.equal(code, 0);
});

test("each field of a want can fail a case", async (t) => {
  const lab = await createLab(t);
  const rows = readFileSync(CORPUS, "utf8").trim().split("\n");
  const row = (id: string): Record<string, unknown> =>
    JSON.parse(rows.find((line) => JSON.parse(line).id === id) ?? "{}");
  const wrong: [string, Record<string, unknown>][] = [
    ["split-lines-01", { messages: [] }],
    ["split-lines-01", { messages: [{ type: "user" }] }],
    ["split-lines-01", { messages: [{ type: "assistant", at: { "/message/content/0/text": "one" } }] }],
    ["split-lines-01", { messages: [{ type: "assistant", length_at: { "/message/content/0/text": 6 } }] }],
    ["split-lines-01", { messages: [{ type: "assistant", sha256_at: { "/message/content/0/text": "0" } }] }],
    ["split-lines-01", { messages: [{ type: "assistant", unknown: true }] }],
    ["split-lines-01", { count: 2 }],
    ["noise-01", { noise: 0 }],
    ["noise-05", { errors: [] }],
    ["split-lines-01", { artifact: true }],
    ["line-ends-02", { no_result: true }],
    ["numbers-05", { absent: ["/num_turns"] }],
    ["split-lines-01", { unpolluted: ["toString"] }],
    ["duplicates-01", { duplicates: 0 }],
    ["duplicates-02", { replays: 0 }],
    ["control-request-03", { replies: [] }],
    ["control-request-03", { replies: [{ request_id: "r1", kind: ["deny"] }] }],
    ["line-ends-02", { run_continues: true }],
    ["split-lines-01", { a_field_of_the_future: 1 }],
  ];
  for (const [id, want] of wrong) {
    const file = join(lab.root, "wrong.jsonl");
    writeFileSync(file, `${JSON.stringify({ ...row(id), want, any_of: undefined })}\n`);
    const { code, lines } = await quietly(t, file);
    assert.equal(code, 1, JSON.stringify(want));
    assert.deepEqual(lines.at(-1), { cases: 1, failed: 1 }, JSON.stringify(want));
    assert.equal(lines[0]?.id, id);
  }
});

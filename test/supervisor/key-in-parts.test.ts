/** A key that several results print: its body is known by a begin line that only the first one holds. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { createRedactor } from "../../src/redaction/index.ts";
import { keyInParts } from "../../src/supervisor/key-in-parts.ts";
import { pemKey } from "../e2e/secret-values.ts";

const redactor = createRedactor({ salt: "salt" });
const lines = pemKey().trimEnd().split("\n");
const body = lines.slice(1, -1);
const part = (from: number, to?: number): string => lines.slice(from, to).join("\n");
const leaks = (text: string): string[] => body.filter((line) => text.includes(line));

for (const cuts of [[1], [2], [10], [1, 2, 3], [5, 12, 20], [lines.length - 1]]) {
  test(`cut before the lines ${cuts.join(", ")} it shows no line of the body`, () => {
    const take = keyInParts(redactor);
    const edges = [0, ...cuts, lines.length];
    const shown = edges.slice(1).map((to, index) => take(part(edges[index] ?? 0, to)));
    assert.deepEqual(leaks(shown.join("\n")), []);
    assert.ok(shown[0]?.startsWith("-----BEGIN"), "the begin line itself is no secret");
    assert.ok(!shown.slice(1).some((text) => text.includes("-----BEGIN")), "and is not said again");
  });
}

test("other results between the parts are as they were, and do not end the watch", () => {
  const take = keyInParts(redactor);
  take(part(0, 9));
  for (const text of ["total 8\n-rw-r--r-- key.pem", "", "ok"]) assert.equal(take(text), redactor.text(text));
  assert.deepEqual(leaks(take(part(9, 18))), []);
  assert.deepEqual(leaks(take(part(18))), []);
});

test("after the end line, and without any key, a result is redacted as ever", () => {
  const take = keyInParts(redactor);
  const data = `${Buffer.alloc(48, 7).toString("base64")}\n`.repeat(3);
  assert.equal(take(data), redactor.text(data));
  take(part(0, 9));
  take(part(9));
  assert.equal(take(data), redactor.text(data));
  const whole = keyInParts(redactor);
  whole(lines.join("\n"));
  assert.equal(whole(data), redactor.text(data));
});

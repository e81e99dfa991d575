/** The licence audit: its page is the truth, and a licence that nobody accepted is noticed. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { licencePage, licences, refusedLicences } from "../../scripts/check-licences.ts";

const page = readFileSync(join(resolve(import.meta.dirname, "../.."), "docs", "licences.md"), "utf8");

test("every package of an installation has an accepted licence and stands in docs/licences.md", () => {
  const rows = licences();
  assert.ok(rows.length > 10, "the test finds no packages");
  assert.deepEqual(refusedLicences(rows), []);
  assert.equal(page, licencePage(rows), "npm run check:licences -- --write");
});

for (const licence of ["GPL-3.0", "UNLICENSED", "none stated", "SEE LICENSE IN x", "MIT AND GPL-2.0"]) {
  test(`"${licence}" is refused`, () => {
    assert.deepEqual(refusedLicences([{ name: "x", version: "1.0.0", licence, text: undefined }]), [
      `x 1.0.0: ${licence}`,
    ]);
  });
}

/**
 * The signal matrix (signal-cells.ts) without a cgroup; and, when this is run as root, all of it once more as a normal
 * user, who can make no cgroup.
 */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { normalUser, runFileAs } from "./as-user.ts";
import { type Cgroup, ENDINGS, runCell } from "./signal-cells.ts";

/** Names the account in the run of this file as a normal user. */
const AS_USER = "SIGNALS_AS_USER";

const asUser = process.env[AS_USER];
const columns: readonly Cgroup[] = asUser === undefined ? ["off"] : ["auto", "off"];

for (const cgroup of columns) {
  describe(`as ${asUser ?? "ourselves"}, cgroup ${cgroup}, Pi 0.73.1: nothing is left after`, {
    concurrency: 2,
  }, () => {
    for (const ending of ENDINGS) test(ending.name, (t) => runCell(t, { line: "0.73.1", cgroup }, ending));
  });
}

if (asUser === undefined) {
  const user = normalUser();
  test("the same holds for a normal user", { skip: user.skip ?? false }, async (t) => {
    const { output } = await runFileAs(t, user, import.meta.url, { [AS_USER]: user.name });
    assert.match(output, /pass 14\b/, output);
    for (const row of output.split("\n").filter((line) => /✔|gone after/.test(line))) t.diagnostic(row.trim());
  });
}

/** The page of the matrix says of each leg what it did last. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Leg, pageOf } from "../../scripts/matrix/page.ts";

const step = (name: string, ok = true) => ({ name, ok, seconds: 12.4, tail: "" });
const leg = (change: Partial<Leg>): Leg => ({
  node: "20.17.0",
  npm: "10.9.9",
  steps: [step("npm ci")],
  commit: "aaa",
  date: "2030-01-02",
  ...change,
});

test("a leg that passed, one that failed, one that has no such step and one that was not run", () => {
  const page = pageOf(
    ["Node 20 with npm 10", "Node 22 with npm 11", "Node 26 with npm 12"],
    [
      leg({ archive: "f".repeat(64) }),
      leg({ node: "22.19.0", steps: [step("npm run demo --pi=1.6.0", false), step("npm ci")], commit: "bbb" }),
      undefined,
    ],
    "linux x64",
  );
  assert.match(page, /\| Node \| npm \| `npm ci` \| `npm run demo --pi=1\.6\.0` \| Commit \| Date \|/);
  assert.match(page, /\| 20\.17\.0 \| 10\.9\.9 \| ok, 12 s \| – \| `aaa` \| 2030-01-02 \|/);
  assert.match(pageOf(["Node 22"], [leg({ node: "22.19.0" })], "x"), /\| 22\.19\.0 \| 10\.9\.9 \| ok, 12 s \| `aaa`/);
  assert.match(page, /\| 22\.19\.0 \| 10\.9\.9 \| ok, 12 s \| \*\*failed\*\*, 12 s \| `bbb` \|/);
  assert.match(page, /Not run on this machine: Node 26 with npm 12\./);
  assert.match(page, /\| `ffffffffffffffff…` \| `aaa` \| 20\.17\.0 \/ 10\.9\.9 \|/);
});

test("of a whole matrix says of no leg that it was not run", () => {
  assert.doesNotMatch(pageOf(["Node 20 with npm 10"], [leg({})], "linux x64"), /Not run/);
});

/** The signal matrix (signal-cells.ts) with a cgroup, and a sample on the other line; the rest is signals.soak.ts. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { skipReason } from "../support/pi-setup.ts";
import { type Cgroup, ENDINGS, runCell } from "./signal-cells.ts";

describe("cgroup auto, Pi 0.73.1: nothing is left after", { concurrency: 2 }, () => {
  for (const ending of ENDINGS) test(ending.name, (t) => runCell(t, { line: "0.73.1", cgroup: "auto" }, ending));
});

const SAMPLE: readonly [string, Cgroup][] = [
  ["SIGKILL of Claude", "auto"],
  ["/supervise stop", "off"],
  ["SIGKILL of Pi", "off"],
  ["SIGTERM of Pi", "auto"],
];

describe("Pi 1.6.0: nothing is left after", { concurrency: 2, skip: (await skipReason("1.6.0")) ?? false }, () => {
  for (const [name, cgroup] of SAMPLE) {
    const ending = ENDINGS.find((each) => each.name === name);
    assert.ok(ending);
    test(`${name}, cgroup ${cgroup}`, (t) => runCell(t, { line: "1.6.0", cgroup }, ending));
  }
});

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { hasEnded, parseStat, readStat } from "../../../src/platform/process/index.ts";

const REST = "6510 6511 3058 0 -1 4194304 104 0 0 0 0 0 0 0 20 0 1 0 46935 3133440 383 18446744073709551615 1 2";

describe("a line of /proc/<pid>/stat", () => {
  const names = ["cat", "a b", ")", "(", ") Z 1 1 1 (", "a)b (c) d", "new\nline", "", "tab\t) S 1", "ü"];
  for (const name of names) {
    test(`is read past a program that calls itself ${JSON.stringify(name)}`, () => {
      assert.deepEqual(parseStat(`6520 (${name}) S ${REST}\n`), {
        pid: 6520,
        ppid: 6510,
        group: 6511,
        session: 3058,
        state: "S",
        startTicks: "46935",
      });
    });
  }

  test("is read past any name", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (name) => {
        assert.equal(parseStat(`7 (${name}) R ${REST}`)?.startTicks, "46935");
      }),
    );
  });

  for (const broken of ["", "7", "7 (cat", "7 (cat)", "7 (cat) S 1 2 3", "x (cat) S 1", `7 (cat) SS ${REST}`]) {
    test(`is refused when it is ${JSON.stringify(broken)}`, () => {
      assert.equal(parseStat(broken), undefined);
    });
  }
});

test("our own row names our parent and has not ended", { skip: process.platform !== "linux" && "needs /proc" }, () => {
  const read = readStat(process.pid);
  assert.ok(read.state === "read");
  assert.equal(read.row.ppid, process.ppid);
  assert.equal(hasEnded(read.row), false);
});

test("zombies and dead entries have ended, stopped and sleeping processes have not", () => {
  const row = (state: string) => ({ pid: 2, ppid: 1, group: 2, session: 2, state, startTicks: "1" });
  for (const state of ["Z", "X", "x"]) assert.equal(hasEnded(row(state)), true, state);
  for (const state of ["R", "S", "D", "T", "t", "I"]) assert.equal(hasEnded(row(state)), false, state);
});

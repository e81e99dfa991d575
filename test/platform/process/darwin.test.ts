import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { parsePs } from "../../../src/platform/process/darwin.ts";
import { membersOf, newMark } from "../../../src/platform/process/index.ts";
import { showsMark } from "../../../src/platform/process/mark.ts";

describe("the process table as macOS prints it", () => {
  const mark = newMark(undefined);
  const text = [
    "    1     0     1 Ss   Mon Jan  5 09:00:00 2026     /sbin/launchd",
    "  501     1   501 S+   Mon Jan  5 09:01:02 2026     pi",
    "  600   501   600 Ss   Tue Jan  6 10:00:00 2026     claude -p",
    "  601   600   601 Ss   Tue Jan  6 10:00:01 2026     /bin/zsh -c sleep 5 & PATH=/bin",
    `  602     1   602 S    Tue Jan  6 10:00:02 2026     node server.js PATH=/bin PI_X=1 ${mark.marker}`,
    "  603   601   601 Z    Tue Jan  6 10:00:02 2026     <defunct>",
    ` 7000     1  7000 S    Tue Jan  6 10:00:03 2026     /bin/sh guardian.sh ${mark.id}`,
    "garbage",
    "",
  ].join("\n");

  test("gives numbers, state, start time and command line", () => {
    const rows = parsePs(text);
    assert.deepEqual(rows[2], {
      pid: 600,
      ppid: 501,
      group: 600,
      session: 600,
      state: "S",
      startTicks: "Tue Jan 6 10:00:00 2026",
      command: "claude -p",
    });
    assert.deepEqual(
      rows.map((row) => row.pid),
      [1, 501, 600, 601, 602, 603, 7000],
    );
  });

  test("gives the tree: descendants, and orphans that show the mark, but not the guardian", () => {
    const leader = { pid: 600, startTicks: "Tue Jan 6 10:00:00 2026", bootId: "b" };
    const members = membersOf(parsePs(text), { leader }, (row) => showsMark(row.command, mark));
    assert.deepEqual(
      members.map((row) => row.pid),
      [600, 601, 602],
    );
  });
});

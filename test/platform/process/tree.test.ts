import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { membersOf, type ProcessRow } from "../../../src/platform/process/index.ts";

const BOOT = "boot";
const LEADER = row(1000, { ppid: 900, session: 1000 });
const leader = { pid: 1000, startTicks: "50", bootId: BOOT };

describe("the members of a tree", () => {
  const cases: { name: string; rows: ProcessRow[]; marked?: number[]; members: number[] }[] = [
    { name: "are nobody when the leader is gone and nothing is marked", rows: [row(2000)], members: [] },
    { name: "are the leader alone at first", rows: [LEADER, row(2000)], members: [1000] },
    {
      name: "are children and grandchildren in any order of numbers",
      rows: [row(400, { ppid: 3000 }), row(3000, { ppid: 1000 }), LEADER],
      members: [400, 1000, 3000],
    },
    {
      name: "are orphans of a member's session",
      rows: [LEADER, row(2000, { ppid: 1, session: 1000 })],
      members: [1000, 2000],
    },
    {
      name: "are marked orphans and what they started, with the leader gone",
      rows: [row(2000, { ppid: 1, session: 2000 }), row(2001, { ppid: 2000 }), row(2002, { ppid: 1, session: 2000 })],
      marked: [2000],
      members: [2000, 2001, 2002],
    },
    {
      name: "are none of another process that has the leader's number now",
      rows: [row(1000, { startTicks: "60" }), row(2000, { ppid: 1000, startTicks: "61" })],
      members: [],
    },
    {
      name: "are none that started before the leader",
      rows: [LEADER, row(2000, { ppid: 1000, startTicks: "49" })],
      marked: [2000],
      members: [1000],
    },
    {
      name: "are no strangers of a session that is older than the leader",
      rows: [
        LEADER,
        row(800, { startTicks: "10", session: 800 }),
        row(2000, { ppid: 1000, session: 800 }),
        row(2001, { session: 800 }),
      ],
      members: [1000, 2000],
    },
    { name: "are no zombies", rows: [LEADER, row(2000, { ppid: 1000, state: "Z" })], members: [1000] },
    {
      name: "never include init or ourselves",
      rows: [LEADER, row(1, { ppid: 1000 }), row(process.pid, { ppid: 1000 })],
      members: [1000],
    },
  ];
  for (const { name, rows, marked = [], members } of cases) {
    test(name, () => {
      const found = membersOf(rows, { leader }, (each) => marked.includes(each.pid));
      assert.deepEqual(
        found.map((each) => each.pid).sort((a, b) => a - b),
        members,
      );
    });
  }

  test("include one that was seen before, whatever became of its parent, but not its number's next owner", () => {
    const remembered = [{ pid: 2000, startTicks: "55", bootId: BOOT }];
    const orphan = row(2000, { ppid: 1, session: 2000, startTicks: "55" });
    const successor = row(2000, { ppid: 1, session: 2000, startTicks: "70" });
    assert.equal(membersOf([orphan], { leader, remembered }, () => false).length, 1);
    assert.equal(membersOf([successor], { leader, remembered }, () => false).length, 0);
  });

  test("are exactly what descends from the leader, for every shape of tree and order of rows", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(), { maxLength: 60 }), fc.infiniteStream(fc.nat()), (parents, order) => {
        // Process 2000 + n has one of the earlier ones, the leader or a stranger as its parent.
        const rows: ProcessRow[] = [LEADER, row(1001, { ppid: 900, session: 1001 })];
        const inside = new Set([1000]);
        for (const [n, choice] of parents.entries()) {
          const parent = rows[choice % rows.length]?.pid ?? 0;
          rows.push(row(2000 + n, { ppid: parent, session: 2000 + n }));
          if (inside.has(parent)) inside.add(2000 + n);
        }
        const keys = new Map(rows.map((each) => [each.pid, order.next().value]));
        const shuffled = rows.toSorted((a, b) => Number(keys.get(a.pid)) - Number(keys.get(b.pid)));
        const found = membersOf(shuffled, { leader }, () => false);
        assert.deepEqual(new Set(found.map((each) => each.pid)), inside);
      }),
    );
  });
});

function row(pid: number, over: Partial<ProcessRow> = {}): ProcessRow {
  return { pid, ppid: 900, group: over.session ?? pid, session: pid, state: "S", startTicks: "50", ...over };
}

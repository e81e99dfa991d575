import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { ContainmentRecord } from "../../../src/core/contracts/worker.ts";
import { countProcesses, killNow, leftovers, listRemaining } from "../../../src/platform/containment/index.ts";
import { identify } from "../../../src/platform/process/index.ts";
import { within } from "../../support/until.ts";
import { startHost, stopElsewhere, USERS } from "./hosts.ts";
import { MODES, SCENARIOS, startTree } from "./trees.ts";

const SCENARIO = SCENARIOS.find((each) => each.name.includes("its own session")) ?? assert.fail();

describe("a record that can't be trusted signals nobody and is never proof", () => {
  const ID = "0123456789abcdef0123456789abcdef";
  const damages: { name: string; damage: (record: ContainmentRecord) => unknown }[] = [
    { name: "names init", damage: (r) => ({ ...r, leader: { ...r.leader, pid: 1 } }) },
    { name: "names pid 0", damage: (r) => ({ ...r, leader: { ...r.leader, pid: 0 } }) },
    { name: "names a negative number", damage: (r) => ({ ...r, leader: { ...r.leader, pid: -r.leader.pid } }) },
    { name: "names ourselves", damage: (r) => ({ ...r, leader: identify(process.pid) }) },
    { name: "names our parent", damage: (r) => ({ ...r, leader: identify(process.ppid) }) },
    { name: "names a fraction", damage: (r) => ({ ...r, leader: { ...r.leader, pid: 2.5 } }) },
    { name: "has no leader", damage: (r) => ({ ...r, leader: undefined }) },
    { name: "has a leader without start", damage: (r) => ({ ...r, leader: { ...r.leader, startTicks: "" } }) },
    { name: "has a marker that fits everything", damage: (r) => ({ ...r, marker: "PATH=" }) },
    { name: "has no marker", damage: (r) => ({ ...r, marker: undefined }) },
    { name: "names the root of all cgroups", damage: (r) => ({ ...r, kind: "cgroup", cgroup: "/sys/fs/cgroup" }) },
    {
      name: "names another tree's cgroup",
      damage: (r) => ({ ...r, kind: "cgroup", cgroup: `/sys/fs/cgroup/pi-claude-supervisor-${ID}` }),
    },
    { name: "is of kind cgroup without one", damage: (r) => ({ ...r, kind: "cgroup", cgroup: undefined }) },
  ];
  for (const { name, damage } of damages) {
    test(`when it ${name}`, async (t) => {
      const { tree, ground } = await startTree(t, SCENARIO, "off");
      const record = damage(tree.record) as ContainmentRecord;
      const outcome = await killNow(record);
      assert.ok(!outcome.proven);
      assert.equal(outcome.remaining[0]?.kind, "unknown");
      assert.match(outcome.remaining[0]?.detail ?? "", /nothing was signalled/);
      assert.equal(listRemaining(record)[0]?.kind, "unknown");
      assert.equal(countProcesses(record), undefined);
      assert.equal(leftovers(record), undefined);
      assert.equal(ground.alive().length, 3);
    });
  }
});

const OURS = identify(process.pid) ?? assert.fail();
for (const { name, leader } of [
  { name: "of an earlier boot", leader: { ...OURS, bootId: "an earlier boot" } },
  { name: "that was recycled", leader: { ...OURS, startTicks: `${Number(OURS.startTicks) - 1}` } },
]) {
  test(`a leader's number ${name} may be our own by now: the tree is gone all the same`, async (t) => {
    const { tree } = await startTree(t, SCENARIO, "off");
    assert.ok((await tree.stop({ kind: "now", graceMs: 0 })).proven);
    const outcome = await killNow({ ...tree.record, leader });
    assert.ok(outcome.proven && outcome.killed === 0, JSON.stringify(outcome));
  });
}

for (const { mode, name: how, skip } of MODES) {
  test(`another process that has only the record ends a tree held ${how}`, { skip }, async (t) => {
    const { tree, ground } = await startTree(t, SCENARIO, mode);
    const outcome = await stopElsewhere(tree.record, { kind: "now", graceMs: 0 });
    assert.deepEqual(ground.alive(), []);
    assert.ok(outcome.proven);
    await within(tree.exited, 10_000, "the leader ends");
    assert.ok((await tree.stop({ kind: "now", graceMs: 0 })).proven, "the owner comes to the same result");
  });

  test(`a supervisor that hangs does not keep a tree held ${how} from being ended`, { skip }, async (t) => {
    const host = await startHost(t, { ...SCENARIO, trees: [SCENARIO], mode });
    host.child.kill("SIGSTOP");
    const [record] = host.records();
    assert.ok(record);
    const outcome = await stopElsewhere(record, { kind: "graceful", graceMs: 200 });
    assert.deepEqual(host.ground.alive(), []);
    assert.ok(outcome.proven);
  });
}

const other = USERS.find((each) => each.user === "other");
test("what may not be signalled is named and never called stopped", { skip: other?.skip ?? false }, async (t) => {
  const { tree, ground } = await startTree(t, SCENARIO, "off");
  const outcome = await stopElsewhere(tree.record, { kind: "now", graceMs: 0, proofMs: 300 }, "other");
  assert.ok(!outcome.proven);
  assert.deepEqual(outcome.remaining.map((each) => Number(each.id)).sort(), ground.pids().sort());
  assert.ok(outcome.remaining.every((each) => each.kind === "process" && each.detail !== ""));
  assert.ok(outcome.durationMs < 5000);
  assert.equal(ground.alive().length, 3);
});

test("a process inside the tree does not stop its own tree", async (t) => {
  const { tree, ground } = await startTree(t, SCENARIO, "off");
  const [name, value] = tree.record.marker.split("=");
  process.env[name ?? ""] = value;
  t.after(() => delete process.env[name ?? ""]);
  const outcome = await killNow(tree.record);
  delete process.env[name ?? ""];
  assert.ok(!outcome.proven);
  assert.match(outcome.remaining[0]?.detail ?? "", /from outside/);
  assert.equal(ground.alive().length, 3);
});

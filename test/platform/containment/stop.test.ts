import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { basename } from "node:path";
import { describe, test } from "node:test";
import {
  countProcesses,
  killNow,
  leftovers,
  listRemaining,
  stopTree,
} from "../../../src/platform/containment/index.ts";
import { stateOf } from "../../../src/platform/process/index.ts";
import { isAlive } from "../../support/processes.ts";
import { until, within } from "../../support/until.ts";
import { MODES, SCENARIOS, startTree } from "./trees.ts";

for (const { mode, name: how, skip } of MODES) {
  describe(`a tree held ${how}`, { skip }, () => {
    for (const scenario of SCENARIOS) {
      test(`is gone when a stop at once says so: ${scenario.name}`, async (t) => {
        const { tree, ground } = await startTree(t, scenario, mode);
        const outcome = await killNow(tree.record);
        assert.deepEqual(ground.alive(), []);
        assert.ok(outcome.proven, JSON.stringify(outcome));
        assert.equal(outcome.method, mode === "off" ? "census" : "cgroup");
        assert.ok(outcome.killed >= scenario.processes, `killed ${outcome.killed}`);
        assert.deepEqual(listRemaining(tree.record), []);
        if (tree.record.cgroup !== undefined) assert.equal(existsSync(tree.record.cgroup), false);
      });

      test(`is gone when a graceful stop says so: ${scenario.name}`, async (t) => {
        const { tree, ground } = await startTree(t, scenario, mode);
        const outcome = await tree.stop({ kind: "graceful", graceMs: 150 });
        assert.deepEqual(ground.alive(), []);
        assert.ok(outcome.proven, JSON.stringify(outcome));
      });
    }

    test("is left alone by everything that only looks", async (t) => {
      const { tree, ground } = await startTree(t, scenarioNamed("its own session"), mode);
      assert.equal(countProcesses(tree.record), 2);
      assert.equal(listRemaining(tree.record).length, 3);
      const found = leftovers(tree.record);
      assert.deepEqual(
        found?.map((each) => each.identity.pid).sort(),
        ground
          .pids()
          .filter((pid) => pid !== tree.pid)
          .sort(),
      );
      assert.ok(found?.some((each) => each.command === "sleep 1000"));
      assert.equal(ground.alive().length, 3);
    });

    test("counts nothing besides a leader that is alone", async (t) => {
      const { tree } = await startTree(t, scenarioNamed("alone"), mode);
      assert.equal(countProcesses(tree.record), 0);
      assert.deepEqual(leftovers(tree.record), []);
    });

    test("is ended although its leader has gone before", async (t) => {
      const { tree, ground } = await startTree(
        t,
        { processes: 2, script: "note; sh -c 'setsid sh -c \"$STAY\" & exit 0'; echo ready; read line" },
        mode,
      );
      tree.stdin?.end("\n");
      await within(tree.exited, 30_000, "the leader ends");
      assert.equal(countProcesses(tree.record), 1);
      const outcome = await tree.stop({ kind: "graceful", graceMs: 10_000 });
      assert.ok(outcome.proven);
      assert.equal(outcome.killed, 1, "the one that outlived its leader is counted");
      assert.ok(outcome.durationMs < 5000, "no grace for a leader that is gone");
      assert.deepEqual(ground.alive(), []);
    });

    test("gets a grace that ends with its leader, whatever of the tree is left", async (t) => {
      const { tree, ground } = await startTree(
        t,
        { processes: 2, script: "note; trap 'exit 0' TERM; setsid sh -c \"trap '' TERM; $STAY\" & echo ready; wait" },
        mode,
      );
      const outcome = await tree.stop({ kind: "graceful", graceMs: 60_000 });
      assert.deepEqual(
        await within(tree.exited, 30_000, "the leader ends"),
        { code: 0, signal: null },
        "the leader ended by itself",
      );
      assert.ok(outcome.proven && outcome.durationMs < 5000, JSON.stringify(outcome));
      assert.deepEqual(ground.alive(), []);
    });

    test("gets no TERM when it was told to end already", async (t) => {
      const { tree, ground } = await startTree(
        t,
        { processes: 1, script: "note; trap 'echo TERM; exit 9' TERM; echo ready; read line; exit 3" },
        mode,
      );
      tree.stdin?.end();
      const outcome = await tree.stop({ kind: "graceful", graceMs: 60_000, signalLeaderTerm: false });
      assert.ok(outcome.proven);
      assert.deepEqual(await within(tree.exited, 30_000, "the leader ends"), { code: 3, signal: null });
      assert.deepEqual(ground.alive(), []);
    });

    test("is ended at once when a graceful stop is hurried", async (t) => {
      const { tree, ground } = await startTree(t, scenarioNamed("everything ignores TERM"), mode);
      const hurry = new AbortController();
      const graceful = tree.stop({ kind: "graceful", graceMs: 600_000, hurry: hurry.signal });
      await until(() => ground.alive().length === 3, 5000, "TERM did nothing");
      hurry.abort();
      const outcome = await graceful;
      assert.ok(outcome.proven && outcome.durationMs < 10_000);
      assert.deepEqual(ground.alive(), []);
    });

    test("can be stopped again, and by several at once", async (t) => {
      const { tree, ground } = await startTree(t, scenarioNamed("everything ignores TERM"), mode);
      const outcomes = await Promise.all([
        stopTree(tree.record, { kind: "graceful", graceMs: 100 }),
        killNow(tree.record),
        tree.stop({ kind: "graceful", graceMs: 50 }),
      ]);
      assert.ok(
        outcomes.every((outcome) => outcome.proven),
        JSON.stringify(outcomes),
      );
      assert.deepEqual(ground.alive(), []);
      const again = await killNow(tree.record);
      assert.ok(again.proven && again.killed === 0);
    });

    test("is ended while it forks as fast as it can", async (t) => {
      // Bounded: each of four loops has started at most 300 short-lived children when it ends by itself.
      const loop = 'eval "$SELF"; n=0; while [ $n -lt 300 ]; do n=$((n + 1)); sleep 5 & done; exec sleep 1000';
      const { tree, ground } = await startTree(
        t,
        {
          processes: 5,
          script: `LOOP='${loop}'; export LOOP; note; for i in 1 2 3 4; do setsid sh -c "$LOOP" & done; echo ready; wait`,
        },
        mode,
      );
      const outcome = await tree.stop({ kind: "now", graceMs: 0, proofMs: 10_000 });
      assert.ok(outcome.proven, JSON.stringify(outcome));
      assert.deepEqual(ground.alive(), []);
      assert.equal(countProcesses(tree.record), 0);
    });

    test("that stops itself gets its TERM and its grace", async (t) => {
      const { tree, ground } = await startTree(
        t,
        { processes: 1, script: "note; trap 'exit 5' TERM; echo ready; kill -STOP $$; sleep 1000" },
        mode,
      );
      await until(() => stateOf(tree.record.leader) === "T", 5000, "it is stopped");
      const outcome = await tree.stop({ kind: "graceful", graceMs: 60_000 });
      // The shell runs its trap when the foreground sleep is gone or was never started.
      assert.ok(outcome.proven);
      assert.deepEqual(await within(tree.exited, 30_000, "the leader ends"), { code: 5, signal: null });
      assert.deepEqual(ground.alive(), []);
    });

    test("takes nobody else with it", async (t) => {
      const bystander = await startTree(t, scenarioNamed("its own session"), mode);
      const { tree } = await startTree(t, scenarioNamed("its own session"), mode);
      assert.ok((await killNow(tree.record)).proven);
      assert.equal(bystander.ground.alive().length, 3);
    });

    test("is not confused with the processes that have its numbers after a reboot", async (t) => {
      const { tree, ground } = await startTree(t, scenarioNamed("its own session"), mode);
      const record = { ...tree.record, leader: { ...tree.record.leader, bootId: "an earlier boot" } };
      assert.deepEqual(listRemaining(record), []);
      const outcome = await killNow(record);
      assert.ok(outcome.proven && outcome.killed === 0);
      assert.equal(ground.alive().length, 3, "nothing was signalled");
    });

    test("whose leader's number was given to a stranger leaves the stranger alone", async (t) => {
      const stranger = await startTree(t, scenarioNamed("leader's group"), mode);
      const { tree } = await startTree(t, scenarioNamed("alone"), mode);
      assert.ok((await killNow(tree.record)).proven);
      const reused = { ...tree.record, leader: { ...tree.record.leader, pid: stranger.tree.pid } };
      assert.ok((await killNow(reused)).proven);
      assert.equal(stranger.ground.alive().length, 3);
    });
  });
}

test("a daemon that left the cgroup is found by its mark and ended too", {
  skip: MODES[0]?.skip ?? false,
}, async (t) => {
  // Root may move itself; so do login services. The parent cgroup is where the supervisor itself is.
  const { tree, ground } = await startTree(
    t,
    {
      processes: 2,
      script: `note; outside=$(sed -n 's/^0:://p' /proc/self/cgroup); root=$(awk '$0 ~ / - cgroup2 / { print $5 }' /proc/self/mountinfo)
        echo 0 >"$root$(dirname "$outside")/cgroup.procs" && setsid sh -c "$STAY" & echo ready; wait; exec sleep 1000`,
    },
    "required",
  );
  const escaped = ground.pids().find((pid) => pid !== tree.pid) ?? 0;
  assert.equal(isAlive(escaped), true);
  assert.ok(
    !readFileSync(`/proc/${escaped}/cgroup`, "utf8").includes(basename(tree.record.cgroup ?? "")),
    "it is outside",
  );
  const outcome = await killNow(tree.record);
  assert.ok(outcome.proven, JSON.stringify(outcome));
  assert.equal(isAlive(escaped), false);
  assert.deepEqual(ground.alive(), []);
});

function scenarioNamed(part: string): (typeof SCENARIOS)[number] {
  const found = SCENARIOS.find((scenario) => scenario.name.includes(part));
  assert.ok(found, part);
  return found;
}

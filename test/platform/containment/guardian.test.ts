import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { chown } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import type { ContainmentRecord } from "../../../src/core/contracts/worker.ts";
import { spawnContained } from "../../../src/platform/containment/index.ts";
import { isAlive } from "../../../src/platform/process/index.ts";
import { until, within } from "../../support/until.ts";
import { type Host, IS_ROOT, NOBODY, startHost, USERS } from "./hosts.ts";
import { type Ground, ground, MODES, PRELUDE, startTree, treeEnv } from "./trees.ts";

/** What must hold after our death, in milliseconds. */
const DEADLINE = 5000;

/** Everything at once: TERM ignored, an own session, a daemon without environment and parent, a stopped child. */
const STUBBORN = {
  script: `trap '' TERM INT HUP; note; setsid sh -c "$STAY" & (env -i PIDS="$PIDS" SELF="$SELF" setsid sh -c "$STAY" &)
    sh -c 'eval "$SELF"; kill -STOP $$; exec sleep 1000' & echo ready; while :; do sleep 0.05; done`,
  processes: 4,
};

for (const { user, name: who, skip: noUser } of USERS) {
  const modes = MODES.filter(({ mode }) => user === "own" || mode === "off");
  for (const { mode, name: how, skip: noMode } of modes) {
    describe(`when the supervisor is gone, a tree held ${how} ${who}`, { skip: noUser || noMode }, () => {
      test("is gone within 5 s of a SIGKILL, and the guardian, the cgroup and the temporary folder with it", async (t) => {
        const place = await ground(t);
        const tmpDir = await temporaryFolder(place, user);
        const host = await startHost(t, {
          ...STUBBORN,
          trees: [{ script: STUBBORN.script, tmpDir }],
          mode,
          user,
          place,
        });
        host.child.kill("SIGKILL");
        await assertNothingLeft(host);
        assert.equal(existsSync(tmpDir), false);
      });

      test("is gone when it was not released yet", async (t) => {
        const host = await startHost(t, {
          trees: [{ script: "note; echo ready" }],
          mode,
          user,
          processes: 0,
          release: false,
        });
        host.child.kill("SIGKILL");
        await assertNothingLeft(host);
        assert.deepEqual(host.ground.pids(), [], "it never ran");
      });
    });
  }
}

for (const { mode, name: how, skip } of MODES) {
  describe(`the guardian of a tree held ${how}`, { skip }, () => {
    test("gives the leader its TERM and its grace first", async (t) => {
      const script = `note; trap 'sleep 0.2; echo done >"$PIDS.end"; exit 0' TERM; echo ready; while :; do sleep 0.02; done`;
      const host = await startHost(t, { trees: [{ script }], mode, processes: 1 });
      host.child.kill("SIGKILL");
      await assertNothingLeft(host);
      assert.equal(readFileSync(join(host.ground.root, "pids.end"), "utf8"), "done\n");
    });

    test("acts when the supervisor just leaves", async (t) => {
      const host = await startHost(t, { ...STUBBORN, trees: [STUBBORN], mode });
      host.child.stdin?.write("exit\n");
      await within(once(host.child, "exit"), 10_000, "the host leaves");
      await assertNothingLeft(host);
    });

    test("acts for each of several trees: none holds another's pipe open", async (t) => {
      const trees = [STUBBORN, STUBBORN, STUBBORN];
      const host = await startHost(t, { trees, mode, processes: 3 * STUBBORN.processes });
      host.child.kill("SIGKILL");
      await assertNothingLeft(host);
    });

    test("is replaced when something kills it", async (t) => {
      const host = await startHost(t, { ...STUBBORN, trees: [STUBBORN], mode });
      const first = host.records()[0]?.guardian;
      assert.ok(first);
      process.kill(first.pid, "SIGKILL");
      const second = await until(
        () =>
          host
            .records()
            .map((record) => record.guardian)
            .find((each) => each?.pid !== first.pid),
        5000,
        "another guardian",
      );
      assert.equal(isAlive(second), true);
      assert.equal(host.ground.alive().length, STUBBORN.processes, "the tree goes on meanwhile");
      host.child.kill("SIGKILL");
      await assertNothingLeft(host);
    });

    test("leaves at once when the tree is proven gone, and takes the temporary folder along", async (t) => {
      const place = await ground(t);
      const tmpDir = await temporaryFolder(place, "own");
      const { tree } = await startTree(t, STUBBORN, mode, { tmpDir });
      assert.ok((await tree.stop({ kind: "now", graceMs: 0 })).proven);
      await within(tree.settled, 10_000, "the guardian leaves");
      assert.equal(isAlive(guardianOf(tree.record)), false);
      assert.equal(existsSync(tmpDir), false);
    });

    test("is not in the tree: not in its cgroup, its session or its environment", async (t) => {
      const { tree } = await startTree(t, STUBBORN, mode);
      const { pid } = guardianOf(tree.record);
      if (tree.record.cgroup !== undefined) {
        assert.ok(!readFileSync(join(tree.record.cgroup, "cgroup.procs"), "utf8").split("\n").includes(String(pid)));
      }
      assert.ok(!readFileSync(`/proc/${pid}/environ`, "utf8").includes(tree.record.marker));
    });
  });
}

test("a guardian that can't fork any more kills the tree all the same", {
  skip: !IS_ROOT && "needs root",
}, async (t) => {
  const host = await startHost(t, { ...STUBBORN, trees: [STUBBORN], mode: "off", user: "other" });
  const { pid } = guardianOf(host.records()[0]);
  // One process for this account, which has more already: every fork of the guardian fails with EAGAIN from now on.
  const limit = spawn("prlimit", ["--pid", String(pid), "--nproc=1:1"], { stdio: "ignore", uid: NOBODY, gid: NOBODY });
  const [code] = await once(limit, "exit");
  if (code !== 0) return t.skip("no prlimit here");
  host.child.kill("SIGKILL");
  await assertNothingLeft(host);
});

test("a guardian that only has ps, as on macOS, ends descendants and marked orphans", async (t) => {
  const place = await ground(t);
  const id = "0123456789abcdef0123456789abcdef";
  const leader = spawn(
    "/bin/sh",
    [
      "-c",
      `${PRELUDE}trap '' TERM; note; setsid sh -c "$STAY" & (setsid sh -c "$STAY" &) ; while :; do sleep 0.05; done`,
    ],
    { env: { ...treeEnv(place.root), PI_CLAUDE_SUPERVISOR_TREE: id }, detached: true, stdio: "ignore" },
  );
  await place.complete(3);
  const script = fileURLToPath(new URL("../../../src/platform/containment/guardian.sh", import.meta.url));
  const guardian = spawn("/bin/sh", [script, id, "", "", "", "50"], {
    env: { GUARDIAN_PS: "axeww" },
    stdio: ["pipe", "pipe", "inherit"],
  });
  await within(once(guardian.stdout, "data"), 10_000, "the guardian is ready");
  const ps = spawn("ps", ["-o", "lstart=", "-p", String(leader.pid)], { env: { LC_ALL: "C", PATH: process.env.PATH } });
  const [started] = await within(once(ps.stdout, "data"), 10_000, "ps answers");
  guardian.stdin.end(`leader ${leader.pid} ${String(started).trim().replace(/\s+/g, " ")}\n`);
  await within(once(guardian, "exit"), 20_000, "the guardian leaves");
  await until(() => place.alive().length === 0, 1000, "the tree is gone");
});

test("a supervisor that can't have a guardian starts nothing", async (t) => {
  const place = await ground(t);
  const spawned = await spawnContained({
    file: "/bin/sh",
    args: ["-c", `${PRELUDE}note`],
    cwd: place.root,
    env: treeEnv(place.root),
    mode: "auto",
    setupTimeoutMs: 0,
  });
  assert.ok(!spawned.ok);
  assert.equal(spawned.reason, "no-guardian");
  assert.deepEqual(place.pids(), []);
});

async function assertNothingLeft(host: Host): Promise<void> {
  const died = performance.now();
  const records = host.records();
  const rest = (): string[] => [
    ...host.ground.alive().map((each) => `${each.pid} ${each.command}`),
    ...records.filter((record) => isAlive(guardianOf(record))).map(() => "guardian"),
    ...records.filter((record) => isAlive(record.leader)).map(() => "leader"),
    ...records.flatMap((record) => (record.cgroup !== undefined && existsSync(record.cgroup) ? [record.cgroup] : [])),
  ];
  await until(
    () => rest().length === 0,
    DEADLINE,
    () => `nothing is left, but: ${rest().join("; ")}`,
  );
  assert.ok(performance.now() - died < DEADLINE);
}

function guardianOf(record: ContainmentRecord | undefined): { pid: number; startTicks: string; bootId: string } {
  assert.ok(record?.guardian);
  return record.guardian;
}

async function temporaryFolder(place: Ground, user: "own" | "other"): Promise<string> {
  const folder = join(place.root, "worker tmp");
  mkdirSync(join(folder, "deep"), { recursive: true });
  writeFileSync(join(folder, "deep", "file"), "");
  if (user === "other") for (const path of [folder, join(folder, "deep")]) await chown(path, NOBODY, NOBODY);
  return folder;
}

/** Long proofs: no window between spawn and attachment, and what containment costs. Numbers are printed as diagnostics. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { type TestContext, test } from "node:test";
import {
  type CgroupMode,
  type ContainedProcess,
  countProcesses,
  killNow,
  leftovers,
  spawnContained,
} from "../../../src/platform/containment/index.ts";
import { isAlive } from "../../support/processes.ts";
import { until } from "../../support/until.ts";
import { type Ground, ground, MODES, NO_CGROUP, startTree, treeEnv } from "./trees.ts";

const STARTS = 1000;
const AT_ONCE = 4;

for (const { mode, name: how, skip } of MODES) {
  test(`of ${STARTS} workers held ${how} whose very first act is a setsid fork, none loses its child`, {
    skip,
  }, async (t) => {
    const place = await ground(t);
    let started = 0;
    const escapes: string[] = [];
    const one = async (): Promise<void> => {
      while (started < STARTS) {
        started += 1;
        const file = join(place.root, `pids-${started}`);
        const tree = await begin(
          place,
          mode,
          { file: "/bin/sh", args: ["-c", 'setsid sh -c "$STAY" & exec sleep 1000'] },
          file,
        );
        await until(() => existsSync(file) && readFileSync(file, "utf8").endsWith("\n"), 15_000, "the child runs");
        const child = Number(readFileSync(file, "utf8"));
        const seen =
          mode === "off"
            ? leftovers(tree.record)?.some((each) => each.identity.pid === child)
            : readFileSync(`/proc/${child}/cgroup`, "utf8").includes(basename(tree.record.cgroup ?? "-"));
        if (seen !== true) escapes.push(`${child} of ${tree.pid}`);
        const outcome = await tree.stop({ kind: "now", graceMs: 0 });
        if (!outcome.proven || isAlive(child)) escapes.push(`${child} outlived the stop of ${tree.pid}`);
        await tree.settled;
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, one));
    assert.deepEqual(escapes, []);
  });
}

test("the launcher and its guardian cost little beside a plain spawn", async (t) => {
  const place = await ground(t);
  const plain: number[] = [];
  const contained: Record<string, number[]> = { off: [], required: [] };
  for (let n = 0; n < 60; n += 1) {
    const began = performance.now();
    const child = spawn("/bin/echo", ["x"], { stdio: ["pipe", "pipe", "pipe"], cwd: place.root });
    await once(child.stdout, "data");
    plain.push(performance.now() - began);
    await once(child, "close");
    for (const { mode, skip } of MODES) {
      if (skip !== false) continue;
      const start = performance.now();
      const tree = await begin(place, mode, { file: "/bin/echo", args: ["x"] }, join(place.root, "none"), true);
      contained[mode]?.push(performance.now() - start);
      await tree.stop({ kind: "now", graceMs: 0 });
      await tree.settled;
    }
  }
  report(t, "plain spawn to first output", plain);
  for (const [mode, times] of Object.entries(contained)) report(t, `contained (${mode}) spawn to first output`, times);
  assert.ok(median(contained.off ?? []) - median(plain) < 100);
});

test("a stop at once of a tree of 13 with proof is near a bare cgroup.kill", { skip: NO_CGROUP }, async (t) => {
  const tree13 = {
    processes: 13,
    script: `note; n=0; while [ $n -lt 12 ]; do n=$((n + 1)); setsid sh -c "$STAY" & done; echo ready; wait`,
  };
  const times: Record<string, number[]> = { required: [], off: [], bare: [] };
  for (let n = 0; n < 20; n += 1) {
    for (const mode of ["required", "off"] as const) {
      const { tree } = await startTree(t, tree13, mode);
      assert.equal(countProcesses(tree.record), 12);
      const began = performance.now();
      assert.ok((await killNow(tree.record)).proven);
      times[mode]?.push(performance.now() - began);
    }
    const { tree } = await startTree(t, tree13, "required");
    times.bare?.push(await bareKill(tree.record.cgroup ?? ""));
  }
  for (const [what, list] of Object.entries(times)) report(t, `13 processes, ${what}`, list);
  assert.ok(median(times.required ?? []) < 10 * median(times.bare ?? []) + 20);
});

/** The raw limit: one write, then reading until the kernel says empty. */
async function bareKill(cgroup: string): Promise<number> {
  const began = performance.now();
  writeFileSync(join(cgroup, "cgroup.kill"), "1");
  while (!readFileSync(join(cgroup, "cgroup.events"), "latin1").includes("populated 0")) {
    await new Promise((resolve) => setImmediate(resolve));
  }
  return performance.now() - began;
}

async function begin(
  place: Ground,
  mode: CgroupMode,
  program: { file: string; args: string[] },
  pids: string,
  waitForOutput = false,
): Promise<ContainedProcess> {
  const spawned = await spawnContained({
    ...program,
    cwd: place.root,
    env: { ...treeEnv(place.root), PIDS: pids },
    mode,
  });
  assert.ok(spawned.ok, spawned.ok ? "" : spawned.message);
  const { process: tree } = spawned;
  tree.stderr.resume();
  const output = once(tree.stdout, "data");
  await tree.release();
  if (waitForOutput) await output;
  else output.catch(() => undefined);
  return tree;
}

function median(times: readonly number[]): number {
  return times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] ?? Number.NaN;
}

function report(t: TestContext, what: string, times: readonly number[]): void {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (share: number): string => (sorted[Math.floor(share * (sorted.length - 1))] ?? Number.NaN).toFixed(1);
  t.diagnostic(`${what}: median ${at(0.5)} ms, p95 ${at(0.95)} ms, n ${times.length}`);
}

/**
 * Trees to contain. Each scenario is a shell script that becomes the leader; every process in it writes its own pid into
 * `$PIDS` before it does anything else, so that a test asserts on pids that the product never saw. A script ends its
 * preparation with the word `ready` on standard output.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import {
  type CgroupMode,
  type ContainedProcess,
  describeContainment,
  type SpawnContainedInput,
  spawnContained,
} from "../../../src/platform/containment/index.ts";
import { isAlive, type ProcessInfo, processInfo } from "../../support/processes.ts";
import { until, within } from "../../support/until.ts";

const facts = describeContainment("auto");

export const HAS_CGROUP = facts.kind === "cgroup";

/** Why tests of cgroups are skipped here, for node:test's `skip`. */
export const NO_CGROUP = HAS_CGROUP ? false : facts.text;

export const MODES: readonly { mode: CgroupMode; name: string; skip: string | false }[] = [
  { mode: "required", name: "in a cgroup", skip: NO_CGROUP },
  { mode: "off", name: "by census", skip: false },
];

/** What a script may use: `note` writes the caller's pid, `as_child CMD` runs a shell program that notes itself first. */
export const PRELUDE = `
SELF='echo $$ >>"$PIDS"'
note() { echo $$ >>"$PIDS"; }
`;

export interface Scenario {
  name: string;
  script: string;
  /** How many pids it writes. */
  processes: number;
}

const STAY = 'eval "$SELF"; exec sleep 1000';

export const SCENARIOS: readonly Scenario[] = [
  { name: "a leader alone", processes: 1, script: "note; echo ready; exec sleep 1000" },
  {
    name: "children in the leader's group",
    processes: 3,
    script: `note; sh -c '${STAY}' & sh -c '${STAY}' & echo ready; wait`,
  },
  {
    name: "a grandchild with its own session",
    processes: 3,
    script: `note; sh -c 'eval "$SELF"; setsid sh -c "$STAY" & wait' & echo ready; wait`,
  },
  {
    name: "a double fork that was reparented to init",
    processes: 2,
    script: `note; sh -c 'setsid sh -c "$STAY" & exit 0'; echo ready; wait; exec sleep 1000`,
  },
  {
    name: "a daemon that dropped its environment, parent and session",
    processes: 2,
    script: `note; sh -c 'env -i PIDS="$PIDS" SELF="$SELF" setsid sh -c "$STAY" & exit 0'; echo ready; exec sleep 1000`,
  },
  {
    name: "a leader that ignores TERM and spins",
    processes: 1,
    script: "trap '' TERM INT HUP; note; echo ready; while :; do :; done",
  },
  {
    name: "a tree in which everything ignores TERM",
    processes: 3,
    script: `trap '' TERM INT HUP; note; setsid sh -c "$STAY" & sh -c "$STAY" & echo ready; while :; do sleep 0.05; done`,
  },
  {
    name: "a stopped child",
    processes: 2,
    script: `note; sh -c 'eval "$SELF"; kill -STOP $$; exec sleep 1000' & echo ready; wait`,
  },
  { name: "a leader that stopped itself", processes: 1, script: "note; echo ready; kill -STOP $$; exec sleep 1000" },
  {
    name: "200 processes in 40 sessions",
    processes: 201,
    script: `note; n=0; while [ $n -lt 40 ]; do n=$((n + 1)); setsid sh -c 'for i in 1 2 3 4; do sh -c "$STAY" & done; eval "$STAY"' & done; echo ready; wait`,
  },
];

export interface Ground {
  root: string;
  /** Pids that the tree wrote. */
  pids(): number[];
  /** Those that still run. */
  alive(): ProcessInfo[];
  /** Waits until the scenario's processes have all written themselves. */
  complete(processes: number): Promise<void>;
  /** Runs before the clean-up; the last registered first. */
  defer(undo: () => Promise<unknown>): void;
}

/** A folder for one test; its clean-up kills what is left by pid and fails the test for it. */
export async function ground(t: TestContext): Promise<Ground> {
  const root = await realpath(await mkdtemp(join(tmpdir(), "pcs-tree-")));
  const pids = (): number[] => {
    try {
      return readFileSync(join(root, "pids"), "utf8").split("\n").filter(Boolean).map(Number);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
      throw error;
    }
  };
  const born = new Map<number, string>();
  const alive = (): ProcessInfo[] => {
    for (const pid of pids()) if (!born.has(pid)) born.set(pid, processInfo(pid)?.startTicks ?? "");
    return [...born].flatMap(([pid, start]) =>
      isAlive(pid, start) ? [processInfo(pid)].filter((x) => x !== undefined) : [],
    );
  };
  const deferred: (() => Promise<unknown>)[] = [];
  // node:test runs hooks in the order of their registration, so there is one hook.
  t.after(async () => {
    for (const undo of deferred.reverse()) await undo();
    const left = alive();
    for (const each of left) process.kill(each.pid, "SIGKILL");
    await rm(root, { recursive: true, force: true });
    assert.deepEqual(
      left.map((each) => `${each.pid} ${each.command}`),
      [],
      "processes are left",
    );
  });
  return {
    root,
    pids,
    alive,
    defer: (undo) => void deferred.push(undo),
    complete: async (processes) => {
      await until(
        () => pids().length >= processes,
        15_000,
        () => `${processes} processes, not ${pids().length}`,
      );
      alive();
    },
  };
}

/** The environment that scripts need. */
export function treeEnv(root: string): Record<string, string> {
  return { PATH: process.env.PATH ?? "/usr/bin:/bin", PIDS: join(root, "pids"), SELF: 'echo $$ >>"$PIDS"', STAY };
}

/** Spawns a scenario contained, waits until it is whole. The test's end stops it. */
export async function startTree(
  t: TestContext,
  scenario: Pick<Scenario, "script" | "processes">,
  mode: CgroupMode,
  over: Partial<SpawnContainedInput> = {},
  where: { place?: Ground; env?: Readonly<Record<string, string>> } = {},
): Promise<{ tree: ContainedProcess; ground: Ground }> {
  const place = where.place ?? (await ground(t));
  const spawned = await spawnContained({
    file: "/bin/sh",
    args: ["-c", PRELUDE + scenario.script],
    cwd: place.root,
    env: { ...treeEnv(place.root), ...where.env },
    mode,
    ...over,
  });
  assert.ok(spawned.ok, spawned.ok ? "" : spawned.message);
  const tree = spawned.process;
  place.defer(async () => {
    await tree.stop({ kind: "now", graceMs: 0 });
    await within(tree.settled, 15_000, "the guardian leaves");
  });
  let output = "";
  tree.stdout.on("data", (chunk) => {
    output += String(chunk);
  });
  tree.stderr.resume();
  assert.deepEqual(await tree.release(), { ok: true });
  await until(() => output.includes("ready"), 15_000, "the tree is ready");
  await place.complete(scenario.processes);
  return { tree, ground: place };
}

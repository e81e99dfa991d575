/** Other processes of ours for tests: a supervisor that can be killed, a stopper that knows only the record. */
import assert from "node:assert/strict";
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync } from "node:fs";
import type { TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { ContainmentRecord, StopOutcome } from "../../../src/core/contracts/worker.ts";
import type { CgroupMode, StopTreeOptions } from "../../../src/platform/containment/index.ts";
import { until } from "../../support/until.ts";
import { type Ground, ground, PRELUDE, treeEnv } from "./trees.ts";

const TSX = import.meta.resolve("tsx");
const HOST = fileURLToPath(new URL("./fixtures/host.ts", import.meta.url));
const STOPPER = fileURLToPath(new URL("./fixtures/stopper.ts", import.meta.url));

/** A number that no account has, so that limits by account concern only this test. */
export const NOBODY = 54_321;

export const IS_ROOT = process.getuid?.() === 0;

export const USERS: readonly { user: "own" | "other"; name: string; skip: string | false }[] = [
  { user: "own", name: IS_ROOT ? "as root" : "as this user", skip: false },
  { user: "other", name: "as another user", skip: IS_ROOT ? false : "needs root to change the user" },
];

export interface Host {
  child: ChildProcess;
  /** As last printed. */
  records(): ContainmentRecord[];
  ground: Ground;
}

/** Starts a supervisor in its own process; resolves when its trees are ready. */
export async function startHost(
  t: TestContext,
  input: {
    trees: { script: string; tmpDir?: string }[];
    mode: CgroupMode;
    user?: "own" | "other";
    processes: number;
    release?: boolean;
    place?: Ground;
    /** Added to the trees' environment. */
    env?: Readonly<Record<string, string>>;
  },
): Promise<Host> {
  const place = input.place ?? (await ground(t));
  const other = input.user === "other";
  if (other) chmodSync(place.root, 0o777);
  const orders = {
    trees: input.trees.map((each) => ({ ...each, script: PRELUDE + each.script })),
    mode: input.mode,
    cwd: place.root,
    env: { ...treeEnv(place.root), ...input.env },
    release: input.release ?? true,
  };
  const child = spawn(process.execPath, ["--import", TSX, HOST, JSON.stringify(orders)], {
    cwd: place.root,
    env: { PATH: process.env.PATH ?? "", HOME: place.root, TMPDIR: place.root },
    stdio: ["pipe", "pipe", "pipe"],
    ...(other ? { uid: NOBODY, gid: NOBODY } : {}),
  });
  place.defer(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exit = once(child, "exit");
    child.kill("SIGKILL");
    await exit;
    await until(() => place.alive().length === 0, 10_000, "the guardian has cleaned up");
  });
  let output = "";
  let errors = "";
  child.stdout.on("data", (chunk) => {
    output += String(chunk);
  });
  child.stderr.on("data", (chunk) => {
    errors += String(chunk);
  });
  await until(
    () => output.includes("\n") || child.exitCode !== null,
    30_000,
    () => `the host is ready; ${errors}`,
  );
  assert.equal(child.exitCode, null, errors);
  const records = (): ContainmentRecord[] => {
    const last = output.trimEnd().split("\n").at(-1) ?? "{}";
    return (JSON.parse(last) as { records: ContainmentRecord[] }).records;
  };
  await place.complete(input.processes);
  return { child, records, ground: place };
}

/** Runs `stopTree` in a fresh process that knows only the record. */
export async function stopElsewhere(
  record: ContainmentRecord,
  options: StopTreeOptions,
  user: "own" | "other" = "own",
): Promise<StopOutcome> {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ["--import", TSX, STOPPER, JSON.stringify(record), JSON.stringify(options)],
    {
      cwd: "/",
      env: { PATH: process.env.PATH ?? "", HOME: "/", TMPDIR: "/tmp" },
      ...(user === "other" ? { uid: NOBODY, gid: NOBODY } : {}),
    },
  );
  return JSON.parse(stdout) as StopOutcome;
}

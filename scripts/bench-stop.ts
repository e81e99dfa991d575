/** `--now` of a tree of 13 processes, with proof, against a bare `cgroup.kill`. */
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { makeCgroup, removeCgroup } from "../src/platform/containment/cgroup.ts";
import { describeContainment, spawnContained } from "../src/platform/containment/index.ts";
import { type BenchOptions, inTurns, median, type Row, type Section, type Target } from "./bench/measure.ts";

/** A leader, four sessions, two programs in each: what Claude's Bash tool leaves behind. Each session says when it is up. */
const TREE = "for i in 1 2 3 4; do setsid sh -c 'sleep 1000 & sleep 1000 & echo up; wait' & done; wait";
const SESSIONS = 4;
const PROCESSES = 13;

export async function run({ rounds, quick, log }: BenchOptions): Promise<Section> {
  const times = quick ? 3 : Math.max(rounds, 15);
  log(`${times} trees each way`);
  const facts = describeContainment("auto");
  const variants = {
    census: () => contained("off"),
    ...(facts.kind === "cgroup" ? { bare, ours: () => contained("required") } : {}),
  };
  const seen = await inTurns<number>(times, variants);
  const ms = (name: string): number => median(seen[name] ?? []);
  const rows: Row[] = [
    ...(facts.kind === "cgroup"
      ? [
          { what: "bare cgroup.kill until the cgroup is empty", value: ms("bare"), unit: "ms" },
          { what: "stop --now in a cgroup, with proof", value: ms("ours"), unit: "ms" },
        ]
      : []),
    { what: "stop --now by census, with proof", value: ms("census"), unit: "ms" },
  ];
  const limit = 2 * ms("bare") + 50;
  const targets: Target[] =
    facts.kind === "cgroup"
      ? [
          {
            what: "stop --now in a cgroup, against 2 × bare + 50 ms",
            value: ms("ours"),
            limit,
            kind: "at most",
            unit: "ms",
            why: "Beside the kernel's own kill the stop reads the process table for what may have left the cgroup, and waits until the guardian has left.",
          },
        ]
      : [];
  return {
    title: "The stop",
    method: `A shell with four sessions of two programs each (${PROCESSES} processes) is started in a containment and stopped at once; the time ends when the stop has its proof that nothing is left, guardian dismissed. Bare is a write to cgroup.kill and reading cgroup.events until it says empty.`,
    rows,
    targets,
    ...(facts.kind === "cgroup" ? {} : { notes: [facts.text] }),
  };
}

async function contained(mode: "required" | "off"): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), "pcs-bench-stop-"));
  try {
    const spawned = await spawnContained({
      file: "/bin/sh",
      args: ["-c", TREE],
      cwd: "/",
      env: { PATH: process.env["PATH"] ?? "/usr/bin:/bin" },
      mode,
      tmpDir: folder,
      stdin: "ignore",
    });
    if (!spawned.ok) throw new Error(spawned.message);
    const { process: tree } = spawned;
    const ready = allUp(tree.stdout);
    tree.stderr.resume();
    await tree.release();
    await ready;
    const began = performance.now();
    const outcome = await tree.stop({ kind: "now", graceMs: 0 });
    const took = performance.now() - began;
    if (!outcome.proven) throw new Error(`not stopped: ${JSON.stringify(outcome.remaining)}`);
    return took;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function bare(): Promise<number> {
  const made = makeCgroup(randomBytes(16).toString("hex"));
  if (!made.ok) throw new Error(made.message);
  const procs = join(made.path, "cgroup.procs");
  const child = spawn("/bin/sh", ["-c", `echo $$ >"${procs}"; ${TREE}`], { stdio: ["ignore", "pipe", "ignore"] });
  const gone = new Promise((resolve) => child.once("close", resolve));
  await allUp(child.stdout);
  const began = performance.now();
  writeFileSync(join(made.path, "cgroup.kill"), "1");
  while (!readFileSync(join(made.path, "cgroup.events"), "utf8").includes("populated 0"))
    await new Promise((resolve) => setImmediate(resolve));
  const took = performance.now() - began;
  await gone;
  removeCgroup(made.path);
  return took;
}

function allUp(stdout: NodeJS.ReadableStream): Promise<void> {
  let said = "";
  return new Promise((resolve) =>
    stdout.on("data", (chunk: Buffer) => {
      said += chunk.toString("utf8");
      if (said.split("\n").length > SESSIONS) resolve();
    }),
  );
}

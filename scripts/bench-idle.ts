/** What ten tasks cost that wait for their Claude: CPU of the supervisor's process and of its helpers. */
import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { supervisorDeps } from "../src/supervisor/index.ts";
import { LocalSupervisor } from "../src/supervisor/local-supervisor.ts";
import { FAKE } from "./bench/consumer.ts";
import { type BenchOptions, median, type Section } from "./bench/measure.ts";

const TASKS = 10;
/** Clock ticks a second of /proc/<pid>/stat; 100 on every Linux that we know (getconf CLK_TCK says). */
const TICKS = 100;

export async function run({ rounds, quick, log }: BenchOptions): Promise<Section> {
  const folder = await mkdtemp(join(tmpdir(), "pcs-bench-idle-"));
  const spanMs = quick ? 2_000 : 5_000;
  log(`${TASKS} quiet tasks, ${rounds} spans of ${spanMs / 1_000} s`);
  const made = supervisorDeps({
    PATH: process.env["PATH"] ?? "",
    HOME: folder,
    PI_CLAUDE_SUPERVISOR_STATE_DIR: join(folder, "state"),
    PI_CLAUDE_SUPERVISOR_CLAUDE: FAKE,
    PI_CLAUDE_SUPERVISOR_WORKER_ENV: "BENCH_TASK",
    BENCH_TASK: '{"kind":"quiet"}',
  });
  if (!made.ok) throw new Error(made.message);
  const supervisor = new LocalSupervisor(made.deps);
  try {
    for (let at = 0; at < TASKS; at += 1) {
      const cwd = join(folder, `repo-${at}`);
      mkdirSync(cwd);
      execFileSync("git", ["init", "-q"], { cwd });
      writeFileSync(join(cwd, "a.txt"), "x\n");
      const started = await supervisor.start({
        goal: "wait",
        from: cwd,
        mode: "manual",
        verify: ["true"],
        verifyIn: "workspace",
      });
      if (!started.ok) throw new Error(started.message);
    }
    const end = performance.now() + 60_000;
    while (
      supervisor.live().filter((view) => view.claudeSessionId !== null && view.state === "running").length < TASKS
    ) {
      if (performance.now() > end) throw new Error("the tasks do not come up");
      await pause(100);
    }
    await pause(spanMs / 2); // what a start leaves to do (syncs, snapshots) is not idleness
    const own: number[] = [];
    const helpers: number[] = [];
    for (let round = 0; round < rounds; round += 1) {
      const before = process.cpuUsage();
      const helpersBefore = helperTicks();
      const began = performance.now();
      await pause(spanMs);
      const ms = performance.now() - began;
      const { user, system } = process.cpuUsage(before);
      own.push(((user + system) / 1_000 / ms) * 100);
      helpers.push((((helperTicks() - helpersBefore) * 1_000) / TICKS / ms) * 100);
    }
    const all = own.map((value, round) => value + (helpers[round] ?? 0));
    return {
      title: "Ten quiet tasks",
      method: `${TASKS} tasks of one supervisor whose Claude has begun a turn and says nothing, for ${spanMs / 1_000} s a round. Helpers are the guardians and launchers of these tasks, at the kernel's resolution of 10 ms.`,
      rows: [
        { what: "the supervisor's process", value: median(own), unit: "% of a core" },
        { what: "its helpers together", value: median(helpers), unit: "% of a core" },
      ],
      targets: [
        {
          what: "ten quiet tasks",
          value: median(all),
          rounds: all,
          limit: 1,
          kind: "at most",
          unit: "% of a core",
          why: "What goes on while nothing happens: the looks at the stop's folder and at supervisor.json twice a second, and each task's watch over its worker.",
        },
      ],
    };
  } finally {
    for (const { taskId } of supervisor.live()) await supervisor.kill(taskId);
    await supervisor.shutdown(5_000);
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** User and system ticks of this process's children that are no claude, Linux; 0 elsewhere. */
function helperTicks(): number {
  if (process.platform !== "linux") return 0;
  let sum = 0;
  for (const entry of readdirSync("/proc")) {
    if (!/^\d+$/.test(entry)) continue;
    try {
      const stat = readFileSync(`/proc/${entry}/stat`, "utf8");
      const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      if (Number(fields[1]) !== process.pid) continue;
      if (readFileSync(`/proc/${entry}/cmdline`, "utf8").includes("fake-claude")) continue;
      sum += Number(fields[11]) + Number(fields[12]);
    } catch {
      // gone meanwhile
    }
  }
  return sum;
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

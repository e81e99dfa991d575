/** How long `recover` takes, by the size of the task's log: the whole chain is checked and folded, then Claude starts. */
import { execFileSync } from "node:child_process";
import { mkdirSync, statSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openEventLog } from "../src/store/open-log.ts";
import { supervisorDeps } from "../src/supervisor/index.ts";
import { LocalSupervisor } from "../src/supervisor/local-supervisor.ts";
import { FAKE } from "./bench/consumer.ts";
import { MIB, readBare, textRecord, timeOf } from "./bench/log-file.ts";
import { type BenchOptions, median, type Row, type Section } from "./bench/measure.ts";

/** Characters of text in a record: lines of some 520 bytes, as a busy task's are. */
const CHARS = 400;

export async function run({ rounds, quick, log }: BenchOptions): Promise<Section> {
  const folder = await mkdtemp(join(tmpdir(), "pcs-bench-recovery-"));
  const sizes = quick ? [0, 1] : [0, 1, 10, 100];
  const rows: Row[] = [];
  /** Milliseconds without a log to speak of. */
  let few = 0;
  try {
    for (const mib of sizes) {
      log(`a task with a log of ${mib === 0 ? "a few records" : `${mib} MiB`}, ${rounds} rounds`);
      const task = await stoppedTask(join(folder, `task-${mib}`), mib * MIB);
      const [recovered, bare]: [number[], number[]] = [[], []];
      let records = 0;
      for (let round = 0; round < rounds; round += 1) {
        bare.push(
          timeOf(() => {
            records = readBare(task.log);
          }),
        );
        recovered.push(await task.recover());
      }
      if (mib === 0) few = median(recovered);
      const beyond = (median(recovered) - few) / median(bare);
      const size = mib === 0 ? "a few records" : `${mib} MiB, ${records.toLocaleString("en-US")} records`;
      rows.push({
        what: `recover, a log of ${size}`,
        value: median(recovered),
        unit: "ms",
        ...(mib === 0 || beyond <= 0 ? {} : { ratio: { to: "bare, beyond the first row", value: beyond } }),
      });
    }
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  }
  return {
    title: "Recovery by the log's size",
    method:
      "A stopped task, whose log was filled up with sound records, is recovered by a new supervisor: it takes the task's lock, checks the whole chain, folds it into the state, looks for what is left of the old worker, starts a scripted claude in its containment in the same session, and answers after the handshake. The first row is what all that takes without a log to speak of; what is beyond it grows with the log, and is compared with reading, hashing and parsing the same file bare. `status` does not grow: it reads the end.",
    rows,
    targets: [],
  };
}

interface Task {
  log: string;
  /** Milliseconds until the new worker has passed its handshake; the task is stopped again. */
  recover(): Promise<number>;
}

async function stoppedTask(root: string, size: number): Promise<Task> {
  const cwd = join(root, "repo");
  mkdirSync(cwd, { recursive: true });
  execFileSync("git", ["init", "-q"], { cwd });
  writeFileSync(join(cwd, "a.txt"), "x\n");
  const made = supervisorDeps({
    PATH: process.env["PATH"] ?? "",
    HOME: root,
    PI_CLAUDE_SUPERVISOR_STATE_DIR: join(root, "state"),
    PI_CLAUDE_SUPERVISOR_CLAUDE: FAKE,
    PI_CLAUDE_SUPERVISOR_WORKER_ENV: "BENCH_TASK",
    BENCH_TASK: '{"kind":"quiet"}',
  });
  if (!made.ok) throw new Error(made.message);
  const { deps } = made;
  /** One act in a supervisor of its own, so that nothing of the task is in memory before it. */
  const alone = async <T>(act: (supervisor: LocalSupervisor) => Promise<T>): Promise<T> => {
    const supervisor = new LocalSupervisor(deps);
    try {
      return await act(supervisor);
    } finally {
      await supervisor.shutdown(5_000);
    }
  };
  const kill = async (supervisor: LocalSupervisor, taskId: string): Promise<void> => {
    const stopped = await supervisor.kill(taskId);
    if (!stopped.ok) throw new Error(stopped.message);
  };
  const taskId = await alone(async (supervisor) => {
    const request = { goal: "wait", from: cwd, mode: "manual", verify: ["true"], verifyIn: "workspace" } as const;
    const started = await supervisor.start({ ...request, verify: [...request.verify] });
    if (!started.ok) throw new Error(started.message);
    await kill(supervisor, started.taskId);
    return started.taskId;
  });
  const path = deps.layout.task(taskId).log;
  fill(path, taskId, size);
  return {
    log: path,
    recover: () =>
      alone(async (supervisor) => {
        const began = performance.now();
        const recovered = await supervisor.recover(taskId, { fresh: false });
        const took = performance.now() - began;
        if (!recovered.ok) throw new Error(recovered.message);
        await kill(supervisor, taskId);
        return took;
      }),
  };
}

/** Appends sound records until the log has that many bytes. */
function fill(path: string, taskId: string, size: number): void {
  const opened = openEventLog(path, { taskId });
  if (!opened.ok) throw new Error(opened.message);
  const batch = Array.from({ length: 500 }, (_, index) => textRecord(index, CHARS));
  while (statSync(path).size < size) {
    const written = opened.log.append(batch);
    if (!written.ok) throw new Error(written.message);
  }
  opened.log.closeNow();
}

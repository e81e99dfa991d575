/**
 * A supervisor in a process of its own, to be killed: `failures-host.ts CWD` starts one task there, prints its id as a
 * line when the worker has its turn, and stays until it is ended.
 */
import { supervisorDeps } from "../../src/supervisor/index.ts";
import { LocalSupervisor } from "../../src/supervisor/local-supervisor.ts";

async function main(cwd: string): Promise<void> {
  const made = supervisorDeps(process.env);
  if (!made.ok) throw new Error(made.message);
  const supervisor = new LocalSupervisor(made.deps);
  supervisor.subscribe(({ event, taskId }) => {
    if (event.type === "worker.init") process.stdout.write(`${taskId}\n`);
  });
  const started = await supervisor.start({ goal: "Do it", from: cwd, mode: "manual", verify: ["true"] });
  if (!started.ok) throw new Error(started.message);
  // The test that started this is gone.
  process.stdin.on("end", () => process.exit(0)).resume();
}

void main(process.argv[2] ?? "");

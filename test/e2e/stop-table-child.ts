/**
 * Fixture: `stop-table-child <place as JSON>` is a Pi without Pi: the real supervisor in a process of its own, with one task
 * of the scripted Claude. It says what came of its start, and when the worker is in its turn; then it stays.
 */
import { supervisorDeps } from "../../src/supervisor/index.ts";
import { LocalSupervisor } from "../../src/supervisor/local-supervisor.ts";
import { faultyFs } from "../store/faulty-fs.ts";

export interface Place {
  env: Readonly<Record<string, string>>;
  cwd: string;
  /** Once the task is at work its log's disk never answers again. */
  logHangs?: boolean;
}

const say = (event: string, more: object = {}): void => {
  process.stdout.write(`${JSON.stringify({ event, ...more })}\n`);
};

async function main(): Promise<void> {
  const place = JSON.parse(process.argv[2] ?? "{}") as Place;
  const made = supervisorDeps(place.env);
  if (!made.ok) throw new Error(made.message);
  const logFs = faultyFs();
  const supervisor = new LocalSupervisor({ ...made.deps, logFs });
  supervisor.subscribe(({ event }) => {
    if (event.type !== "worker.init") return;
    if (place.logHangs) logFs.hold = new Promise(() => undefined);
    say("ready", { taskId: event.taskId });
  });
  const started = await supervisor.start({ goal: "Do it", from: place.cwd, mode: "manual", verify: ["true"] });
  if (!started.ok) say("refused", { reason: started.reason, message: started.message });
  setInterval(() => undefined, 1 << 30);
}

main().catch((error: unknown) => {
  console.error(error);
  process.exit(1);
});

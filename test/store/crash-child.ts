/**
 * Fixture: `crash-child <state dir> <point> <before|half|after>` lives through the store's whole life and kills itself
 * at the given change of the file system: before it, after it, or (a write) in the middle. Each success that the store
 * claims is printed before anything else happens. Point 0 lives on and prints all changes.
 */
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";

const [stateDir = "", pointText = "0", when = "before"] = process.argv.slice(2);
const point = Number(pointText);
const say = fs.writeSync.bind(fs);
let changes = 0;
/** Of each change, which call it was. */
const kinds: string[] = [];

function claim(what: string, value: string | number): void {
  say(1, `${JSON.stringify([what, value])}\n`);
}

function crash(): void {
  process.kill(process.pid, "SIGKILL");
}

const real = { ...fs };
const patched = fs as unknown as Record<string, (...args: unknown[]) => unknown>;
for (const name of [
  "writeSync",
  "fsyncSync",
  "ftruncateSync",
  "renameSync",
  "mkdirSync",
  "rmSync",
  "unlinkSync",
  "openSync",
] as const) {
  const call = real[name] as (...args: unknown[]) => unknown;
  patched[name] = (...args) => {
    const reads = name === "openSync" && (Number(args[1]) & fs.constants.O_CREAT) === 0;
    if (reads) return call(...args);
    changes += 1;
    kinds.push(name);
    if (changes !== point) return call(...args);
    if (when === "half" && name === "writeSync") {
      const [fd, bytes, offset, length] = args as [number, Uint8Array, number, number];
      real.writeSync(fd, bytes, offset, Math.floor(length / 2));
    } else if (when === "after") call(...args);
    crash();
    return undefined;
  };
}
const datasync = real.fdatasync;
patched["fdatasync"] = (...args) => {
  changes += 1;
  kinds.push("fdatasync");
  if (changes === point) crash();
  return (datasync as (...args: unknown[]) => unknown)(...args);
};
syncBuiltinESMExports();

async function main(): Promise<void> {
  const { openStateDir } = await import("../../src/store/layout.ts");
  const { createTask, openTask } = await import("../../src/store/task-store.ts");
  const { takeCwdLock } = await import("../../src/store/cwd-lock.ts");
  const { writeTaskRecord } = await import("../../src/store/task-record.ts");
  const { discardTask } = await import("../../src/store/task-removal.ts");
  const { createIds } = await import("../../src/platform/ids.ts");

  const { layout } = must(openStateDir({ env: { PI_CLAUDE_SUPERVISOR_STATE_DIR: stateDir } }));
  const ids = createIds();
  const holder = (taskId: string) => ({ taskId, pid: process.pid, since: new Date().toISOString() });
  const make = async (taskId: string) => {
    const events = [{ type: "task.created", data: { goal: "g" } }];
    const record = () => ({ v: 1 as const, taskId, state: "created", seq: 1 });
    const { task } = must(await createTask(layout, { taskId, holder: holder(taskId), events, record }));
    claim("created", taskId);
    return task;
  };

  const taskId = ids.taskId();
  must(takeCwdLock(layout, process.cwd(), holder(taskId)));
  const first = await make(taskId);
  for (let round = 0; round < 2; round += 1) {
    must(first.log.append([{ type: "note", data: { round, text: "x".repeat(300) } }]));
    claim("written", first.log.seq);
  }
  must(await first.log.sync());
  must(writeTaskRecord(first.paths.record, { v: 1, taskId, state: "running", seq: first.log.seq }));
  claim("recorded", first.log.seq);
  must(await first.log.close());
  first.lock.release();

  // A torn end, as a crash of another kind would leave it.
  fs.appendFileSync(first.paths.log, '{"v":1,"seq":4,"taskId":"half');
  claim("tore", '{"v":1,"seq":4,"taskId":"half');
  const again = must(openTask(layout, { taskId, holder: holder(taskId), anchor: { seq: 3 } }));
  if (again.recovered === undefined) throw new Error("The torn end was not found.");
  must(again.task.log.append([{ type: "log.recovered", data: {} }]));
  claim("written", again.task.log.seq);
  must(await again.task.log.close());

  const second = await make(ids.taskId());
  must(await second.log.close());
  second.lock.release();
  must(discardTask(layout, second.taskId, { apply: true, holder: holder(second.taskId) }));
  claim("discarded", second.taskId);
  claim("changes", kinds.join(" "));
}

function must<T extends { ok: boolean }>(outcome: T): Extract<T, { ok: true }> {
  if (!outcome.ok) throw new Error(JSON.stringify(outcome));
  return outcome as Extract<T, { ok: true }>;
}

main().catch((error: unknown) => {
  console.error(error);
  process.exit(1);
});

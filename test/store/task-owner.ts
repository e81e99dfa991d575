/** Fixture: `task-owner <state dir> <taskId>` owns the task, appends until it is killed, and prints its seq once. */
import { openStateDir } from "../../src/store/layout.ts";
import { openTask } from "../../src/store/task-store.ts";

const [stateDir = "", taskId = ""] = process.argv.slice(2);
const opened = openStateDir({ env: { PI_CLAUDE_SUPERVISOR_STATE_DIR: stateDir } });
if (!opened.ok) throw new Error(opened.message);
const owned = openTask(opened.layout, {
  taskId,
  holder: { taskId, pid: process.pid, since: new Date().toISOString() },
});
if (!owned.ok) throw new Error(owned.message);
const { log } = owned.task;
const work = (): void => {
  log.append(Array.from({ length: 20 }, (_, i) => ({ type: "note", data: { i, text: "x".repeat(500) } })));
  if (log.seq === 201) console.log(String(log.seq));
  if (log.seq < 200_000) setImmediate(work);
};
work();

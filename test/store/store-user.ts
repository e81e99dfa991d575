/**
 * Fixture: `store-user <state dir> <cwd> <rounds> <taskId>...` becomes the owner of a random one of the tasks again and
 * again, with the lock of the folder, appends a few records, and lets go. Prints what happened as one JSON line.
 */
import { takeCwdLock } from "../../src/store/cwd-lock.ts";
import { openStateDir } from "../../src/store/layout.ts";
import { openTask } from "../../src/store/task-store.ts";

const [stateDir = "", cwd = "", rounds = "0", ...taskIds] = process.argv.slice(2);
const opened = openStateDir({ env: { PI_CLAUDE_SUPERVISOR_STATE_DIR: stateDir } });
if (!opened.ok) throw new Error(opened.message);
const { layout } = opened;
const tally = { owned: 0, appended: 0, busy: 0, overlaps: 0, other: [] as string[] };

for (let round = 0; round < Number(rounds); ) {
  const taskId = taskIds[Math.floor(Math.random() * taskIds.length)] ?? "";
  const holder = { taskId, pid: process.pid, since: new Date().toISOString() };
  const folder = takeCwdLock(layout, cwd, holder);
  if (!folder.ok) {
    if (folder.reason === "cwd-busy") tally.busy += 1;
    else tally.other.push(folder.reason);
    await new Promise((done) => setImmediate(done));
    continue;
  }
  const owned = openTask(layout, { taskId, holder });
  if (owned.ok) {
    tally.owned += 1;
    for (let i = 0; i < 3; i += 1) {
      const outcome = owned.task.log.append([{ type: "note", data: { pid: process.pid, round } }]);
      if (outcome.ok) tally.appended += 1;
      else tally.other.push(outcome.reason);
      if (i === 1) await new Promise((done) => setImmediate(done));
    }
    const closed = await owned.task.log.close();
    if (!closed.ok) tally.other.push(closed.reason);
    owned.task.lock.release();
  } else if (owned.reason === "live") tally.overlaps += 1;
  else tally.other.push(owned.reason);
  folder.lock.release();
  round += 1;
}
console.log(JSON.stringify(tally));

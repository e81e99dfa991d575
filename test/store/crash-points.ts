/** What must hold after the store's process was killed at one point of its life. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { verifyLog } from "../../src/store/log-reader.ts";
import { listTasks } from "../../src/store/task-list.ts";
import { readTaskRecord } from "../../src/store/task-record.ts";
import { openTask } from "../../src/store/task-store.ts";
import { holderOf, layoutAt, memoryFolder, mustBeOk } from "./temp-store.ts";

const CHILD = fileURLToPath(new URL("crash-child.ts", import.meta.url));

const MOMENTS = ["before", "half", "after"] as const;
export type Moment = (typeof MOMENTS)[number];

/** Every change of the file system in the whole life, with the moments that differ: only a write has a middle. */
export async function allPoints(t: TestContext): Promise<[number, Moment][]> {
  const claims = await runChild(t, join(memoryFolder(t), "state"), 0, "before");
  const kinds = String(claims.find(([what]) => what === "changes")?.[1]).split(" ");
  assert.ok(kinds.length > 40 && kinds.includes("renameSync") && kinds.includes("fdatasync"), kinds.join());
  return kinds.flatMap((kind, i) =>
    MOMENTS.filter((moment) => moment !== "half" || kind === "writeSync").map((moment): [number, Moment] => [
      i + 1,
      moment,
    ]),
  );
}

export async function crashAt(t: TestContext, point: number, moment: Moment): Promise<void> {
  const stateDir = join(memoryFolder(t), "state");
  const claims = await runChild(t, stateDir, point, moment);
  const layout = layoutAt(stateDir);
  const where = `point ${point} ${moment}: ${JSON.stringify(claims)}`;

  const list = mustBeOk(await listTasks(layout));
  assert.deepEqual(list.faulty, [], where);
  const onDisk = list.tasks.map((task) => task.taskId);
  const claimed = (what: string) => claims.filter(([one]) => one === what).map(([, value]) => value);
  const gone = new Set(claimed("discarded"));
  const [first, second] = claimed("created") as string[];
  if (first !== undefined) assert.ok(onDisk.includes(first), where);
  if (second !== undefined && gone.has(second)) assert.ok(!onDisk.includes(second), where);

  for (const taskId of onDisk) {
    const { log, record } = layout.task(taskId);
    const stored = mustBeOk(readTaskRecord(record, taskId)).record;
    const written = taskId === first ? Math.max(1, ...(claimed("written") as number[])) : 1;
    assert.ok(stored.seq >= Math.max(1, ...(taskId === first ? (claimed("recorded") as number[]) : [])), where);
    const folder = join(log, "..");
    const names = () => readdirSync(folder).filter((name) => name.startsWith("events.jsonl"));
    for (const torn of taskId === first ? (claimed("tore") as string[]) : []) {
      assert.ok(
        names().some((name) => readFileSync(join(folder, name)).includes(torn)),
        where,
      );
    }
    const opened = mustBeOk(openTask(layout, { taskId, holder: holderOf(taskId), anchor: { seq: stored.seq } }));
    assert.ok(opened.task.log.seq >= written, where);
    // The planted torn end, and one more when the crash came in the middle of the next record.
    assert.ok(names().length <= 3, `${names()} ${where}`);
    mustBeOk(opened.task.log.append([{ type: "note", data: {} }]));
    mustBeOk(await opened.task.log.close());
    opened.task.lock.release();
    mustBeOk(await verifyLog(log, taskId));
  }
}

async function runChild(t: TestContext, stateDir: string, point: number, moment: Moment): Promise<[string, unknown][]> {
  const args = ["--import", "tsx", CHILD, stateDir, String(point), moment];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "pipe"] });
  t.after(() => child.exitCode === null && child.signalCode === null && child.kill("SIGKILL"));
  let [output, errors] = ["", ""];
  child.stdout.on("data", (chunk) => {
    output += String(chunk);
  });
  child.stderr.on("data", (chunk) => {
    errors += String(chunk);
  });
  await new Promise((done) => child.on("close", done));
  assert.equal(point === 0 ? child.exitCode : child.signalCode, point === 0 ? 0 : "SIGKILL", errors);
  return output
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line));
}

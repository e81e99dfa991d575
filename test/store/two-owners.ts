/** Several processes on one store at once: shared by the short test and the long proof. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { readEvents, verifyLog } from "../../src/store/log-reader.ts";
import { layoutAt, mustBeOk, newTask, tempFolder } from "./temp-store.ts";

const USER = fileURLToPath(new URL("store-user.ts", import.meta.url));

interface Tally {
  owned: number;
  appended: number;
  busy: number;
  overlaps: number;
  other: string[];
}

export async function interleave(t: TestContext, options: { processes: number; rounds: number }): Promise<void> {
  const folder = tempFolder(t);
  const layout = layoutAt(join(folder, "state"));
  const cwd = join(folder, "work");
  mkdirSync(cwd);
  const ids: string[] = [];
  for (let i = 0; i < 2; i += 1) {
    const task = await newTask(layout);
    await task.log.close();
    task.lock.release();
    ids.push(task.taskId);
  }
  const tallies = await Promise.all(
    Array.from({ length: options.processes }, () => runUser(t, [layout.root, cwd, String(options.rounds), ...ids])),
  );
  let records = 0;
  const writers = new Set<unknown>();
  for (const taskId of ids) {
    records += mustBeOk(await verifyLog(layout.task(taskId).log, taskId)).records - 1;
    for await (const item of readEvents(layout.task(taskId).log, taskId, { from: 2 })) {
      writers.add((mustBeOk(item).event.data as { pid?: unknown }).pid);
    }
  }
  assert.deepEqual(
    tallies.flatMap((tally) => tally.other),
    [],
  );
  assert.equal(
    records,
    tallies.reduce((sum, tally) => sum + tally.appended, 0),
  );
  assert.equal(records, options.processes * options.rounds * 3);
  assert.equal(writers.size, options.processes);
  // One folder lock for all: nobody can have met a task that was owned.
  assert.equal(
    tallies.reduce((sum, tally) => sum + tally.overlaps, 0),
    0,
  );
  t.diagnostic(
    `${records} records, refused for the other's lock ${tallies.map((tally) => tally.busy).join(" and ")} times`,
  );
}

async function runUser(t: TestContext, args: string[]): Promise<Tally> {
  const child = spawn(process.execPath, ["--import", "tsx", USER, ...args], { stdio: ["ignore", "pipe", "inherit"] });
  t.after(() => child.exitCode === null && child.signalCode === null && child.kill("SIGKILL"));
  let output = "";
  child.stdout.on("data", (chunk) => {
    output += String(chunk);
  });
  await new Promise((done) => child.on("close", done));
  assert.equal(child.exitCode, 0);
  return JSON.parse(output);
}

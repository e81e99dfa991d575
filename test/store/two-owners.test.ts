import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { verifyLog } from "../../src/store/log-reader.ts";
import { openTask } from "../../src/store/task-store.ts";
import { holderOf, mustBeOk, newTask, reasonOf, tempLayout } from "./temp-store.ts";
import { interleave } from "./two-owners.ts";

const OWNER = fileURLToPath(new URL("task-owner.ts", import.meta.url));

describe("two processes on one store", () => {
  test("never have the same task or folder at once, and number their records without gap or repetition", (t) =>
    interleave(t, { processes: 2, rounds: 20 }));

  test("a killed owner frees its task at once; what it wrote is there, what it tore is set aside", async (t) => {
    const layout = tempLayout(t);
    const task = await newTask(layout);
    await task.log.close();
    task.lock.release();
    const { taskId, paths } = task;

    const child = spawn(process.execPath, ["--import", "tsx", OWNER, layout.root, taskId], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    t.after(() => child.exitCode === null && child.signalCode === null && child.kill("SIGKILL"));
    const seq = await new Promise<number>((done) =>
      createInterface({ input: child.stdout }).once("line", (line) => done(Number(line))),
    );
    const refused = openTask(layout, { taskId, holder: holderOf(taskId) });
    assert.equal(reasonOf(refused), "live");
    assert.ok(!refused.ok && refused.message.includes(`process ${child.pid}`));

    child.kill("SIGKILL");
    await new Promise((done) => child.once("exit", done));
    const mine = mustBeOk(openTask(layout, { taskId, holder: holderOf(taskId) }));
    assert.ok(mine.task.log.seq >= seq, "written records survive the death of their writer");
    mustBeOk(mine.task.log.append([{ type: "note", data: {} }]));
    mustBeOk(await mine.task.log.close());
    mine.task.lock.release();
    mustBeOk(await verifyLog(paths.log, taskId));
  });
});

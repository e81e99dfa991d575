/** A state folder of its own for one test, and what the tests of the store build in it. */
import { existsSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { createIds } from "../../src/platform/ids.ts";
import type { HolderInfo } from "../../src/store/cwd-lock.ts";
import type { EventInput } from "../../src/store/event-line.ts";
import { openStateDir, type StateLayout } from "../../src/store/layout.ts";
import { createEventLog, type OpenedLog, type OpenLogOptions, openEventLog } from "../../src/store/open-log.ts";
import { createTask, type OwnedTask } from "../../src/store/task-store.ts";

const ids = createIds();

export function tempFolder(t: TestContext): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "pcs-store-")));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** On a memory file system where there is one: for tests that make thousands of files durable. */
export function memoryFolder(t: TestContext): string {
  if (!existsSync("/dev/shm")) return tempFolder(t);
  const folder = mkdtempSync("/dev/shm/pcs-store-");
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

export function tempLayout(t: TestContext): StateLayout {
  return layoutAt(join(tempFolder(t), "state"));
}

export function layoutAt(folder: string): StateLayout {
  const opened = openStateDir({ env: { PI_CLAUDE_SUPERVISOR_STATE_DIR: folder } });
  return mustBeOk(opened).layout;
}

export function mustBeOk<T extends { ok: boolean }>(outcome: T): Extract<T, { ok: true }> {
  if (!outcome.ok) throw new Error(`Expected success, got ${JSON.stringify(outcome)}`);
  return outcome as Extract<T, { ok: true }>;
}

export function newTaskId(): string {
  return ids.taskId();
}

export function holderOf(taskId: string): HolderInfo {
  return { taskId, pid: process.pid, since: new Date().toISOString() };
}

export function note(text: string): EventInput {
  return { type: "note", data: { text } };
}

export function reasonOf(outcome: { ok: true } | { ok: false; reason: string }): string {
  return outcome.ok ? "ok" : outcome.reason;
}

/** A person must see what, why and what to do, on one line. */
export function isPlainSentence(message: string): boolean {
  return /^[^\n]{20,700}$/.test(message) && !/undefined|\[object|Error:/.test(message);
}

export function openLog(path: string, options: Partial<OpenLogOptions> & { taskId: string }): OpenedLog {
  return mustBeOk(openEventLog(path, options));
}

export function newLog(folder: string, options: Partial<OpenLogOptions> & { taskId: string }) {
  const path = join(folder, "events.jsonl");
  mustBeOk(createEventLog(path));
  return { path, log: openLog(path, options).log };
}

export async function newTask(layout: StateLayout, taskId = newTaskId()): Promise<OwnedTask> {
  const created = await createTask(layout, {
    taskId,
    holder: holderOf(taskId),
    events: [{ type: "task.created", data: { goal: "test" } }],
    record: (events) => ({ v: 1, taskId, state: "created", seq: events.length, goal: "test" }),
  });
  return mustBeOk(created).task;
}

/**
 * A task as outsiders see it: its files under the state directory and its answers over Pi. Reads the files by the published
 * format (one JSON record a line, `seq` gapless from 1, `prev` = SHA-256 of the line before), not by the product's code.
 */
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { parseObject } from "./json-lines.ts";
import type { Json, Pi } from "./pi.ts";
import { until } from "./until.ts";

export interface TaskEvent {
  seq: number;
  taskId: string;
  /** ISO 8601, UTC. */
  at: string;
  type: string;
  data: Json;
  prev: string;
}

export function taskFolder(stateDir: string, taskId: string): string {
  return join(stateDir, "tasks", taskId);
}

/** `task.json`. Throws when there is none. */
export async function readTask(stateDir: string, taskId: string): Promise<Json> {
  return JSON.parse(await readFile(join(taskFolder(stateDir, taskId), "task.json"), "utf8")) as Json;
}

/** The whole records of `events.jsonl`; an unfinished last line is left out. None when there is no log yet. */
export async function readEvents(stateDir: string, taskId: string): Promise<TaskEvent[]> {
  const lines = await logLines(stateDir, taskId);
  return lines.map((line) => parseObject(line.toString("utf8")) as unknown as TaskEvent);
}

/** What is wrong with the log's numbering and hash chain; an empty list for a sound log. */
export async function logProblems(stateDir: string, taskId: string): Promise<string[]> {
  const problems: string[] = [];
  let prev = "0".repeat(64);
  for (const [index, line] of (await logLines(stateDir, taskId)).entries()) {
    const record = parseObject(line.toString("utf8"));
    if (!record) problems.push(`line ${index + 1} is no JSON object`);
    else {
      if (record.seq !== index + 1) problems.push(`line ${index + 1} has seq ${String(record.seq)}`);
      if (record.taskId !== taskId) problems.push(`line ${index + 1} is of task ${String(record.taskId)}`);
      if (record.prev !== prev) problems.push(`line ${index + 1} does not follow from the line before`);
    }
    prev = createHash("sha256").update(line).digest("hex");
  }
  return problems;
}

/** The first event, past or future, that `matches`. */
export function waitForEvent(
  stateDir: string,
  taskId: string,
  matches: (event: TaskEvent) => boolean,
  deadlineMs: number,
  what: string,
): Promise<TaskEvent> {
  let seen: TaskEvent[] = [];
  return until(
    async () => {
      seen = await readEvents(stateDir, taskId);
      return seen.find(matches);
    },
    deadlineMs,
    () => `${what}; recorded: ${seen.map((event) => event.type).join(" ") || "nothing"}`,
    50,
  );
}

/** Resolves with the answer of `status` once the task is in one of `states`. */
export function waitForState(pi: Pi, taskId: string, states: readonly string[], deadlineMs: number): Promise<Json> {
  let last: Json = {};
  return until(
    async () => {
      last = await pi.run(`/supervise status ${taskId} --json`);
      return states.includes(String(last.state)) ? last : undefined;
    },
    deadlineMs,
    () => `state ${states.join(" or ")}; last status: ${JSON.stringify(last).slice(0, 2_000)}`,
    100,
  );
}

async function logLines(stateDir: string, taskId: string): Promise<Buffer[]> {
  let bytes: Buffer;
  try {
    bytes = await readFile(join(taskFolder(stateDir, taskId), "events.jsonl"));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
  const lines: Buffer[] = [];
  let from = 0;
  for (let at = bytes.indexOf(10); at >= 0; at = bytes.indexOf(10, from)) {
    lines.push(bytes.subarray(from, at));
    from = at + 1;
  }
  return lines;
}

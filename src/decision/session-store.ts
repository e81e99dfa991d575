/**
 * Where decision sessions lie, one folder a task, 0700, so that nobody else reads them (Pi writes its files with the
 * umask, 0644 as a rule; both lines):
 *
 *     <decisions folder>/<taskId>/session.json    which file is in use, 0600, replaced atomically
 *     <decisions folder>/<taskId>/*.jsonl         Pi's own session files
 *
 * Everything is judged when it is read. A damaged piece is set aside and named; it never stops the task: the goal is
 * told again to a new session, and what was decided stands in the task's own log.
 */
import { chmodSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import type { Failure, Result } from "../core/result.ts";
import { failure } from "../core/result.ts";
import { durableWrite } from "../platform/durable-write.ts";
import { errnoOf, fileFailure } from "../platform/errno.ts";
import { isTaskId } from "../platform/ids.ts";
import { readNoFollow } from "../platform/no-follow.ts";
import { openPrivateDir } from "../platform/private-dir.ts";
import { fieldOf, textOf } from "./questions.ts";

const MAPPING = "session.json";
const MAX_MAPPING_BYTES = 16 * 1024;
/** A session is renewed long before (see `decision-worker.ts`); a larger file is not ours. */
const MAX_SESSION_BYTES = 64 * 1024 * 1024;
const FILE_NAME = /^[\w.-]{1,200}\.jsonl$/;

export interface KeptSession {
  /** Folder of the task's sessions, real path. */
  folder: string;
  /** Absolute; present when a session can go on. */
  file?: string;
  /** What was found damaged and set aside, or could not be used: one sentence each. */
  notes: string[];
}

export interface DecisionSessionStore {
  /** The task's folder, made on first use, and the session that goes on. Reasons: those of `openPrivateDir`. */
  find(taskId: string): Result<{ kept: KeptSession }>;
  /** Notes durably which file is in use; also makes it ours alone, once it is there. Reasons: disk faults. */
  keep(taskId: string, file: string): Result;
  /** Makes the file ours alone; a file that is not there yet is fine. */
  protect(file: string): void;
  /** All tasks with a folder, whether or not anything in it can be used. */
  tasks(): string[];
  /** Drops the task's sessions. */
  discard(taskId: string): Result;
}

/** `folder` is the state directory's `decisions` folder (0700, real path). */
export function decisionSessionStore(folder: string): DecisionSessionStore {
  return {
    find(taskId) {
      const opened = openTaskFolder(folder, taskId);
      if (!opened.ok) return opened;
      const kept: KeptSession = { folder: opened.path, notes: [] };
      const mapped = readMapping(opened.path, taskId);
      if (!mapped.ok && mapped.reason !== "missing") kept.notes.push(setAside(join(opened.path, MAPPING), mapped));
      // Without a mapping the newest session that can be read goes on: the mapping holds nothing else.
      const names = mapped.ok ? [mapped.file] : sessionNames(opened.path);
      for (const name of names) {
        const path = join(opened.path, name);
        const judged = judgeSession(path);
        if (judged.ok) {
          kept.file = path;
          break;
        }
        // Pi 0.73.1 writes the file only after the model's first answer: until then there is nothing to go on with.
        if (judged.reason !== "missing") kept.notes.push(setAside(path, judged));
      }
      return { ok: true, kept };
    },
    keep(taskId, file) {
      const opened = openTaskFolder(folder, taskId);
      if (!opened.ok) return opened;
      const mapping = { v: 1, taskId, file: basename(file) };
      return durableWrite(join(opened.path, MAPPING), `${JSON.stringify(mapping)}\n`, { mode: 0o600 });
    },
    protect(file) {
      try {
        chmodSync(file, 0o600);
      } catch (error) {
        if (errnoOf(error) === undefined) throw error; // the 0700 folder protects it as well
      }
    },
    tasks() {
      try {
        return readdirSync(folder).filter(isTaskId).sort();
      } catch (error) {
        if (errnoOf(error) === undefined) throw error;
        return [];
      }
    },
    discard(taskId) {
      if (!isTaskId(taskId)) return failure("bad-id", "That is not a task id.");
      try {
        rmSync(join(folder, taskId), { recursive: true, force: true });
        return { ok: true };
      } catch (error) {
        return fileFailure("remove", join(folder, taskId), error);
      }
    },
  };
}

function openTaskFolder(folder: string, taskId: string): Result<{ path: string }> {
  if (!isTaskId(taskId)) return failure("bad-id", "That is not a task id.");
  const opened = openPrivateDir(join(folder, taskId), { what: "decisions folder" });
  return opened.ok ? { ok: true, path: opened.dir.path } : opened;
}

function readMapping(folder: string, taskId: string): Result<{ file: string }> {
  const read = readNoFollow(join(folder, MAPPING), { maxBytes: MAX_MAPPING_BYTES });
  if (!read.ok) return read;
  const mapping = parsed(read.bytes.toString("utf8"));
  const file = textOf(mapping, "file");
  if (
    fieldOf(mapping, "v") !== 1 ||
    textOf(mapping, "taskId") !== taskId ||
    file === undefined ||
    !FILE_NAME.test(file)
  ) {
    return failure("damaged", "it is not a mapping of this task");
  }
  return { ok: true, file };
}

/**
 * A session file as Pi writes it: ours, a header first, whole lines of JSON. Pi itself skips lines that it cannot read
 * and goes on appending after a torn one (both lines), which would tear the next record too.
 */
function judgeSession(path: string): Result {
  const read = readNoFollow(path, { maxBytes: MAX_SESSION_BYTES, forbiddenMode: 0o022 });
  if (!read.ok) return read;
  const text = read.bytes.toString("utf8");
  if (!text.endsWith("\n")) return failure("damaged", "its last record is torn");
  const records = text.slice(0, -1).split("\n").map(parsed);
  if (textOf(records[0], "type") !== "session" || textOf(records[0], "id") === undefined) {
    return failure("damaged", "it does not begin with a session header");
  }
  return records.every((record) => textOf(record, "type") !== undefined)
    ? { ok: true }
    : failure("damaged", "a record in it cannot be read");
}

/** Newest first. */
function sessionNames(folder: string): string[] {
  return readdirSync(folder)
    .filter((name) => FILE_NAME.test(name))
    .map((name) => ({ name, at: statSync(join(folder, name), { throwIfNoEntry: false })?.mtimeMs ?? 0 }))
    .sort((a, b) => b.at - a.at)
    .map(({ name }) => name);
}

/** Moves a damaged piece out of the way, so that it is kept for a look and never met again. */
function setAside(path: string, why: Failure): string {
  const name = basename(path);
  for (let n = 1; ; n += 1) {
    const aside = `${path}.damaged-${n}`;
    if (statSync(aside, { throwIfNoEntry: false }) !== undefined) continue;
    try {
      renameSync(path, aside);
      return `The decider's ${name} was set aside as ${basename(aside)}: ${why.message}.`;
    } catch (error) {
      if (errnoOf(error) === undefined) throw error;
      return `The decider's ${name} is not used: ${why.message}.`;
    }
  }
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined; // judged by the caller: not a record
  }
}

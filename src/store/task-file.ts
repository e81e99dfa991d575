/**
 * A task given as a file (`start --from task.json`): read whole or refused. Every complaint names the place in the file
 * (`verifications[1].timeout`) and what is allowed there. `docs/task.schema.json` says the same for editors.
 */
import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import type { TaskBrief } from "../core/prompts.ts";
import { failure, type Result } from "../core/result.ts";
import { errnoOf, fileFailure } from "../platform/errno.ts";
import { amount, duration, flag, oneOf, type ValueKind, whole } from "./config-values.ts";

export interface TaskFile extends TaskBrief {
  goal?: string;
  verifications?: TaskVerification[];
  review?: boolean;
  profile?: "strict" | "standard" | "open";
  budgets?: TaskBudgets;
}

export interface TaskVerification {
  command: string;
  /** Milliseconds for one run; absent = as configured. */
  timeout?: number;
}

export interface TaskBudgets {
  maxRounds?: number;
  maxTurns?: number;
  maxDecisions?: number;
  budgetUsd?: number;
  /** Milliseconds for the whole task. */
  timeout?: number;
}

const MOST_BYTES = 256 * 1024;
/** Complaints that one answer holds. */
const MOST_COMPLAINTS = 8;
const DAY = 86_400_000;

/** Text of several lines; no control characters but line feed and tab. */
const words = (most: number): ValueKind<string> => ({
  allowed: `a text of 1 to ${most} characters without control characters`,
  schema: { type: "string", minLength: 1 },
  parse: (raw) =>
    typeof raw === "string" &&
    raw.trim() !== "" &&
    raw.length <= most &&
    !/[\u0000-\u0008\u000b-\u001f\u007f]/.test(raw)
      ? raw
      : undefined,
});

type Shape =
  | { is: "value"; kind: ValueKind<unknown> }
  | { is: "list"; most: number; least: number; of: Shape }
  | { is: "object"; fields: Readonly<Record<string, Shape>>; required?: readonly string[] };

const value = (kind: ValueKind<unknown>): Shape => ({ is: "value", kind });
const list = (of: Shape, most: number, least = 0): Shape => ({ is: "list", most, least, of });

/** The whole format, once. */
const SHAPE: Shape = {
  is: "object",
  fields: {
    $schema: value(words(2_000)),
    goal: value(words(100_000)),
    scope: list(value(words(2_000)), 100),
    constraints: list(value(words(2_000)), 100),
    forbidden: list(value(words(2_000)), 100),
    verifications: list(
      {
        is: "object",
        fields: { command: value(words(10_000)), timeout: value(duration(1_000, DAY)) },
        required: ["command"],
      },
      32,
      1,
    ),
    review: value(flag),
    profile: value(oneOf("strict", "standard", "open")),
    budgets: {
      is: "object",
      fields: {
        maxRounds: value(whole(1, 1_000)),
        maxTurns: value(whole(1, 100_000)),
        maxDecisions: value(whole(0, 100_000)),
        budgetUsd: value(amount(1_000_000)),
        timeout: value(duration(1_000, 30 * DAY)),
      },
    },
  },
};

/** Reasons: `task-file-unreadable`, `task-file-malformed`, `task-file-value`. */
export function readTaskFile(path: string): Result<{ task: TaskFile }> {
  const read = readBounded(path);
  return read.ok ? parseTaskFile(read.text, path) : read;
}

/** `path` is only named in complaints. Reasons: `task-file-malformed`, `task-file-value`. */
export function parseTaskFile(text: string, path: string): Result<{ task: TaskFile }> {
  let content: unknown;
  try {
    content = JSON.parse(text.replace(/^\uFEFF/, ""));
  } catch (error) {
    /* V8 quotes a piece of the text; a file that is read by mistake must not show up in a message. */
    const place = /position \d+(?: \(line \d+ column \d+\))?/.exec(String(error))?.[0] ?? "its end";
    return failure(
      "task-file-malformed",
      `${path} is not JSON (at ${place}). Correct it; docs/task.schema.json has the format.`,
    );
  }
  const complaints: string[] = [];
  const task = judged(content, SHAPE, "", complaints);
  if (complaints.length === 0) return { ok: true, task: task as TaskFile };
  const more = complaints.length - MOST_COMPLAINTS;
  const said = complaints.slice(0, MOST_COMPLAINTS).join(" ");
  return failure("task-file-value", `${path}: ${said}${more > 0 ? ` And ${more} more.` : ""}`);
}

/** The value with what it holds, converted; what is wrong with it goes to `complaints`. */
function judged(raw: unknown, shape: Shape, at: string, complaints: string[]): unknown {
  const place = at === "" ? "the file" : at;
  switch (shape.is) {
    case "value": {
      const parsed = shape.kind.parse(raw);
      if (parsed === undefined) complaints.push(`${place} must be ${allowed(shape.kind)}.`);
      return parsed;
    }
    case "list": {
      if (!Array.isArray(raw) || raw.length > shape.most || raw.length < shape.least) {
        complaints.push(`${place} must be a list of ${shape.least} to ${shape.most} entries.`);
        return undefined;
      }
      return raw.map((entry, index) => judged(entry, shape.of, `${at}[${index}]`, complaints));
    }
    case "object": {
      const names = Object.keys(shape.fields);
      if (typeof raw !== "object" || raw === null || Array.isArray(raw)) {
        complaints.push(`${place} must be an object with ${names.join(", ")}.`);
        return undefined;
      }
      const result: Record<string, unknown> = {};
      for (const [name, entry] of Object.entries(raw)) {
        const field = Object.hasOwn(shape.fields, name) ? shape.fields[name] : undefined;
        const inner = at === "" ? shown(name) : `${at}.${shown(name)}`;
        if (field === undefined) complaints.push(`${inner} is not known; allowed here: ${names.join(", ")}.`);
        else result[name] = judged(entry, field, inner, complaints);
      }
      for (const name of shape.required ?? [])
        if (!Object.hasOwn(raw, name)) complaints.push(`${place} needs ${name}.`);
      return result;
    }
  }
}

/** A key from outside in a message: short, and nothing in it but itself. */
function shown(name: string): string {
  return /^[\w$.-]{1,60}$/.test(name) ? name : JSON.stringify(name.slice(0, 60)).replace(/[\u007f-\uffff]/g, "?");
}

/** `true, false` and the like read as a choice. */
function allowed(kind: ValueKind<unknown>): string {
  return /^an? /.test(kind.allowed) ? kind.allowed : `one of ${kind.allowed}`;
}

function readBounded(path: string): Result<{ text: string }> {
  const bad = (why: string) => failure("task-file-unreadable", `${path} ${why}. Name a JSON file with --from.`);
  let fd: number;
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return bad("does not exist");
    return failure("task-file-unreadable", fileFailure("read", path, error).message);
  }
  try {
    const stats = fstatSync(fd);
    if (!stats.isFile()) return bad("is no regular file");
    if (stats.size > MOST_BYTES) return bad(`is larger than ${MOST_BYTES} bytes`);
    const bytes = Buffer.alloc(MOST_BYTES + 1);
    let length = 0;
    for (let count = -1; count !== 0 && length < bytes.length; length += count)
      count = readSync(fd, bytes, length, bytes.length - length, length);
    return { ok: true, text: bytes.toString("utf8", 0, length) };
  } catch (error) {
    return failure("task-file-unreadable", fileFailure("read", path, error).message);
  } finally {
    closeSync(fd);
  }
}

/**
 * Claude's own record of a session, looked at from outside: one JSON object a line, in
 * `<config folder>/projects/<folder>/<session id>.jsonl` (Claude Code 2.1.268). Only counted, never copied.
 */
import { createReadStream } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Environment } from "../environment.ts";

/** A larger file is not counted: it would take more than a second. */
const MAX_BYTES = 256 * 1024 * 1024;
/** Longer lines hold images or whole files; a person's words are shorter. They are not parsed. */
const MAX_LINE = 1024 * 1024;

export interface SessionPlace {
  sessionId: string;
  /** The environment that Claude had. */
  env: Environment;
}

/** The file of a session; undefined when there is none. */
export async function findSessionFile({ sessionId, env }: SessionPlace): Promise<string | undefined> {
  const projects = join(env["CLAUDE_CONFIG_DIR"] ?? join(env["HOME"] ?? homedir(), ".claude"), "projects");
  const folders = await readdir(projects).catch(() => []);
  for (const folder of folders) {
    const file = join(projects, folder, `${sessionId}.jsonl`);
    const found = await stat(file).catch(() => undefined);
    if (found?.isFile()) return file;
  }
  return undefined;
}

/**
 * How many messages a person has sent in this session since `sinceMs` (wall clock, ms). Undefined when nobody can say:
 * no file, or one that is too large.
 */
export async function turnsSince(place: SessionPlace, sinceMs: number): Promise<number | undefined> {
  const file = await findSessionFile(place);
  if (file === undefined) return undefined;
  const { size } = await stat(file);
  if (size > MAX_BYTES) return undefined;
  let turns = 0;
  const stream = createReadStream(file);
  try {
    for await (const line of createInterface({ input: stream, crlfDelay: Number.POSITIVE_INFINITY })) {
      if (line.length <= MAX_LINE && isPersonsMessage(line, sinceMs)) turns += 1;
    }
  } catch {
    return undefined; // it went away while it was read
  } finally {
    stream.destroy();
  }
  return turns;
}

/** A user entry that is no tool result, no subagent's and none of Claude's own notes. */
function isPersonsMessage(line: string, sinceMs: number): boolean {
  if (!line.includes('"type":"user"')) return false;
  try {
    const entry = JSON.parse(line) as {
      type?: unknown;
      isMeta?: unknown;
      isSidechain?: unknown;
      timestamp?: unknown;
      message?: { content?: unknown };
    };
    if (entry.type !== "user" || entry.isMeta === true || entry.isSidechain === true) return false;
    if (!(Date.parse(String(entry.timestamp)) > sinceMs)) return false;
    const content = entry.message?.content;
    if (typeof content === "string") return true;
    return Array.isArray(content) && content.length > 0 && !content.some((block) => block?.type === "tool_result");
  } catch {
    return false; // the last line of a file that is being written
  }
}

/**
 * A stop asked for by another Pi of the same account: a small file in the task's own folder (0700). The owner looks for
 * it twice a second; whoever asked watches the task's record. Only a stop can be asked for this way.
 */
import { lstatSync, unlinkSync } from "node:fs";
import { join } from "node:path";
import type { Result } from "../core/result.ts";
import { durableWrite } from "../platform/durable-write.ts";
import { readNoFollow } from "../platform/no-follow.ts";
import type { TaskPaths } from "../store/layout.ts";

export interface StopRequest {
  kind: "graceful" | "now";
  reason: string;
}

/** How often an owner looks (ms): one lstat a task. */
export const LOOK_FOR_STOP_MS = 500;
const MAX_BYTES = 4_096;

export function requestStop(paths: TaskPaths, request: StopRequest): Result {
  return durableWrite(fileOf(paths), JSON.stringify({ kind: request.kind, reason: request.reason.slice(0, 500) }));
}

/** The request, taken away; one that can't be read is a stop all the same. */
export function takeStopRequest(paths: TaskPaths): StopRequest | null {
  const file = fileOf(paths);
  try {
    lstatSync(file);
  } catch {
    return null;
  }
  const read = readNoFollow(file, { maxBytes: MAX_BYTES });
  try {
    unlinkSync(file);
  } catch {
    return null; // somebody else took it
  }
  return read.ok ? parse(read.bytes.toString("utf8")) : FALLBACK;
}

const FALLBACK: StopRequest = { kind: "graceful", reason: "Another Pi asked for a stop." };

function parse(text: string): StopRequest {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== "object" || value === null) return FALLBACK;
    const { kind, reason } = value as Partial<StopRequest>;
    return { kind: kind === "now" ? "now" : "graceful", reason: typeof reason === "string" ? reason : FALLBACK.reason };
  } catch {
    return FALLBACK;
  }
}

function fileOf(paths: TaskPaths): string {
  return join(paths.folder, "stop-request.json");
}

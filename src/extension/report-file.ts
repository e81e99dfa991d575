/** Where a report is written: whole or not at all, and never over a file that is no report of ours. */
import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { failure, type Result } from "../core/result.ts";
import { durableWrite } from "../platform/durable-write.ts";
import { errnoOf } from "../platform/errno.ts";
import { safe } from "./words-for-people.ts";

/** How much of a file tells what it is. */
const HEAD_BYTES = 2_048;

/**
 * Replaces `path` in one step, mode 0600: an empty file, an earlier report (it holds `mark` near its beginning), or
 * nothing. Reasons: `not-a-report` for everything else that is there, a link included; `cannot-write`.
 */
export function writeReport(path: string, text: string, mark: string): Result {
  const there = looksLikeReport(path, mark);
  if (there === "other")
    return failure("not-a-report", `${safe(path)} is there and is no report of this program. Name another FILE.`);
  const written = durableWrite(path, text);
  if (written.ok) return { ok: true };
  return failure("cannot-write", `The report could not be written. ${written.message}`);
}

function looksLikeReport(path: string, mark: string): "none" | "report" | "other" {
  let fd: number;
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    // What can't be looked at for another reason fails when it is written, with its own words.
    const code = errnoOf(error);
    return code === "ELOOP" || code === "EACCES" || code === "EISDIR" ? "other" : "none";
  }
  try {
    const stats = fstatSync(fd);
    if (!stats.isFile()) return "other";
    if (stats.size === 0) return "report";
    const head = Buffer.alloc(HEAD_BYTES);
    const length = readSync(fd, head, 0, HEAD_BYTES, 0);
    return head.toString("utf8", 0, length).includes(mark) ? "report" : "other";
  } finally {
    closeSync(fd);
  }
}

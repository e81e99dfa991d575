/**
 * The day's page: what a stop found and left, one file for each account, so that in a sticky folder nobody has to replace
 * another's. The reader puts them together and believes each only for its owner.
 */
import { lstatSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { failure, type Result } from "../core/result.ts";
import type { Ownership } from "../platform/account.ts";
import { durableWrite } from "../platform/durable-write.ts";
import { fileFailure } from "../platform/errno.ts";
import { readNoFollow } from "../platform/no-follow.ts";
import { inert } from "./reason.ts";
import { digestFolderOf } from "./shared-names.ts";

/** Bytes of one account's page, and how many accounts are read. */
const MOST_PAGE = 256 * 1024;
const MOST_ACCOUNTS = 200;

export interface HaltedRun {
  identity: string;
  /** Project folder, goal: redacted by the caller. */
  title: string;
  state: string;
  /** What it left: changed files put aside, what may still run, merges that stay armed. */
  left: readonly string[];
}

export interface PageEntry {
  at: string;
  by: string;
  reason: string;
  runs: readonly HaltedRun[];
}

/** Writes this account's page of the day whole. The folder is visible to the whole machine. */
export function writePage(
  shared: string,
  date: string,
  entries: readonly PageEntry[],
  ownership: Ownership,
): Result<{ path: string }> {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(date)) return failure("bad-path", `${date} is no date. Use YYYY-MM-DD.`);
  const base = digestFolderOf(shared);
  const folder = join(base, date);
  const before = process.umask(0);
  try {
    for (const path of [base, folder]) {
      if (lstatSync(path, { throwIfNoEntry: false }) === undefined) mkdirSync(path, { mode: 0o1777 });
      if (!lstatSync(path).isDirectory()) return failure("not-a-directory", `${path} is not a folder. Move it away.`);
    }
  } catch (error) {
    return fileFailure("make the folder", folder, error);
  } finally {
    process.umask(before);
  }
  const path = join(folder, `${ownership.uid}.md`);
  const written = durableWrite(path, pageText(date, entries, ownership.uid).slice(0, MOST_PAGE), { mode: 0o644 });
  return written.ok ? { ok: true, path } : written;
}

function pageText(date: string, entries: readonly PageEntry[], uid: number): string {
  const lines = [`# Stops on ${date}, user ${uid}`, ""];
  for (const { at, by, reason, runs } of entries) {
    lines.push(`## ${oneLine(at)} by ${oneLine(by)}: ${oneLine(reason)}`, "");
    for (const run of runs) {
      lines.push(`- ${oneLine(run.identity)} (${oneLine(run.state)}): ${oneLine(run.title)}`);
      for (const left of run.left) lines.push(`  - ${oneLine(left)}`);
    }
    if (runs.length === 0) lines.push("Nothing was running.");
    lines.push("");
  }
  lines.push("What was armed before the stop (an automatic merge, a remote job) is not withdrawn.", "");
  return lines.join("\n");
}

/** All accounts' pages of one day in one text, printed inert; what is not its owner's is named and left out. */
export function readPages(shared: string, date: string, ownership: Ownership): Result<{ text: string }> {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(date)) return failure("bad-path", `${date} is no date. Use YYYY-MM-DD.`);
  const folder = join(digestFolderOf(shared), date);
  let names: string[];
  try {
    names = readdirSync(folder).filter((name) => /^\d{1,10}\.md$/.test(name));
  } catch (error) {
    return fileFailure("read", folder, error);
  }
  const parts = names
    .sort((a, b) => Number.parseInt(a, 10) - Number.parseInt(b, 10))
    .slice(0, MOST_ACCOUNTS)
    .map((name) => {
      const read = readNoFollow(join(folder, name), {
        owners: [Number.parseInt(name, 10)],
        forbiddenMode: 0o022,
        maxBytes: MOST_PAGE,
        ownership,
      });
      if (!read.ok) return `Left out: ${inert(read.message)}\n`;
      return `${read.bytes.toString("utf8").split("\n").map(inert).join("\n")}\n`;
    });
  return { ok: true, text: parts.join("\n") };
}

function oneLine(text: string): string {
  return inert(text).slice(0, 500);
}

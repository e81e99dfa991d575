/**
 * This account's page of the day in the shared folder: which of its runs the person's stop has halted, and what each left.
 * Several Pi of the account write one page, so what it is made of lies in the control folder and is changed under its lock.
 */
import { join } from "node:path";
import { failure, type Result } from "../core/result.ts";
import { systemClock } from "../platform/clock.ts";
import { durableWrite } from "../platform/durable-write.ts";
import { readGuarded } from "./cached-file.ts";
import { type FileDeps, underLock } from "./files.ts";
import type { ControlFolder } from "./folder.ts";
import { type HaltedRun, type PageEntry, writePage } from "./shared-page.ts";
import { isObject, MOST_BYTES, parseStrict } from "./strict-json.ts";

/** Characters of one text, and texts of what one run left. */
const MOST_TEXT = 300;
const MOST_LEFT = 8;

interface Digest {
  date: string;
  entries: PageEntry[];
}

/** Adds the run, or replaces what was said of it under the same stop. Reasons: those of the lock, the disk, `writePage`. */
export async function noteHalted(
  folder: ControlFolder,
  shared: string,
  stop: Omit<PageEntry, "runs">,
  run: HaltedRun,
  deps: FileDeps = {},
): Promise<Result<{ path: string }>> {
  const date = (deps.clock ?? systemClock).now().toISOString().slice(0, 10);
  const locked = await underLock(folder, deps, (): Result<{ path: string }> => {
    const path = join(folder.path, "digest-page");
    const reading = readGuarded(path, folder.ownership, readDigest);
    // A damaged one is only a page: it begins anew.
    const entries = reading.state === "read" && reading.value.date === date ? reading.value.entries : [];
    const digest = bounded({ date, entries: withRun(entries, stop, run) });
    const kept = durableWrite(path, JSON.stringify(digest), deps.fs ? { fs: deps.fs } : {});
    const written = writePage(shared, date, digest.entries, folder.ownership);
    return written.ok && !kept.ok ? kept : written;
  });
  return locked.ok ? locked.value : locked;
}

function withRun(entries: readonly PageEntry[], stop: Omit<PageEntry, "runs">, run: HaltedRun): PageEntry[] {
  const { identity, title, state, left } = run;
  const short = { identity, title: cut(title), state, left: left.slice(0, MOST_LEFT).map(cut) };
  const isSame = (entry: PageEntry): boolean => entry.at === stop.at && entry.by === stop.by;
  const known = entries.find(isSame) ?? { ...stop, reason: cut(stop.reason), runs: [] };
  const runs = [...known.runs.filter((one) => one.identity !== identity), short];
  return [...entries.filter((entry) => !isSame(entry)), { ...known, runs }];
}

/** The oldest runs give way where the file would grow beyond what is read back. */
function bounded(digest: Digest): Digest {
  let { entries } = digest;
  while (entries.length > 0 && Buffer.byteLength(JSON.stringify({ ...digest, entries })) > MOST_BYTES) {
    const [first, ...rest] = entries;
    entries = first && first.runs.length > 1 ? [{ ...first, runs: first.runs.slice(1) }, ...rest] : rest;
  }
  return { ...digest, entries };
}

function readDigest(bytes: Uint8Array): Result<{ value: Digest }> {
  const parsed = parseStrict(bytes, "The page's file digest-page");
  if (!parsed.ok) return parsed;
  const { value } = parsed;
  if (isObject(value) && typeof value["date"] === "string" && Array.isArray(value["entries"])) {
    if (value["entries"].every(isEntry)) return { ok: true, value: { date: value["date"], entries: value["entries"] } };
  }
  return failure("damaged", "The page's file digest-page is damaged.");
}

function isEntry(value: unknown): value is PageEntry {
  return isObject(value) && [value["at"], value["by"], value["reason"]].every(isText) && isListOf(value["runs"], isRun);
}

function isRun(value: unknown): value is HaltedRun {
  if (!isObject(value)) return false;
  return [value["identity"], value["title"], value["state"]].every(isText) && isListOf(value["left"], isText);
}

function isListOf<T>(value: unknown, is: (one: unknown) => one is T): value is T[] {
  return Array.isArray(value) && value.every(is);
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}

function cut(text: string): string {
  return text.length > MOST_TEXT ? `${text.slice(0, MOST_TEXT - 1)}…` : text;
}

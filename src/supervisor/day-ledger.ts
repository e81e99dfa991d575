/**
 * What all tasks of a state folder have spent today (local day), for the limits of `perDay.*`: one small file a task and
 * day, `<state dir>/days/<date>/<task>.json`, written only by the task's owner. Days before yesterday are removed.
 *
 * Reading costs one small read for each task of the day (about 20 µs), at most once in `FRESH_MS`. A crash may lose the last
 * entry of a task; the numbers are estimates anyway.
 */
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { SupervisorDeps } from "./deps.ts";

export interface Spent {
  /** Estimates of Claude and of Pi's price list. */
  usd: number;
  decisions: number;
}

export interface DayLedger {
  /** Adds to what this task has spent today. A disk that refuses costs the entry, nothing else. */
  add(taskId: string, more: Spent): void;
  /** Of all tasks, this day. */
  today(): Spent;
}

/** How old a sum may be (ms): other processes spend too. */
const FRESH_MS = 2_000;
const MOST_FILES = 10_000;

export function createDayLedger({ layout, clock }: Pick<SupervisorDeps, "layout" | "clock">): DayLedger {
  let sum: { day: string; at: number; spent: Spent } | undefined;
  let tidied = "";

  const folderOf = (day: string): string => join(layout.root, "days", day);
  const makeFolder = (day: string): string => {
    const made = layout.folder("days");
    if (!made.ok) throw new Error(made.message);
    mkdirSync(folderOf(day), { recursive: true, mode: 0o700 });
    if (tidied !== day) tidy(made.path, [day, dayOf(new Date(clock.now().getTime() - 86_400_000))]);
    tidied = day;
    return folderOf(day);
  };

  return {
    add(taskId, more) {
      const day = dayOf(clock.now());
      try {
        const file = join(makeFolder(day), `${taskId}.json`);
        const before = read(file);
        const spent = { usd: before.usd + more.usd, decisions: before.decisions + more.decisions };
        writeFileSync(`${file}.new`, JSON.stringify(spent), { mode: 0o600 });
        renameSync(`${file}.new`, file);
      } catch {
        // Nothing is decided by a missing entry but that a limit is reached a little later.
      }
      sum = undefined;
    },
    today() {
      const day = dayOf(clock.now());
      if (sum?.day === day && clock.mono() - sum.at < FRESH_MS) return sum.spent;
      const spent = { usd: 0, decisions: 0 };
      for (const name of namesIn(folderOf(day)).slice(0, MOST_FILES)) {
        if (!name.endsWith(".json")) continue;
        const one = read(join(folderOf(day), name));
        spent.usd += one.usd;
        spent.decisions += one.decisions;
      }
      sum = { day, at: clock.mono(), spent };
      return spent;
    },
  };
}

/** The local day, `2026-11-30`. */
export function dayOf(now: Date): string {
  const two = (n: number): string => String(n).padStart(2, "0");
  return `${now.getFullYear()}-${two(now.getMonth() + 1)}-${two(now.getDate())}`;
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return []; // nothing was spent on that day
  }
}

/** What can't be read counts as nothing. */
function read(file: string): Spent {
  try {
    const value: unknown = JSON.parse(readFileSync(file, "utf8"));
    const { usd, decisions } = typeof value === "object" && value !== null ? (value as Partial<Spent>) : {};
    return { usd: amount(usd), decisions: amount(decisions) };
  } catch {
    return { usd: 0, decisions: 0 };
  }
}

function amount(value: unknown): number {
  return typeof value === "number" && Number.isFinite(value) && value > 0 ? value : 0;
}

function tidy(days: string, keep: readonly string[]): void {
  for (const name of namesIn(days)) {
    if (keep.includes(name) || !/^\d{4}-\d\d-\d\d$/.test(name)) continue;
    try {
      rmSync(join(days, name), { recursive: true, force: true });
    } catch {
      // An old day costs a few bytes.
    }
  }
}

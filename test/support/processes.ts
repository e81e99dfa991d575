/**
 * Who still lives? A census of the processes that carry an environment mark `E2E_MARK=<value>`. On Linux it reads
 * /proc/<pid>/environ, on macOS `ps`. A zombie has no environment left and counts as gone. A process that cleared its
 * environment is not seen: tests of such processes find them by what they write themselves.
 */
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { until } from "./until.ts";

export interface ProcessInfo {
  pid: number;
  ppid: number;
  /** Field 22 of /proc/<pid>/stat; with the pid it names one process for good. On macOS the start time of `ps`. */
  startTicks: string;
  /** One letter, `Z` = zombie. */
  state: string;
  command: string;
}

export const MARK_NAME = "E2E_MARK";

/** Live processes that inherited `E2E_MARK=mark`. */
export function processesWithMark(mark: string): ProcessInfo[] {
  return processesWithEnvironment(`${MARK_NAME}=${mark}`);
}

/** Live processes whose environment holds `fragment`, for instance the path of a temporary folder. */
export function processesWithEnvironment(fragment: string): ProcessInfo[] {
  if (process.platform === "darwin") return listByPs().filter((found) => found.command.includes(fragment));
  const found: ProcessInfo[] = [];
  for (const entry of readdirSync("/proc")) {
    if (!/^\d+$/.test(entry) || !readProc(entry, "environ")?.includes(fragment)) continue;
    const info = processInfo(Number(entry));
    if (info && info.state !== "Z" && info.state !== "X") found.push(info);
  }
  return found;
}

/** Facts about one process, or undefined when there is none. */
export function processInfo(pid: number): ProcessInfo | undefined {
  if (process.platform === "darwin") return listByPs().find((found) => found.pid === pid);
  const stat = readProc(String(pid), "stat");
  if (!stat) return undefined;
  // The command name stands in parentheses and may itself hold blanks and parentheses.
  const close = stat.lastIndexOf(")");
  const fields = stat.slice(close + 2).split(" ");
  const command = (readProc(String(pid), "cmdline") ?? "").replaceAll("\0", " ").trim();
  return {
    pid,
    state: fields[0] ?? "?",
    ppid: Number(fields[1]),
    startTicks: fields[19] ?? "",
    command: command || stat.slice(stat.indexOf("(") + 1, close),
  };
}

/** True while the process runs; a zombie is gone. With `startTicks`, only for that very process. */
export function isAlive(pid: number, startTicks?: string): boolean {
  const info = processInfo(pid);
  if (!info || info.state === "Z" || info.state === "X") return false;
  return startTicks === undefined || info.startTicks === startTicks;
}

/** Resolves when no marked process but `except` is left; rejects after `deadlineMs` and names those that are. */
export async function assertNoneLeft(mark: string, deadlineMs: number, except: readonly number[] = []): Promise<void> {
  let left: ProcessInfo[] = [];
  await until(
    () => {
      left = processesWithMark(mark).filter((found) => !except.includes(found.pid));
      return left.length === 0;
    },
    deadlineMs,
    () => `these processes are left:\n${left.map((found) => `  ${found.pid} ${found.command}`).join("\n")}`,
  );
}

/** Kills what carries the mark, pid by pid, until nothing is found; returns what it killed. For a test's clean-up only. */
export async function killMarked(mark: string, deadlineMs = 5_000): Promise<ProcessInfo[]> {
  const killed = new Map<number, ProcessInfo>();
  await until(
    () => {
      const left = processesWithMark(mark).filter((found) => found.pid !== process.pid);
      for (const found of left) {
        killed.set(found.pid, found);
        signal(found, "SIGKILL");
      }
      return left.length === 0;
    },
    deadlineMs,
    "marked processes survive SIGKILL",
  );
  return [...killed.values()];
}

function signal(target: ProcessInfo, name: NodeJS.Signals): void {
  try {
    if (isAlive(target.pid, target.startTicks)) process.kill(target.pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

function readProc(pid: string, file: string): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "utf8");
  } catch {
    return undefined; // gone meanwhile, or another account's
  }
}

function listByPs(): ProcessInfo[] {
  const output = execFileSync("ps", ["-Eww", "-axo", "pid=,ppid=,stat=,lstart=,command="], { encoding: "utf8" });
  return output.split("\n").flatMap((line) => {
    const match = /^\s*(\d+)\s+(\d+)\s+(\S)\S*\s+(\S+\s+\S+\s+\d+\s+[\d:]+\s+\d+)\s+(.*)$/.exec(line);
    if (!match) return [];
    const [, pid, ppid, state, started, command] = match;
    return [
      { pid: Number(pid), ppid: Number(ppid), state: state ?? "?", startTicks: started ?? "", command: command ?? "" },
    ];
  });
}

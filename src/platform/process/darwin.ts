/**
 * The process table of macOS, which has no /proc: everything comes from `/bin/ps` and `sysctl`. Times have one second
 * of resolution there, and other users' or system programs' environments are not shown; `docs/containment.md` says
 * what that means for a stop.
 */
import { spawnSync } from "node:child_process";
import type { ProcessRow } from "./stat.ts";

export interface DarwinRow extends ProcessRow {
  /** Arguments, followed by the environment when asked for with `-E`. */
  command: string;
}

const START = /^\s*(\d+)\s+(\d+)\s+(\d+)\s+(\S+)\s+(\w{3}\s+\w{3}\s+\d+\s+[\d:]+\s+\d{4})\s*(.*)$/;

/** Reads lines of `ps -o pid=,ppid=,pgid=,stat=,lstart=,command=`; lines of another shape are left out. */
export function parsePs(text: string): DarwinRow[] {
  const rows: DarwinRow[] = [];
  for (const line of text.split("\n")) {
    const [, pid, ppid, group, stat, started, command] = START.exec(line) ?? [];
    if (pid === undefined || stat === undefined || started === undefined) continue;
    rows.push({
      pid: Number(pid),
      ppid: Number(ppid),
      group: Number(group),
      session: Number(group),
      state: stat.slice(0, 1),
      startTicks: started.replace(/\s+/g, " "),
      command: command ?? "",
    });
  }
  return rows;
}

/** `undefined` when `ps` could not be run: nothing is known then. */
export function readPs(pid?: number): DarwinRow[] | undefined {
  const which = pid === undefined ? ["-axEww"] : ["-Eww", "-p", String(pid)];
  const run = spawnSync("/bin/ps", [...which, "-o", "pid=,ppid=,pgid=,stat=,lstart=,command="], {
    encoding: "latin1",
    env: { LC_ALL: "C", PATH: "/usr/bin:/bin" },
    maxBuffer: 64 * 1024 * 1024,
    timeout: 5000,
  });
  if (run.error !== undefined || run.signal !== null) return undefined;
  // `ps -p` of a pid that does not exist exits 1 and prints nothing.
  return parsePs(run.stdout);
}

export function darwinBootId(): string {
  const run = spawnSync("/usr/sbin/sysctl", ["-n", "kern.bootsessionuuid"], { encoding: "latin1", timeout: 5000 });
  return run.status === 0 ? run.stdout.trim() : "";
}

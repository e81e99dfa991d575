/**
 * Gives the person's terminal to another program: Pi's screen is suspended, the program inherits the terminal, and the
 * screen is painted anew when it ends. The event loop goes on all the while: other tasks are gated and watched.
 */
import { spawn } from "node:child_process";
import { failure, type Result } from "../../core/result.ts";
import { readStat } from "../../platform/process/index.ts";
import type { TakenOver } from "../../supervisor/api.ts";
import type { PiPort } from "../pi-port.ts";
import type { Hub } from "../session-binding.ts";

/** How often a suspended program is looked for (ms). */
const LOOK_MS = 500;

/** Resolves when the program has ended. Reasons: `no-screen`, `spawn-failed`, `in-use`. */
export async function runInTerminal(
  hub: Hub,
  port: PiPort,
  launch: TakenOver["launch"],
): Promise<Result<{ code: number | null }>> {
  if (hub.terminalGiven) return failure("in-use", "Another program has this terminal.");
  hub.terminalGiven = true;
  try {
    const ran = await port.suspend(() => run(launch));
    return ran ?? failure("no-screen", "Pi's screen could not be suspended.");
  } finally {
    hub.terminalGiven = false;
  }
}

function run({ file, args, cwd, without }: TakenOver["launch"]): Promise<Result<{ code: number | null }>> {
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !without.includes(name)));
  return new Promise((resolve) => {
    const child = spawn(file, args, { cwd, env, stdio: "inherit" });
    const look = setInterval(() => wake(child.pid), LOOK_MS);
    const end = (result: Result<{ code: number | null }>): void => {
      clearInterval(look);
      resolve(result);
    };
    child.once("error", (error) => end(failure("spawn-failed", error.message)));
    child.once("exit", (code) => end({ ok: true, code }));
  });
}

/**
 * Ctrl-Z in Claude (2.1.268) stops it for a shell's `fg`. Under a shell Pi stops with it, and this timer too; where only
 * Claude was stopped nobody could ever wake it: then it goes on at once.
 */
function wake(pid: number | undefined): void {
  if (pid === undefined || process.platform === "darwin") return;
  const read = readStat(pid);
  if (read.state === "read" && read.row.state === "T") process.kill(pid, "SIGCONT");
}

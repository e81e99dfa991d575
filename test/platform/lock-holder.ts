/** Fixture: `lock-holder <path> [child]` takes the lock, says so, and lives until stdin ends. */
import { spawn } from "node:child_process";
import { takeFileLock } from "../../src/platform/file-lock.ts";

const [path = "", withChild] = process.argv.slice(2);
const outcome = takeFileLock(path, { info: { pid: process.pid, since: new Date().toISOString() } });
// The child is asked for after the lock is taken: it must not inherit it.
const child = withChild === "child" ? spawn("sleep", ["30"], { stdio: "ignore", detached: true }) : undefined;
child?.unref();
console.log(JSON.stringify({ ok: outcome.ok, reason: outcome.ok ? "" : outcome.reason, child: child?.pid ?? null }));
process.stdin.resume();
process.stdin.on("end", () => process.exit(0));

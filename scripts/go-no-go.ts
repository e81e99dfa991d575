/**
 * `npm run go-no-go [-- --only=4,9-12] [-- --write]`: runs the commands of docs/go-no-go.md, one after the other, and says of
 * each whether it passed. Exit code 1 when one did not. `--write` puts the results into that page's last section; lines that
 * were not run keep their last result.
 */
import { execFileSync, spawn } from "node:child_process";
import { createWriteStream, mkdirSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { cacheFolder } from "../test/support/cache.ts";
import { type GoLine, goLines, type LineRun, lastRuns, picks, RUNS, runsTable } from "./go-no-go/lines.ts";
import { writeSection } from "./page/section.ts";

const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), "..");
const PAGE = join(ROOT, "docs", "go-no-go.md");
/** Milliseconds for one line; the matrix takes most. */
const LINE_MS = 3 * 3_600_000;
/** Characters of what a failed command printed last; all of it is in a file. */
const TAIL = 2_000;
const OUTPUT = join(cacheFolder(), "go-no-go");

const words = process.argv.slice(2);
const write = words.includes("--write");
const picked = picks(words.find((word) => word.startsWith("--only="))?.slice(7));
const commit = execFileSync("git", ["rev-parse", "--short=12", "HEAD"], { cwd: ROOT, encoding: "utf8" }).trim();
const failed: number[] = [];
for (const line of goLines(readFileSync(PAGE, "utf8")).filter(picked)) {
  const run = await runLine(line);
  if (!run.ok) failed.push(line.number);
  // Read anew: a command may write into the page too, and a run that is broken off keeps what it has found.
  if (write) {
    const page = readFileSync(PAGE, "utf8");
    writeSection(PAGE, RUNS, runsTable(goLines(page), [...lastRuns(page), run]));
  }
}
console.log(failed.length === 0 ? "\nGo." : `\nNo go: ${failed.join(", ")}`);
process.exitCode = failed.length === 0 ? 0 : 1;

function runLine({ number, claim, command }: GoLine): Promise<LineRun> {
  const began = performance.now();
  return new Promise((done) => {
    const child = spawn("/bin/sh", ["-c", command], { cwd: ROOT, stdio: ["ignore", "pipe", "pipe"], timeout: LINE_MS });
    mkdirSync(OUTPUT, { recursive: true });
    const path = join(OUTPUT, `${number}.log`);
    const whole = createWriteStream(path);
    let tail = "";
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (chunk: Buffer) => {
        whole.write(chunk);
        tail = (tail + chunk.toString("utf8")).slice(-TAIL);
      });
    child.once("close", (code) => {
      const seconds = (performance.now() - began) / 1_000;
      const ok = code === 0;
      console.log(`${ok ? "ok  " : "FAIL"}  ${number}  ${claim} (${command}, ${seconds.toFixed(0)} s)`);
      whole.end();
      if (!ok) console.log(`${tail}\nAll of it: ${path}`);
      done({ number, ok, seconds, commit, date: new Date().toISOString().slice(0, 10) });
    });
  });
}

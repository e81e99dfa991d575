/**
 * `npm run tasks [-- --pi=1.6.0] [-- --takeovers=20] [-- --only=TEXT] [-- --json FILE] [-- --write PAGE]`: a fixed set of
 * scripted tasks, each with the real Pi, the real Claude Code and a scripted model, judged against thresholds for success,
 * refusal, recovery and cost; on both lines of Pi without `--pi`. Exit code 1 when a threshold is missed, 2 when a line
 * cannot run. `--write` puts the table into a page.
 */
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { PI_LINES, type PiLine, skipReason } from "../test/support/pi-setup.ts";
import { writeSection } from "./page/section.ts";
import { Scene } from "./tasks/scene.ts";
import { MEASURES, type Outcome, reached, THRESHOLDS, tableOf } from "./tasks/table.ts";
import { type ScriptedTask, TASKS } from "./tasks/tasks.ts";

const words = process.argv.slice(2);
const option = (name: string): string | undefined =>
  words.find((word) => word.startsWith(`--${name}=`))?.slice(name.length + 3);
const fileAfter = (flag: string): string | undefined =>
  words.includes(flag) ? words[words.indexOf(flag) + 1] : undefined;
const asked = PI_LINES.filter((line) => line === (option("pi") ?? line));
if (asked.length === 0) fail(`There is no Pi ${option("pi")}. Lines: ${PI_LINES.join(", ")}.`);
for (const line of asked) {
  const unable = await skipReason(line);
  if (unable !== undefined) fail(`Pi ${line} cannot run here: ${unable}`);
}
const takeovers = Number(option("takeovers") ?? 20);
const tasks = TASKS.filter(({ name }) => name.includes(option("only") ?? ""));

const lines: Record<string, Outcome[]> = {};
for (const line of asked) {
  console.log(`\n# Pi ${line}`);
  const outcomes: Outcome[] = [];
  for (const task of tasks) outcomes.push(await attempt(task, line));
  lines[line] = outcomes;
  for (const name of MEASURES)
    console.log(
      `${name.padEnd(9)} ${(reached(outcomes, name) * 100).toFixed(0)} % (at least ${THRESHOLDS[name] * 100} %)`,
    );
}
const json = fileAfter("--json");
if (json !== undefined) writeFileSync(resolve(json), `${JSON.stringify({ takeovers, lines }, null, 2)}\n`);
const page = fileAfter("--write");
if (page !== undefined) {
  const commit = execFileSync("git", ["rev-parse", "--short=12", "HEAD"], { encoding: "utf8" }).trim();
  const run = { lines, takeovers, commit, date: new Date().toISOString().slice(0, 10) };
  writeSection(resolve(page), "The tasks", tableOf({ ...run, command: ["npm run tasks --", ...words].join(" ") }));
}
const all = Object.values(lines);
process.exitCode = all.every((of) => MEASURES.every((name) => reached(of, name) >= THRESHOLDS[name])) ? 0 : 1;

function fail(why: string): never {
  console.error(why);
  process.exit(2);
}

async function attempt(task: ScriptedTask, line: PiLine): Promise<Outcome> {
  const began = performance.now();
  let why = "";
  let scene: Scene | undefined;
  try {
    scene = await Scene.open(line);
    await task.run(scene, { takeovers });
  } catch (error) {
    why = error instanceof Error ? error.message : String(error);
  }
  const requests = scene?.asked() ?? 0;
  try {
    await scene?.close();
  } catch (error) {
    why ||= `clean-up: ${error instanceof Error ? error.message : String(error)}`;
  }
  const seconds = (performance.now() - began) / 1_000;
  const ok = why === "";
  console.log(
    `${ok ? "ok  " : "FAIL"}  ${task.kind.padEnd(8)}  ${task.name} (${requests} of ${task.requests} requests, ${seconds.toFixed(1)} s)`,
  );
  if (!ok) console.log(`      ${why.slice(0, 1_500)}`);
  return { name: task.name, kind: task.kind, ok, why, seconds, requests, mostRequests: task.requests };
}

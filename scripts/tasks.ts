/**
 * `npm run tasks [-- --pi=1.6.0] [-- --takeovers=20] [-- --only=TEXT] [-- --json FILE]`: a fixed set of scripted tasks, each
 * with the real Pi, the real Claude Code and a scripted model, judged against thresholds for success, recovery and cost.
 * Exit code 1 when a threshold is missed.
 */
import { writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { PI_LINES, skipReason } from "../test/support/pi-setup.ts";
import { Scene } from "./tasks/scene.ts";
import { type ScriptedTask, TASKS } from "./tasks/tasks.ts";

/** Shares that have to be reached, of the tasks of a kind; requests to the model, of what a task may ask at most. */
const THRESHOLDS = { success: 1, refusal: 1, recovery: 1, cost: 1 } as const;

interface Outcome {
  name: string;
  kind: ScriptedTask["kind"];
  ok: boolean;
  why: string;
  seconds: number;
  requests: number;
  mostRequests: number;
}

const words = process.argv.slice(2);
const option = (name: string): string | undefined =>
  words.find((word) => word.startsWith(`--${name}=`))?.slice(name.length + 3);
const line = PI_LINES.find((one) => one === (option("pi") ?? "0.73.1"));
const unable = line === undefined ? `there is no Pi ${option("pi")}` : await skipReason(line);
if (line === undefined || unable !== undefined) {
  console.error(unable);
  process.exit(2);
}
const takeovers = Number(option("takeovers") ?? 20);
const outcomes: Outcome[] = [];
for (const task of TASKS.filter(({ name }) => name.includes(option("only") ?? ""))) outcomes.push(await attempt(task));

const share = (kind: ScriptedTask["kind"]): number => {
  const of = outcomes.filter((outcome) => outcome.kind === kind);
  return of.length === 0 ? 1 : of.filter(({ ok }) => ok).length / of.length;
};
const reached = {
  success: share("success"),
  refusal: share("refusal"),
  recovery: share("recovery"),
  cost: outcomes.filter(({ requests, mostRequests }) => requests <= mostRequests).length / Math.max(1, outcomes.length),
};
const names = Object.keys(THRESHOLDS) as (keyof typeof THRESHOLDS)[];
console.log("");
for (const name of names)
  console.log(`${name.padEnd(9)} ${(reached[name] * 100).toFixed(0)} % (at least ${THRESHOLDS[name] * 100} %)`);
const json = words.includes("--json") ? words[words.indexOf("--json") + 1] : undefined;
if (json !== undefined)
  writeFileSync(resolve(json), `${JSON.stringify({ line, takeovers, reached, outcomes }, null, 2)}\n`);
process.exitCode = names.every((name) => reached[name] >= THRESHOLDS[name]) ? 0 : 1;

async function attempt(task: ScriptedTask): Promise<Outcome> {
  const began = performance.now();
  let requests = 0;
  let why = "";
  let scene: Scene | undefined;
  try {
    scene = await Scene.open(line ?? "0.73.1");
    await task.run(scene, { takeovers });
  } catch (error) {
    why = error instanceof Error ? error.message : String(error);
  }
  requests = scene?.asked() ?? 0;
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

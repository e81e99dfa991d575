/**
 * `npm run bench [-- NAME...] [-- --quick] [-- --rounds=N] [-- --json FILE] [-- --write FILE]`: the benchmarks
 * `bench-NAME.ts`, all without a name, one after the other. A table for each, and JSON of all as the last line. Exit code 1
 * when a target is missed or a benchmark fails; `--quick` sees only whether it runs.
 */
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { cpus, loadavg, release, totalmem } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { type BenchOptions, met, type Section } from "./bench/measure.ts";
import { linesOf, pageOf, type Results } from "./bench/page.ts";

const folder = dirname(fileURLToPath(import.meta.url));
/** In this order; a bench that is not named here comes last. */
const ORDER = ["stream", "gate", "policy", "redaction", "log", "recovery", "stop", "load", "idle"];
const known = readdirSync(folder)
  .flatMap((file) => /^bench-(.+)\.ts$/.exec(file)?.[1] ?? [])
  .sort((a, b) => ((ORDER.indexOf(a) + 100) % 100) - ((ORDER.indexOf(b) + 100) % 100));

const words = process.argv.slice(2);
const valued = ["--json", "--write"];
const argumentOf = (flag: string): string | undefined =>
  words.includes(flag) ? words[words.indexOf(flag) + 1] : undefined;
const asked = words.filter((word, at) => !word.startsWith("-") && !valued.includes(words[at - 1] ?? ""));
const unknown = asked.find((name) => !existsSync(join(folder, `bench-${name}.ts`)));
if (unknown !== undefined) {
  console.error(`There is no benchmark "${unknown}". Known: ${known.join(", ")}.`);
  process.exit(2);
}
const quick = words.includes("--quick");
const options: BenchOptions = {
  quick,
  rounds: Number(words.find((word) => word.startsWith("--rounds="))?.slice(9) ?? (quick ? 2 : 5)),
  log: (line) => console.log(`  ${line}`),
};

const loadBefore = Number((loadavg()[0] ?? 0).toFixed(1));
const began = performance.now();
const sections: Section[] = [];
const failed: string[] = [];
for (const name of asked.length > 0 ? asked : known) {
  const since = performance.now();
  console.log(`\n# ${name}`);
  const { run } = (await import(pathToFileURL(join(folder, `bench-${name}.ts`)).href)) as {
    run(options: BenchOptions): Promise<Section>;
  };
  const section = await run(options).catch((error: unknown): Section => {
    failed.push(name);
    const why = error instanceof Error ? (error.stack ?? error.message) : String(error);
    console.error(why);
    return { title: `${name}: failed`, method: "This measurement ended with an error.", rows: [], targets: [] };
  });
  sections.push(section);
  console.log(`\n${linesOf(section).join("\n")}\n  (${seconds(since)} s)`);
}
const results: Results = {
  machine: machine(),
  date: new Date().toISOString().slice(0, 10),
  command: ["npm run bench", ...(words.length > 0 ? ["--", ...words] : [])].join(" "),
  rounds: options.rounds,
  quick,
  seconds: seconds(began),
  sections,
  failed,
};
const json = argumentOf("--json");
if (json !== undefined) writeFileSync(resolve(json), `${JSON.stringify(results, null, 2)}\n`);
const page = argumentOf("--write");
if (page !== undefined) writeFileSync(resolve(page), pageOf(results));
console.log(`\n${JSON.stringify(results)}`);
const missed = sections.flatMap(({ targets }) => targets.filter((target) => !met(target)));
console.error(missed.length === 0 ? "every target is met" : `missed: ${missed.map(({ what }) => what).join("; ")}`);
if (failed.length > 0) console.error(`ended with an error: ${failed.join(", ")}`);
process.exitCode = failed.length > 0 || (missed.length > 0 && !quick) ? 1 : 0;

function machine(): Results["machine"] {
  return {
    cpu: cpus()[0]?.model ?? "unknown",
    cores: cpus().length,
    memoryGiB: Math.round(totalmem() / 1024 ** 3),
    kernel: `${process.platform} ${release()}`,
    node: process.version,
    loadBefore,
    commit: commit(),
  };
}

function commit(): string {
  try {
    return execFileSync("git", ["rev-parse", "--short=12", "HEAD"], { cwd: folder, encoding: "utf8" }).trim();
  } catch {
    return "none"; // no git checkout
  }
}

function seconds(since: number): number {
  return Math.round((performance.now() - since) / 100) / 10;
}

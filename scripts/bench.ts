/**
 * `npm run bench [-- NAME...] [-- --quick] [-- --rounds=N] [-- --json FILE] [-- --write FILE]`: the benchmarks
 * `bench-NAME.ts`, all without a name, one after the other. A table for each, and JSON of all as the last line. Exit code 1
 * when a target is missed; `--quick` sees only whether it runs.
 */
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { cpus, loadavg, release, totalmem } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { type BenchOptions, met, type Row, type Section, type Target } from "./bench/measure.ts";

const folder = dirname(fileURLToPath(import.meta.url));
/** In this order; a bench that is not named here comes last. */
const ORDER = ["stream", "gate", "policy", "redaction", "log", "stop", "load", "idle"];
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

const began = loadavg()[0] ?? 0;
const sections: Section[] = [];
for (const name of asked.length > 0 ? asked : known) {
  console.log(`\n# ${name}`);
  const { run } = (await import(pathToFileURL(join(folder, `bench-${name}.ts`)).href)) as {
    run(options: BenchOptions): Promise<Section>;
  };
  const section = await run(options);
  sections.push(section);
  show(section);
}
const all = { machine: machine(), rounds: options.rounds, quick, sections };
const json = argumentOf("--json");
if (json !== undefined) writeFileSync(resolve(json), `${JSON.stringify(all, null, 2)}\n`);
const page = argumentOf("--write");
if (page !== undefined) writeFileSync(resolve(page), pageOf());
console.log(`\n${JSON.stringify(all)}`);
const missed = sections.flatMap(({ targets }) => targets.filter((target) => !met(target)));
console.error(missed.length === 0 ? "every target is met" : `missed: ${missed.map(({ what }) => what).join("; ")}`);
process.exitCode = missed.length > 0 && !quick ? 1 : 0;

function machine(): Record<string, string | number> {
  return {
    cpu: cpus()[0]?.model ?? "unknown",
    cores: cpus().length,
    memoryGiB: Math.round(totalmem() / 1024 ** 3),
    kernel: `${process.platform} ${release()}`,
    node: process.version,
    loadBefore: Number(began.toFixed(1)),
    commit: commit(),
  };
}

function commit(): string {
  try {
    return execFileSync("git", ["rev-parse", "--short=12", "HEAD"], { cwd: folder, encoding: "utf8" }).trim();
  } catch {
    return "none";
  }
}

function show({ title, rows, targets, notes = [] }: Section): void {
  const wide = Math.max(...rows.map(({ what }) => what.length), 20);
  console.log(`\n${title}`);
  for (const row of rows)
    console.log(`  ${row.what.padEnd(wide)}  ${number(row.value).padStart(10)} ${row.unit}${ratio(row, "  ")}`);
  for (const target of targets) console.log(`  ${met(target) ? "met   " : "MISSED"} ${sentence(target)}`);
  for (const note of notes) console.log(`  ${note}`);
}

function sentence({ what, value, limit, kind, unit }: Target): string {
  return `${what}: ${number(value)} ${unit} (${kind} ${number(limit)})`;
}

function ratio({ ratio: found }: Row, lead: string): string {
  return found === undefined ? "" : `${lead}${found.value.toFixed(2)} × ${found.to}`;
}

function number(value: number): string {
  if (Math.abs(value) >= 100) return Math.round(value).toLocaleString("en-US");
  return value.toFixed(Math.abs(value) >= 10 ? 1 : Math.abs(value) >= 0.1 ? 2 : 4);
}

function pageOf(): string {
  const { cpu, cores, memoryGiB, kernel, node, loadBefore, commit: at } = machine();
  const met_ = sections.flatMap(({ targets }) => targets);
  const misses = met_.filter((target) => !met(target));
  const command = `npm run bench --${asked.map((name) => ` ${name}`).join("")} --write docs/benchmarks.md`;
  return `# Benchmarks

After reading this page you know what this costs in time and memory, against what, and how to measure it on your machine.

Written by \`${command}\` on ${new Date().toISOString().slice(0, 10)}, commit \`${at}\`: ${cores} cores (${cpu}), ${memoryGiB} GiB, ${kernel}, Node ${node}, load ${loadBefore} before the run. ${options.rounds} rounds; the variants of a measurement take turns, and every number is a median. What counts are the ratios of one run: absolute numbers are those of this machine.

## Targets

${misses.length === 0 ? "All met." : `${met_.length - misses.length} of ${met_.length} met.`}

| Target | Measured | Limit | |
|---|---|---|---|
${met_.map((target) => `| ${target.what} | ${number(target.value)} ${target.unit} | ${target.kind} ${number(target.limit)} | ${met(target) ? "met" : `**missed by ${miss(target)}**`} |`).join("\n")}
${sections.map(sectionOf).join("")}`;
}

function miss({ value, limit, kind }: Target): string {
  const share = kind === "at least" ? 1 - value / limit : value / limit - 1;
  return `${(share * 100).toFixed(0)} %`;
}

function sectionOf({ title, method, rows, notes = [] }: Section): string {
  const lines = rows.map((row) => `| ${row.what} | ${number(row.value)} ${row.unit} | ${ratio(row, "")} |`);
  return `
## ${title}

${method}

| | Median | Ratio |
|---|---|---|
${lines.join("\n")}
${notes.map((note) => `\n${note}\n`).join("")}`;
}

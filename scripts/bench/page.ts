/** The results as a page and as lines of a terminal. Pure: what it says of a number depends on that number alone. */
import { met, type Row, type Section, type Target } from "./measure.ts";

export interface Results {
  machine: {
    cpu: string;
    cores: number;
    memoryGiB: number;
    kernel: string;
    node: string;
    /** The load average of the minute before. */
    loadBefore: number;
    commit: string;
  };
  /** ISO date. */
  date: string;
  /** As it was typed. */
  command: string;
  rounds: number;
  quick: boolean;
  seconds: number;
  sections: readonly Section[];
  /** Names of the benchmarks that ended with an error: their targets are missing. */
  failed: readonly string[];
}

/** docs/benchmarks.md, whole. */
export function pageOf(results: Results): string {
  const { machine, sections } = results;
  const targets = sections.flatMap((section) => section.targets);
  const missed = targets.filter((target) => !met(target));
  const took = results.seconds < 90 ? `${Math.round(results.seconds)} s` : `${Math.round(results.seconds / 60)} min`;
  return `# Benchmarks

After reading this page you know what this costs in time and memory, against what, and how to measure it on your machine.

Written by \`${results.command}\` in ${took} on ${results.date}, commit \`${machine.commit}\`: ${machine.cores} cores (${machine.cpu}), ${machine.memoryGiB} GiB, ${machine.kernel}, Node ${machine.node}, load ${machine.loadBefore} before the run. ${results.rounds} rounds; the variants of a measurement take turns, and every number is a median. What counts are the ratios of one run: absolute numbers are those of this machine.
${cautions(results)
  .map((line) => `\n${line}\n`)
  .join("")}
## Targets

${summary(targets, missed)}

| Target | Measured | Its rounds | Limit | |
|---|---|---|---|---|
${targets.map(targetRow).join("\n")}
${missed.length === 0 ? "" : `\n### Why a target is missed\n\n${missed.map(reason).join("\n")}\n`}${sections.map(sectionOf).join("")}`;
}

function summary(targets: readonly Target[], missed: readonly Target[]): string {
  if (targets.length === 0) return "None was measured.";
  return missed.length === 0
    ? `All ${targets.length} met.`
    : `${targets.length - missed.length} of ${targets.length} met.`;
}

/** What makes these numbers worth less. */
function cautions({ machine, quick, rounds, failed }: Results): string[] {
  return [
    ...failed.map((name) => `**The measurement "${name}" ended with an error; its targets are missing below.**`),
    ...(quick ? ["**A quick run: it shows that the program works, and its numbers mean little.**"] : []),
    ...(!quick && rounds < 5 ? ["**Fewer than five rounds: take the ratios with care.**"] : []),
    ...(machine.loadBefore > machine.cores / 2
      ? ["**The machine was busy with other work when the run began: take the ratios with care.**"]
      : []),
  ];
}

function targetRow(target: Target): string {
  const { what, value, unit, kind, limit } = target;
  const verdict = met(target) ? "met" : `**${missedBy(target)}**`;
  return `| ${what} | ${number(value)} ${unit} | ${spread(target)} | ${kind} ${number(limit)} | ${verdict} |`;
}

function missedBy({ value, limit, kind }: Target): string {
  if (!Number.isFinite(value)) return "not measured";
  if (kind === "at most" && value >= 3 * limit) return `missed: ${number(value / limit)} times the limit`;
  const share = (kind === "at least" ? 1 - value / limit : value / limit - 1) * 100;
  return share < 1 ? "missed by less than 1 %" : `missed by ${share.toFixed(0)} %`;
}

function spread({ rounds }: Target): string {
  if (rounds === undefined || rounds.length === 0) return "";
  return `${number(Math.min(...rounds))} to ${number(Math.max(...rounds))}`;
}

function reason(target: Target): string {
  const { what, value, unit, kind, limit, why, rounds = [] } = target;
  const holds = (one: number): boolean => met({ ...target, value: one });
  const mixed = rounds.some(holds) ? ` In ${rounds.filter(holds).length} of ${rounds.length} rounds it was met.` : "";
  return `- **${what}**: ${number(value)} ${unit}, ${kind} ${number(limit)}; ${missedBy(target)}.${mixed} ${why}`;
}

function sectionOf({ title, method, rows, notes = [] }: Section): string {
  const lines = rows.map((row) => `| ${row.what} | ${number(row.value)} ${row.unit} | ${ratio(row, "")} |`);
  return `
## ${title}

${method}
${lines.length === 0 ? "" : `\n| | Median | Ratio |\n|---|---|---|\n${lines.join("\n")}\n`}${notes.map((note) => `\n${note}\n`).join("")}`;
}

/** One section as lines for a terminal. */
export function linesOf({ title, rows, targets, notes = [] }: Section): string[] {
  const wide = Math.max(...rows.map(({ what }) => what.length), 20);
  return [
    title,
    ...rows.map(
      (row) => `  ${row.what.padEnd(wide)}  ${number(row.value).padStart(10)} ${row.unit}${ratio(row, "  ")}`,
    ),
    ...targets.map(
      (target) =>
        `  ${met(target) ? "met   " : "MISSED"} ${target.what}: ${number(target.value)} ${target.unit} (${target.kind} ${number(target.limit)})`,
    ),
    ...notes.map((note) => `  ${note}`),
  ];
}

function ratio({ ratio: found }: Row, lead: string): string {
  return found === undefined ? "" : `${lead}${number(found.value)} × ${found.to}`;
}

/** Three digits or so, whatever the size. */
function number(value: number): string {
  if (!Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size >= 100) return Math.round(value).toLocaleString("en-US");
  if (size >= 10) return value.toFixed(1);
  return size === 0 || size >= 0.1 ? value.toFixed(2) : value.toPrecision(2);
}

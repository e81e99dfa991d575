/** The outcome of `npm run tasks` as a section of a page. */
import type { ScriptedTask } from "./tasks.ts";

export interface Outcome {
  name: string;
  kind: ScriptedTask["kind"];
  ok: boolean;
  why: string;
  seconds: number;
  requests: number;
  mostRequests: number;
}

/** Shares that have to be reached, of the tasks of a kind; for cost, of all tasks: those that asked no more than they may. */
export const THRESHOLDS = { success: 1, refusal: 1, recovery: 1, cost: 1 } as const;
export const MEASURES = Object.keys(THRESHOLDS) as (keyof typeof THRESHOLDS)[];

/** The share that was reached; 1 of none. */
export function reached(outcomes: readonly Outcome[], measure: keyof typeof THRESHOLDS): number {
  const of = measure === "cost" ? outcomes : outcomes.filter(({ kind }) => kind === measure);
  const good = of.filter((outcome) => (measure === "cost" ? outcome.requests <= outcome.mostRequests : outcome.ok));
  return of.length === 0 ? 1 : good.length / of.length;
}

export interface TaskRun {
  /** Outcomes by line of Pi. */
  lines: Readonly<Record<string, readonly Outcome[]>>;
  takeovers: number;
  /** As it was typed. */
  command: string;
  date: string;
  commit: string;
}

export function tableOf({ lines, takeovers, command, date, commit }: TaskRun): string {
  const names = Object.keys(lines);
  const first = lines[names[0] ?? ""] ?? [];
  const percent = (share: number): string => `${Math.floor(share * 100)} %`;
  const heads = names.map((name) => ` Pi ${name} |`).join("");
  const cell = (line: string, name: string): string => {
    const outcome = lines[line]?.find((one) => one.name === name);
    if (outcome === undefined) return "not run";
    const asked = outcome.requests === 1 ? "1 request" : `${outcome.requests} requests`;
    return `${outcome.ok ? "ok" : "**failed**"}, ${asked}, ${outcome.seconds.toFixed(0)} s`;
  };
  return `Written by \`${command}\` on ${date}, commit \`${commit}\`. Each task has a repository, a Pi, a Claude Code and a scripted model of its own, and ends with its log checked and replayed. What a task costs is counted in requests to the model, whatever one of them costs; seconds are of a machine that did other work. Takeover and handback were done ${takeovers} times in a row.

| Threshold | Needed |${heads}
|---|---|${names.map(() => "---|").join("")}
${MEASURES.map((measure) => `| ${measure} | ${percent(THRESHOLDS[measure])} |${names.map((name) => ` ${percent(reached(lines[name] ?? [], measure))} |`).join("")}`).join("\n")}

| Task | Kind | Requests at most |${heads}
|---|---|---|${names.map(() => "---|").join("")}
${first.map(({ name, kind, mostRequests }) => `| ${name} | ${kind} | ${mostRequests} |${names.map((line) => ` ${cell(line, name)} |`).join("")}`).join("\n")}
`;
}

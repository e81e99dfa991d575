/** Cost, tokens and time as drawings. Shapes only: their words stand beside them as text, and in a table. */
import type { Doing, Report, Span, UsagePoint } from "../model.ts";
import { tokensOf } from "../usage.ts";
import { type Clock, lengthOf, money, number, tokens } from "../words.ts";
import { type Html, html } from "./html.ts";
import { momentOf, section, table, th, timeOf } from "./parts.ts";

const WIDTH = 1_000;
const HEIGHT = 100;

const DOING: readonly (readonly [Doing, string, string])[] = [
  ["working", "Claude at work", "k1"],
  ["deciding", "Decision Worker", "k6"],
  ["verifying", "verification", "k7"],
  ["service", "waiting for the model service", "k2"],
  ["waiting", "waiting for a person", "k4"],
  ["paused", "paused or taken over", "k5"],
  ["nobody", "no Pi had it", "k3"],
];

export function timeAndCost(report: Report, clock: Clock): Html | null {
  const { usage, time } = report;
  if (time.spans.length === 0 && usage.length === 0) return null;
  return section(
    "time",
    "Time, cost and tokens",
    timeStrip(report, clock),
    costChart(report, clock),
    usageTable(usage, clock),
  );
}

function timeStrip({ time }: Report, clock: Clock): Html | null {
  const [first, last] = [time.spans[0], time.spans.at(-1)];
  if (first === undefined || last === undefined) return null;
  const scale = scaleOf(first.from, last.to);
  const shown = DOING.filter(([doing]) => time.byDoing[doing] > 0);
  return html`<figure><figcaption>Where ${lengthOf(last.to - first.from)} went</figcaption>
<svg class="strip" viewBox="0 0 ${WIDTH} 10" preserveAspectRatio="none" role="img" aria-label="Stretches of time by what the task was doing; the sums follow">${time.spans.map((span) => spanRect(span, scale))}</svg>
<div class="axis">${momentOf(iso(first.from), clock)}${momentOf(iso(last.to), clock)}</div>
<ul class="legend">${shown.map(([doing, name, kind]) => html`<li>${swatch(kind)}${name} <b>${lengthOf(time.byDoing[doing])}</b></li>`)}</ul></figure>
`;
}

function spanRect(span: Span, scale: (at: number) => number): Html {
  const x = scale(span.from);
  const kind = DOING.find(([doing]) => doing === span.doing)?.[2] ?? "k5";
  return html`<rect class="${kind}" x="${x}" width="${round(Math.max(1, scale(span.to) - x))}" height="10"/>`;
}

function costChart({ usage, view }: Report, clock: Clock): Html | null {
  const [first, last] = [usage[0], usage.at(-1)];
  if (first === undefined || last === undefined) return null;
  const scale = scaleOf(Math.min(Date.parse(view.createdAt), Date.parse(first.at)), Date.parse(last.at));
  const most = Math.max(...usage.map((point) => point.costUsd ?? 0));
  const most2 = Math.max(...usage.map(tokensOf));
  const cost =
    most === 0
      ? null
      : html`<figure><figcaption>Cost so far, by Claude's estimate: ${money(most)} at the end</figcaption>
<svg class="chart" viewBox="0 0 ${WIDTH} ${HEIGHT}" preserveAspectRatio="none" role="img" aria-label="Cost over time, rising to ${money(most)}; the numbers are in the table below">${costLine(usage, scale, most)}</svg>
<div class="axis">${momentOf(view.createdAt === "" ? first.at : view.createdAt, clock)}${momentOf(last.at, clock)}</div></figure>
`;
  const bars =
    most2 === 0
      ? null
      : html`<figure><figcaption>Tokens of each turn, at most ${tokens(most2)}</figcaption>
<svg class="tokens" viewBox="0 0 ${WIDTH} ${HEIGHT}" preserveAspectRatio="none" role="img" aria-label="Tokens of each turn over time; the numbers are in the table below">${usage.map((point) => tokenBar(point, scale, most2, usage.length))}</svg>
<div class="axis">${timeOf(first.at, clock)}${timeOf(last.at, clock)}</div>
<ul class="legend">
<li>${swatch("k4")}written <b>${tokens(sum(usage, "output"))}</b></li>
<li>${swatch("k1")}read anew <b>${tokens(sum(usage, "input") + sum(usage, "cacheCreation"))}</b></li>
<li>${swatch("k3")}read from the cache <b>${tokens(sum(usage, "cacheRead"))}</b></li></ul></figure>
`;
  return html`${cost}${bars}`;
}

/** A step at each result: nothing is known in between. */
function costLine(usage: readonly UsagePoint[], scale: (at: number) => number, most: number): Html {
  let path = `M0 ${HEIGHT}`;
  let y = HEIGHT;
  for (const point of usage) {
    const x = scale(Date.parse(point.at));
    if (point.costUsd !== null) {
      path += `H${x}`;
      y = round(HEIGHT - (point.costUsd / most) * (HEIGHT - 4));
      path += `V${y}`;
    }
  }
  path += `H${WIDTH}`;
  return html`<path class="cost-area" d="${path}V${HEIGHT}H0Z"/><path class="cost-line" d="${path}"/>`;
}

function tokenBar(point: UsagePoint, scale: (at: number) => number, most: number, points: number): Html {
  const width = round(Math.max(1.5, Math.min(14, (WIDTH / points) * 0.6)));
  const x = round(Math.max(0, scale(Date.parse(point.at)) - width));
  const parts: readonly (readonly [string, number])[] = [
    ["k3", point.cacheRead],
    ["k1", point.input + point.cacheCreation],
    ["k4", point.output],
  ];
  let y = HEIGHT;
  return html`${parts.map(([kind, n]) => {
    const height = round((n / most) * HEIGHT);
    if (height === 0) return null;
    y = round(y - height);
    return html`<rect class="${kind}" x="${x}" y="${y}" width="${width}" height="${height}"/>`;
  })}`;
}

function usageTable(usage: readonly UsagePoint[], clock: Clock): Html | null {
  if (usage.length === 0) return null;
  const merged = usage.some((point) => point.turns > 1);
  const heads = [
    th("Until", "w"),
    ...(merged ? [th("Turns", "n")] : []),
    th("Cost so far", "n"),
    th("Written", "n"),
    th("Read anew", "n"),
    th("From cache", "n"),
  ];
  const rows = usage.map((point) => {
    const some = (n: number) => html`<td class="n">${point.reported ? number(n) : "–"}</td>`;
    return html`<tr><td class="w">${momentOf(point.at, clock)}</td>${merged ? html`<td class="n">${point.turns}</td>` : null}<td class="n">${point.costUsd === null ? "–" : money(point.costUsd)}</td>${some(point.output)}${some(point.input + point.cacheCreation)}${some(point.cacheRead)}</tr>\n`;
  });
  return html`<details class="plain"><summary>The numbers as a table</summary>${table("Cost and tokens by turn", heads, rows)}</details>
`;
}

function sum(usage: readonly UsagePoint[], key: "input" | "output" | "cacheRead" | "cacheCreation"): number {
  return usage.reduce((total, point) => total + point[key], 0);
}

function swatch(kind: string): Html {
  return html`<svg viewBox="0 0 1 1" aria-hidden="true"><rect class="${kind}" width="1" height="1"/></svg>`;
}

function scaleOf(from: number, to: number): (at: number) => number {
  const length = Math.max(1, to - from);
  return (at) => (Number.isNaN(at) ? 0 : round((Math.min(Math.max(at - from, 0), length) / length) * WIDTH));
}

function round(n: number): number {
  return Math.round(n * 100) / 100;
}

function iso(ms: number): string {
  return new Date(ms).toISOString();
}

/** The top of the page: what a person sees without scrolling. */
import type { Report } from "../model.ts";
import type { Outcome } from "../outcome.ts";
import { stepsOf } from "../steps.ts";
import { tokensOf } from "../usage.ts";
import { type Clock, lengthOf, money, number, tokens } from "../words.ts";
import { type Html, html, inline } from "./html.ts";
import { momentOf, section, stepList } from "./parts.ts";

const MAX_GOAL = 20_000;

export function header(
  report: Report,
  outcome: Outcome,
  clock: Clock,
  links: readonly (readonly [string, string])[],
): Html {
  const { view } = report;
  const begun =
    view.createdAt === ""
      ? null
      : html`<span>${momentOf(view.createdAt, clock)} to ${momentOf(view.lastEventAt, clock)}</span>`;
  return html`<header><div class="wrap">
<p class="meta"><span class="pill t-${outcome.tone}">${outcome.lead}</span><span class="mono">${view.taskId}</span><span>${view.mode} mode</span>${begun}</p>
<h1 dir="auto">${firstLine(view.goal)}</h1>
${wholeGoal(report)}<p class="headline">${outcome.sentence}</p>
${view.why === null || view.state === "completed" ? null : html`<p class="why t-${outcome.tone}"><bdi>${inline(view.why, 1_000)}</bdi></p>`}
<nav aria-label="Parts of this report"><ul>${links.map(([id, name]) => html`<li><a href="#${id}">${name}</a></li>`)}</ul></nav>
</div></header>
`;
}

/** The five answers as numbers. */
export function cards(report: Report): Html {
  const { view, usage, time, refusals, moreRefusals, calls } = report;
  const { allow, review, person, deny } = view.verdicts;
  const all = allow + review + person + deny;
  const refused = refusals.length + moreRefusals;
  const last = report.state.lastVerification;
  const sum = usage.reduce((total, point) => total + tokensOf(point), 0);
  const waiting = view.requests.filter(({ askedOf }) => askedOf === "person").length;
  const whole = Date.parse(view.lastEventAt) - Date.parse(view.createdAt);
  const waited = time.byDoing.waiting + time.byDoing.paused + time.byDoing.nobody;
  const card = (name: string, big: string, more: string, tone = "") =>
    html`<div><dt>${name}</dt><dd class="big ${tone}">${big}</dd><dd class="more">${more}</dd></div>\n`;
  const verified =
    last === null ? "not yet" : last.outcome === "pass" ? "passed" : last.outcome === "fail" ? "failed" : "no verdict";
  return html`<dl class="cards">
${card("Verification", verified, last === null ? "no verification ran" : `round ${last.round}, ${view.rounds.failed} of ${view.rounds.max} failed`, last === null ? "" : TONES[last.outcome])}
${card("Tool calls", number(all), `${refused} refused, ${review + person} asked about, ${calls.errors} with an error`)}
${card("Cost", view.costUsd === null ? "unknown" : money(view.costUsd), usage.some((point) => point.reported) ? `Claude's estimate, ${tokens(sum)} tokens` : "no tokens were reported")}
${card("Time", Number.isNaN(whole) ? "unknown" : lengthOf(whole), waited > 1_000 ? `${lengthOf(waited)} of it waiting` : `${view.turns} ${view.turns === 1 ? "turn" : "turns"}`)}
${card("Waits for you", view.waitsFor === "approval" ? number(Math.max(1, waiting)) : view.waitsFor === null ? "nothing" : "yes", waitsMore(report), view.waitsFor === null ? "" : "warn")}
</dl>
`;
}

const TONES = { pass: "good", fail: "bad", error: "warn" } as const;

function waitsMore({ view }: Report): string {
  switch (view.waitsFor) {
    case "approval":
      return "answers to give";
    case "result":
      return "a result to look at";
    case "person":
      return "a decision of yours";
    case null:
      return view.recoverable ? "but it can be recovered" : "in this task";
  }
}

export function goOn(report: Report): Html | null {
  // The answers stand beside the requests themselves.
  const steps = stepsOf(report).filter(({ command }) => !/^\/supervise (?:approve|deny|answer) /.test(command));
  return steps.length === 0 ? null : section("go-on", "How to go on", stepList(steps));
}

/** The goal in full, where the title does not hold it. */
function wholeGoal({ view, state }: Report): Html | null {
  const text =
    view.goal.length > MAX_GOAL
      ? `${view.goal.slice(0, MAX_GOAL)}\n[${view.goal.length - MAX_GOAL} more characters in the log]`
      : view.goal;
  const redacted =
    state.spec?.goalRedacted === true
      ? html`<p class="soft small">A secret in it was taken out before it was written down.</p>`
      : null;
  if (firstLine(text) === text.trim()) return redacted;
  return html`<details class="plain whole"><summary>The whole goal</summary><p class="goal" dir="auto">${text.trim()}</p>${redacted}</details>`;
}

export function firstLine(goal: string): string {
  const line = goal.trim().split("\n", 1)[0] ?? "";
  return line === "" ? "No goal was recorded" : inline(line, 140);
}

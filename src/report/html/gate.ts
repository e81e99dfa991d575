/** The gate: calls by tool and verdict, what was refused, what was asked and who decided it. */
import type { Question, Report } from "../model.ts";
import { type Clock, number } from "../words.ts";
import { type Html, html, inline } from "./html.ts";
import { left, section, table, tag, th, timeOf } from "./parts.ts";
import type { Room } from "./room.ts";

const VERDICTS = ["allow", "review", "person", "deny"] as const;

export function gate(report: Report, clock: Clock, room: Room): Html | null {
  const { calls, view } = report;
  const tools = Object.entries(calls.byTool)
    .map(([tool, by]) => ({ tool, by, all: VERDICTS.reduce((sum, verdict) => sum + by[verdict], 0) }))
    .sort((a, b) => b.all - a.all);
  if (tools.length === 0) return null;
  const rows = tools.map(
    ({ tool, by, all }) =>
      html`<tr><th scope="row"><bdi>${inline(tool, 80)}</bdi></th><td class="n">${number(all)}</td>${VERDICTS.map((verdict) => html`<td class="n">${by[verdict] === 0 ? html`<span class="soft">0</span>` : number(by[verdict])}</td>`)}</tr>\n`,
  );
  const rules = Object.entries(view.asksByRule).sort(([, a], [, b]) => b - a);
  return section(
    "gate",
    "Tool calls and verdicts",
    table(
      "Calls by tool and by the gate's verdict",
      [th("Tool"), th("Calls", "n"), th("Allowed", "n"), th("Review", "n"), th("Person", "n"), th("Denied", "n")],
      rows,
    ),
    html`<p class="soft small">${calls.errors} of them ended with an error, ${calls.notRun} did not run, ${calls.nested} came from subagents.</p>`,
    rules.length === 0
      ? null
      : html`<h3>Not allowed at once, by rule</h3>${table(
          "Calls that were asked about or denied, by rule",
          [th("Rule"), th("Calls", "n")],
          rules.map(
            ([rule, times]) =>
              html`<tr><td><code>${inline(rule, 120)}</code></td><td class="n">${number(times)}</td></tr>\n`,
          ),
        )}`,
    refused(report, clock, room),
  );
}

function refused({ refusals, moreRefusals, view }: Report, clock: Clock, room: Room): Html | null {
  if (refusals.length === 0) return null;
  const rows = room.fill(
    [...refusals].reverse(),
    (one) =>
      html`<li>${timeOf(one.at, clock)}<div><b>${inline(one.tool, 60)}</b> <code dir="auto">${inline(one.subject, 300)}</code>
<p>${tag(one.rule, "bad")} by ${one.by}: <bdi>${inline(one.reason, 400)}</bdi></p></div></li>\n`,
  );
  return html`<h3>Refused, the newest first</h3>
<ul class="rows">${rows.shown}</ul>${left(moreRefusals + rows.left, "refusals", view.taskId)}`;
}

/** What the gate did not answer by itself. */
export function decisions({ questions, moreQuestions, view }: Report, clock: Clock, room: Room): Html | null {
  if (questions.length === 0) return null;
  const rows = room.fill([...questions].reverse(), (one) => {
    const asked =
      one.rule === ""
        ? null
        : html` <span class="soft">${one.rule}${one.requestId === null ? "" : `, ${one.requestId}`}</span>`;
    return html`<li>${timeOf(one.at, clock)}<div><b dir="auto">${upper(inline(one.what, 300))}</b>${asked}
${stepsOf(one, clock)}</div></li>\n`;
  });
  return section(
    "decisions",
    "Decisions",
    html`<p class="soft small">What the gate did not answer by itself, the newest first.</p>`,
    html`<ul class="rows">${rows.shown}</ul>`,
    left(moreQuestions + rows.left, "questions", view.taskId),
  );
}

const TONES: Readonly<Record<string, "good" | "bad" | "warn">> = {
  approve: "good",
  answer: "good",
  continue: "good",
  verify: "good",
  deny: "bad",
};

function stepsOf(question: Question, clock: Clock): Html {
  if (question.steps.length === 0)
    return question.open
      ? html`<p>${tag("open", "warn")} waits for ${question.askedOf === "person" ? "a person" : "the Decision Worker"}</p>`
      : html`<p class="soft">No answer.</p>`;
  return html`${question.steps.map(({ at, decision, by, note }) => {
    const who = by === "decider" ? "the Decision Worker" : by === "person" ? "a person" : "the supervisor";
    return html`<p>${tag(decision, TONES[decision] ?? "warn")} by ${who} at ${timeOf(at, clock)}${note === undefined ? null : html`: <bdi>${inline(note, 500)}</bdi>`}</p>\n`;
  })}`;
}

function upper(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** The gate: calls by tool and verdict, what was refused, what was asked and who decided it. */
import type { Question, Report } from "../model.ts";
import { type Clock, number } from "../words.ts";
import { type Html, html, inline } from "./html.ts";
import { left, momentOf, section, table, tag, th, timeOf } from "./parts.ts";
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
      html`<tr><td class="w">${timeOf(one.at, clock)}</td><td><b>${inline(one.tool, 60)}</b> <code dir="auto">${inline(one.subject, 300)}</code></td><td>${tag(one.rule, "bad")} by ${one.by}<br><bdi class="soft">${inline(one.reason, 400)}</bdi></td></tr>\n`,
  );
  return html`<h3>Refused</h3>${table("Calls that did not run, the newest first", [th("Time", "w"), th("Call"), th("Why")], rows.shown)}${left(moreRefusals + rows.left, "refusals", view.taskId)}`;
}

export function decisions({ questions, moreQuestions, view }: Report, clock: Clock, room: Room): Html | null {
  if (questions.length === 0) return null;
  const rows = room.fill(
    [...questions].reverse(),
    (one) =>
      html`<tr><td class="w">${momentOf(one.at, clock)}</td><td><bdi>${inline(one.what, 300)}</bdi>${one.rule === "" ? null : html`<br><span class="soft">${one.rule}${one.requestId === null ? "" : `, ${one.requestId}`}</span>`}</td><td>${stepsOf(one, clock)}</td></tr>\n`,
  );
  return section(
    "decisions",
    "Decisions",
    table(
      "What the gate did not answer by itself, the newest first",
      [th("Asked", "w"), th("About"), th("Decided")],
      rows.shown,
    ),
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
      ? tag(`open, waits for ${question.askedOf === "person" ? "a person" : "the Decision Worker"}`, "warn")
      : html`<span class="soft">no answer</span>`;
  return html`${question.steps.map(({ at, decision, by, note }, index) => {
    const who = by === "decider" ? "Decision Worker" : by === "person" ? "a person" : "the supervisor";
    return html`${index === 0 ? null : html`<br>`}${tag(decision, TONES[decision] ?? "warn")} ${who}, ${timeOf(at, clock)}${note === undefined ? null : html`<br><bdi class="soft">${inline(note, 500)}</bdi>`}`;
  })}`;
}

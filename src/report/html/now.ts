/** What needs a person: requests that wait, what may still run, incidents and warnings. */
import { bounded, inputText } from "../call.ts";
import type { ReportRequest } from "../history.ts";
import type { Entry, Report } from "../model.ts";
import type { Clock } from "../words.ts";
import { type Html, html, inline } from "./html.ts";
import { block, left, momentOf, section, stepList, tag, timeOf } from "./parts.ts";
import type { Room } from "./room.ts";

export function waits({ view }: Report, clock: Clock, room: Room): Html | null {
  if (view.requests.length === 0) return null;
  const requests = room.fill(view.requests, (request) => requestHtml(request, clock));
  return section(
    "waits",
    "What waits for an answer",
    requests.shown,
    requests.left > 0 ? html`<p>${requests.left} more: <code>/supervise approvals</code></p>` : null,
  );
}

function requestHtml(request: ReportRequest, clock: Clock): Html {
  const { requestId, kind, toolName, rule, reason, loss, askedOf, since, deferred } = request;
  const steps =
    kind === "question"
      ? [{ what: "Answer", command: `/supervise answer ${requestId} <label or text>` }]
      : [{ what: kind === "sign-off" ? "Sign it" : "Let it run", command: `/supervise approve ${requestId}` }];
  return html`<h3><bdi>${inline(toolName, 80)}</bdi> <span class="mono soft">${requestId}</span></h3>
<p class="small">${tag(rule, "warn")} <bdi>${inline(reason, 600)}</bdi>${loss === "lost" ? " What it would lose cannot be brought back." : ""}</p>
${block(inputText(request.input), `What ${toolName} wants to do`)}
<p class="soft small">Asked ${momentOf(since, clock)} of ${askedOf === "person" ? "a person" : "the Decision Worker"}, in <bdi>${inline(request.cwd, 300)}</bdi>${deferred ? "; kept over restarts" : ""}.</p>
${askedOf === "person" ? stepList([...steps, { what: "Refuse it", command: `/supervise deny ${requestId} [reason]` }]) : null}`;
}

export function troubles(report: Report, clock: Clock, room: Room): Html | null {
  const { view, notices, moreNotices, damage } = report;
  const fault = view.faultReport ?? null;
  if (notices.length === 0 && view.remaining.length === 0 && damage === null && fault === null) return null;
  const told = room.fill([...notices].reverse(), (entry) => noticeHtml(entry, clock));
  return section(
    "troubles",
    "Incidents and warnings",
    damage === null
      ? null
      : html`<p class="why t-bad">The log is damaged; this page tells it up to record ${report.lastSeq}. <bdi>${inline(damage, 600)}</bdi></p>`,
    fault === null
      ? null
      : html`<p>The report of the fault stands in <code dir="auto">${inline(fault, 600)}</code>.</p>`,
    view.remaining.length === 0
      ? null
      : html`<p>These may still run:</p><ul>${view.remaining.slice(0, 50).map(({ kind, id, detail }) => html`<li>${kind} <code>${id}</code> <bdi>${inline(detail, 300)}</bdi></li>`)}</ul>`,
    notices.length === 0
      ? null
      : html`<ul class="log">
${told.shown}</ul>`,
    left(moreNotices + told.left, "incidents and warnings", view.taskId),
  );
}

function noticeHtml(entry: Entry, clock: Clock): Html {
  const line = html`<span class="line">${timeOf(entry.at, clock)}<span class="what"><bdi>${inline(entry.title, 400)}</bdi></span></span>`;
  const detail = entry.detail?.trim() ?? "";
  return html`<li class="b-${entry.tone ?? "plain"}">${detail === "" ? line : html`<details><summary>${line}</summary><div class="more">${block(bounded(detail), entry.title)}</div></details>`}</li>\n`;
}

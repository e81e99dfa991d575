/**
 * The report as one page that stands alone: no script, no image, nothing from the network; the content policy says so. The
 * live one has one script and loads itself.
 * Everything from outside is escaped, its hidden characters are visible. At most five million characters, whatever the log.
 */
import type { Report } from "../model.ts";
import { budgetsOf, outcomeOf } from "../outcome.ts";
import { type Clock, clockIn, count, lengthOf, number } from "../words.ts";
import { timeAndCost } from "./chart.ts";
import { changes, verification } from "./evidence.ts";
import { decisions, gate } from "./gate.ts";
import { cards, firstLine, goOn, header } from "./head.ts";
import { Html, html, inline } from "./html.ts";
import { troubles, waits } from "./now.ts";
import { bar, facts, momentOf, section, table, th } from "./parts.ts";
import { Room } from "./room.ts";
import { STYLE, STYLE_HASH } from "./style.ts";
import { timeline } from "./timeline.ts";

/** Characters of everything that grows with the log; the rest of a page stays below a quarter of that. */
const MAX_GROWING = 4_000_000;

export interface LiveScript {
  text: string;
  hash: string;
}

export interface PageOptions {
  /** When the page was made, ISO. */
  now: string;
  /** IANA name of the time zone of the reader. */
  zone: string;
  /** The page is served and follows its task by this script of ours; `hash` is for the content policy. */
  live?: LiveScript;
}

/** Ours as it is; a style element's text knows no escapes. */
const STYLE_HTML = new Html(STYLE);

/** What tells a report from any other file. */
export const GENERATOR = "pi-claude-supervisor report";

export function renderPage(report: Report, options: PageOptions): string {
  const clock = clockIn(options.zone);
  const outcome = outcomeOf(report);
  const room = new Room(MAX_GROWING);
  const parts: readonly (readonly [string, string, Html | null])[] = [
    ["waits", "Waits", waits(report, clock, room)],
    ["go-on", "Go on", goOn(report)],
    ["troubles", "Incidents", troubles(report, clock, room)],
    ["verification", "Verification", verification(report, clock, room)],
    ["changes", "Changes", changes(report)],
    ["decisions", "Decisions", decisions(report, clock, room)],
    ["gate", "Tool calls", gate(report, clock, room)],
    ["time", "Time and cost", timeAndCost(report, clock)],
    ["timeline", "Timeline", timeline(report, clock, room)],
    ["task", "Task and budgets", aboutTask(report, clock)],
  ];
  const there = parts.filter(([, , part]) => part !== null);
  const links = there.map(([id, name]) => [id, name] as const);
  return documentOf(
    `${outcome.lead}: ${firstLine(report.view.goal)} (${report.view.taskId})`,
    html`${header(report, outcome, clock, links)}
<main id="main" tabindex="-1"><div class="wrap">
${cards(report)}
${there.map(([, , part]) => part)}
</div></main>
${footer(report, options, clock)}`,
    options.live,
  );
}

/** The frame of every page of ours. */
export function documentOf(title: string, body: Html, live?: LiveScript): string {
  const policy = live === undefined ? "" : `script-src '${live.hash}'; connect-src 'self'; `;
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src '${STYLE_HASH}'; ${policy}base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<meta name="generator" content="${GENERATOR}">
<title>${inline(title, 200)}</title>
<style>${STYLE_HTML}</style>
</head>
<body>
<a class="skip" href="#main">Skip to the report</a>
${live === undefined ? null : html`<p class="wrap soft small" id="live" role="status">It is not live yet.</p>\n`}${body}${live === undefined ? null : html`\n<script>${new Html(live.text)}</script>`}
</body>
</html>
`.text;
}

function aboutTask(report: Report, clock: Clock): Html {
  const { view, state } = report;
  const { spec, executable } = state;
  const budgets = budgetsOf(report).map(
    ({ name, used, limit, share }) =>
      html`<tr><th scope="row">${name}</th><td class="n">${used}</td><td class="n">${limit ?? "no limit"}</td><td class="w">${share === null ? null : html`${bar(share)} ${Math.round(share * 100)} %`}</td></tr>\n`,
  );
  const limits = spec?.limits;
  const findings = spec?.repositoryFindings ?? [];
  return section(
    "task",
    "Task and budgets",
    table("Budgets", [th("Budget"), th("Used", "n"), th("Limit", "n"), th("Share", "w")], budgets),
    facts("The task", [
      ["Folder", html`<code dir="auto">${view.cwd}</code>`],
      ["Begun", momentOf(view.createdAt, clock)],
      ["Last event", momentOf(view.lastEventAt, clock)],
      ...(spec === null
        ? []
        : ([
            ["Gate", `profile ${spec.profile}, Claude settings of ${spec.trust}, transport ${spec.transport}`],
            ...(limits === undefined
              ? []
              : [
                  ["Silence allowed", `${lengthOf(limits.quietMs)}, ${lengthOf(limits.toolQuietMs)} while a tool runs`],
                ]),
            ...(spec.worktree === undefined
              ? []
              : [["Worktree", `${spec.worktree.path}, branch ${spec.worktree.branch}`]]),
            ...(spec.startHead?.head === undefined
              ? []
              : [
                  [
                    "Began at",
                    `commit ${spec.startHead.head}${spec.startHead.branch === undefined ? "" : ` on ${spec.startHead.branch}`}`,
                  ],
                ]),
          ] as [string, string][])),
      ...(view.model === null ? [] : ([["Model", view.model]] as [string, string][])),
      ...(view.claudeSessionId === null
        ? []
        : ([["Claude session", html`<code>${view.claudeSessionId}</code>`]] as [string, Html][])),
      ...(executable === null
        ? []
        : ([["Claude Code", `${executable.version}, ${executable.realPath}`]] as [string, string][])),
      ["Log", html`<code dir="auto">${view.logPath}</code>`],
    ]),
    briefHtml(spec),
    findings.length === 0
      ? null
      : html`<h3>What the repository's own settings would run</h3><ul>${findings.slice(0, 50).map((one) => html`<li><bdi>${inline(one, 300)}</bdi></li>`)}</ul>`,
  );
}

/** What the person said beside the goal. */
function briefHtml(spec: Report["state"]["spec"]): Html | null {
  const { scope = [], constraints = [], forbidden = [] } = spec?.brief ?? {};
  const list = (title: string, lines: readonly string[]): Html | null =>
    lines.length === 0
      ? null
      : html`<h3>${title}</h3><ul>${lines.slice(0, 50).map((one) => html`<li><bdi>${inline(one, 300)}</bdi></li>`)}</ul>`;
  return html`${[list("Scope", scope), list("Constraints", constraints), list("Forbidden", forbidden)]}`;
}

function footer({ records, lastSeq, view }: Report, options: PageOptions, clock: Clock): Html {
  return html`<footer><div class="wrap"><p>Made ${momentOf(options.now, clock)} (${clock.zone}) from ${count(records, "record")} of the log, the last one ${number(lastSeq)}. ${options.live !== undefined ? "This page changes nothing." : "This page loads nothing and runs nothing."} Check the log itself: <code>/supervise log ${view.taskId} --verify</code></p></div></footer>`;
}

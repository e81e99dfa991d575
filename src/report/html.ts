/**
 * The report as one page that stands alone: no script, no link, no image, nothing from the network. Everything that a
 * worker, a tool or a repository wrote is escaped, and its control characters are visible.
 */
import type { History } from "./history.ts";
import { escapeHtml, oneLine } from "./inert.ts";
import { summary } from "./summary.ts";
import { type Entry, timeline } from "./timeline.ts";

/** Entries on one page; a longer log shows its newest ones and says so. */
const MAX_ENTRIES = 5_000;

export function renderHtml(history: History): string {
  const { view } = history;
  const entries = timeline(history.events);
  const shown = entries.slice(-MAX_ENTRIES);
  const left = entries.length - shown.length;
  const rows = summary(history).map(
    ([name, value]) => `<tr><th scope="row">${escapeHtml(name)}</th><td>${escapeHtml(value)}</td></tr>`,
  );
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>${escapeHtml(`${view.taskId}: ${oneLine(view.goal, 80)}`)}</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<h1>${escapeHtml(view.taskId)} <span class="state ${toneOf(view.state)}">${escapeHtml(view.state.replaceAll("_", " "))}</span></h1>
<h2>Goal</h2>
<p class="goal" dir="auto">${escapeHtml(view.goal)}</p>
<h2>Facts</h2>
<table>${rows.join("\n")}</table>
<h2>What happened</h2>
${left > 0 ? `<p>${left} earlier entries are in the log.</p>` : ""}
<ol>
${shown.map(entryHtml).join("\n")}
</ol>
</main>
</body>
</html>
`;
}

function entryHtml(entry: Entry): string {
  const head = `<span class="at">${escapeHtml(entry.at.replace("T", " ").slice(0, 19))}</span> <span class="kind">${entry.kind}</span> ${escapeHtml(entry.title)}`;
  const tone = entry.tone === undefined ? "" : ` class="${entry.tone}"`;
  const detail = entry.detail?.trim() ?? "";
  if (detail === "") return `<li id="e${entry.seq}"${tone}>${head}</li>`;
  return `<li id="e${entry.seq}"${tone}><details><summary>${head}</summary><pre dir="auto">${escapeHtml(detail)}</pre></details></li>`;
}

function toneOf(state: string): string {
  if (state === "completed") return "good";
  return state.startsWith("failed") ? "bad" : "open";
}

const STYLE = `
:root { color-scheme: light dark; --line: #8885; --good: #17803d; --bad: #b3261e; }
body { font: 15px/1.5 system-ui, sans-serif; margin: 0; }
main { max-width: 60rem; margin: 0 auto; padding: 2rem 1rem; }
h1 { font-size: 1.3rem; } h2 { font-size: 1.05rem; margin-top: 2rem; }
.state { border: 1px solid; border-radius: 1em; padding: .1em .7em; font-size: .8em; font-weight: normal; }
.good, .good > details > summary { color: var(--good); } .bad, .bad > details > summary { color: var(--bad); }
.goal { white-space: pre-wrap; border-left: 3px solid var(--line); padding-left: 1em; }
table { border-collapse: collapse; } th { text-align: left; padding: .2em 1.5em .2em 0; font-weight: 600; vertical-align: top; }
td { padding: .2em 0; overflow-wrap: anywhere; white-space: pre-wrap; }
ol { list-style: none; padding: 0; } li { border-top: 1px solid var(--line); padding: .35em 0; overflow-wrap: anywhere; }
.at, .kind { color: #777; font-variant-numeric: tabular-nums; font-size: .85em; } summary { cursor: pointer; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; background: #8881; padding: .7em; margin: .4em 0; color: CanvasText; }
`;

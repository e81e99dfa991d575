/** The report as plain text for a terminal. */
import type { History } from "./history.ts";
import { cut, oneLine, stripControls } from "./inert.ts";
import { summary } from "./summary.ts";
import { type Entry, timeline } from "./timeline.ts";

/** Newest entries of the timeline, and characters of the whole text: Pi shows at most 50 KB. */
const MAX_ENTRIES = 150;
const MAX_CHARS = 40_000;

export function renderText(history: History): string {
  const { view } = history;
  const entries = timeline(history.events);
  const shown = entries.slice(-MAX_ENTRIES);
  const left = entries.length - shown.length;
  const lines = [
    `Report of ${view.taskId}`,
    `Goal: ${stripControls(view.goal)}`,
    ...summary(history).map(([name, value]) => `${name}: ${stripControls(value)}`),
    "",
    "What happened",
    ...(left > 0 ? [`  (${left} earlier entries are in the log)`] : []),
    ...shown.map(entryText),
  ];
  const text = lines.join("\n");
  return text.length <= MAX_CHARS
    ? text
    : `${cut(text, MAX_CHARS)}\n[the rest: /supervise report ${view.taskId} --html FILE]`;
}

function entryText(entry: Entry): string {
  const detail =
    entry.detail === undefined || entry.detail.trim() === "" ? "" : `\n      ${oneLine(entry.detail, 160)}`;
  return `  ${entry.at.slice(11, 19)} ${entry.title}${detail}`;
}

/** The story, one chapter a message to Claude: closed chapters on a long page, every call one line. */
import { entriesOf } from "../chapters.ts";
import type { Call, Chapter, Entry, Report } from "../model.ts";
import { MESSAGES } from "../tell.ts";
import { type Clock, count, lengthOf, money, number, tokens } from "../words.ts";
import { type Html, html, inline } from "./html.ts";
import { block, section, tag, timeOf } from "./parts.ts";
import type { Room } from "./room.ts";

/** Up to this many entries on the page all chapters are open. */
const OPEN_ENTRIES = 80;

export function timeline(report: Report, clock: Clock, room: Room): Html {
  const { chapters, earlier, view } = report;
  const entries = chapters.map(entriesOf);
  const drawn = draw(chapters, clock, room);
  const total = entries.reduce((sum, list) => sum + list.length, 0);
  const last = chapters.length - 1;
  return section(
    "timeline",
    "Timeline",
    html`<p class="soft small">Times are ${clock.zone}. Each message to Claude begins a chapter; a line opens for its details.</p>`,
    earlier === null
      ? null
      : html`<p class="soft small">${count(earlier.chapters, "early chapter")} with ${count(earlier.calls, "call")} (${earlier.refused} refused) are not told here: <code>/supervise log ${view.taskId} --since ${earlier.fromSeq}</code></p>`,
    chapters.map((chapter, index) =>
      chapterHtml(chapter, entries[index] ?? [], drawn, clock, {
        open: total <= OPEN_ENTRIES || index === last,
        number: index + (earlier?.chapters ?? 0) + (chapters[0]?.source === null ? 0 : 1),
        taskId: view.taskId,
      }),
    ),
  );
}

/** The messages and entries that there is room for: what tells first, then the newest. */
function draw(chapters: readonly Chapter[], clock: Clock, room: Room): Map<Entry | Chapter, Html> {
  const drawn = new Map<Entry | Chapter, Html>();
  const newest = [...chapters].reverse();
  for (const chapter of newest) {
    const message = messageHtml(chapter, room);
    if (message !== null) drawn.set(chapter, message);
  }
  for (const which of ["telling", "ordinary"] as const)
    for (const chapter of newest)
      for (const entry of [...chapter[which]].reverse()) {
        const whole = room.take(() => entryHtml(entry, clock, true)) ?? room.take(() => entryHtml(entry, clock, false));
        if (whole !== null) drawn.set(entry, whole);
      }
  return drawn;
}

function chapterHtml(
  chapter: Chapter,
  entries: readonly Entry[],
  drawn: ReadonlyMap<Entry | Chapter, Html>,
  clock: Clock,
  { open, number: no, taskId }: { open: boolean; number: number; taskId: string },
): Html {
  const name = chapter.source === null ? "Before the first message" : `${no}. ${MESSAGES[chapter.source]}`;
  const took = Date.parse(chapter.endedAt) - Date.parse(chapter.at);
  const meta = [
    ...(chapter.calls === 0 ? [] : [count(chapter.calls, "call")]),
    ...(chapter.refused === 0 ? [] : [`${chapter.refused} denied`]),
    ...(chapter.asked === 0 ? [] : [`${chapter.asked} asked about`]),
    ...(chapter.errors === 0 ? [] : [count(chapter.errors, "error")]),
    ...(took > 0 ? [lengthOf(took)] : []),
    ...(chapter.costUsd === null ? [] : [money(chapter.costUsd)]),
    ...(chapter.tokens === null ? [] : [`${tokens(chapter.tokens)} tokens`]),
  ];
  const shown = entries.flatMap((entry) => drawn.get(entry) ?? []);
  const dropped =
    chapter.dropped.calls + chapter.dropped.texts + chapter.dropped.others + entries.length - shown.length;
  const body = html`<summary><h3>${name}</h3> <span class="soft small">${timeOf(chapter.at, clock)}</span>
<p class="meta">${meta.map((one) => html`<span>${one}</span>`)}</p></summary>
${drawn.get(chapter) ?? null}
${dropped === 0 ? null : html`<p class="said soft small">${number(dropped)} ordinary entries of this chapter (allowed calls, Claude's words) are counted above and left out here: <code>/supervise log ${taskId} --since ${chapter.seq}</code></p>`}
${shown.length === 0 ? null : html`<ol class="log">\n${shown}</ol>`}`;
  return open
    ? html`<details class="chapter" open>${body}</details>\n`
    : html`<details class="chapter">${body}</details>\n`;
}

/** What Claude was told; the goal stands at the head of the page. */
function messageHtml({ text, source, seq }: Chapter, room: Room): Html | null {
  if (text.trim() === "" || source === "goal") return null;
  return (
    room.take(() => html`<div class="said">${block(text, "The message")}</div>`) ??
    html`<p class="said soft small">The message is record ${seq} of the log.</p>`
  );
}

function entryHtml(entry: Entry, clock: Clock, whole: boolean): Html {
  const { call } = entry;
  const line = call === undefined ? plainLine(entry, clock) : callLine(entry, call, clock);
  const more = !whole ? null : call === undefined ? detailOf(entry) : callDetail(call);
  const cut = whole ? null : html` <span class="soft">(details in the log)</span>`;
  const { tone } = entry;
  const body =
    more === null
      ? html`${line}${cut}`
      : html`<details><summary>${line}</summary><div class="more">${more}</div></details>`;
  return tone === undefined
    ? html`<li id="e${entry.seq}">${body}</li>\n`
    : html`<li id="e${entry.seq}" class="b-${tone}">${body}</li>\n`;
}

function plainLine(entry: Entry, clock: Clock): Html {
  const words = entry.kind === "claude" && entry.tone === undefined ? inline(entry.detail ?? "", 160) : "";
  const what =
    words === "" ? html`${inline(entry.title, 400)}` : html`<span class="soft">${entry.title}:</span> ${words}`;
  return html`<span class="line">${timeOf(entry.at, clock)}<span class="what" dir="auto">${what}</span></span>`;
}

function detailOf(entry: Entry): Html | null {
  const detail = entry.detail?.trim() ?? "";
  // What the line says already needs no second look.
  if (
    detail === "" ||
    (entry.kind === "claude" && entry.tone === undefined && detail.length <= 160 && !detail.includes("\n"))
  )
    return null;
  return block(detail, entry.title);
}

function callLine(entry: Entry, call: Call, clock: Clock): Html {
  return html`<span class="line">${timeOf(entry.at, clock)}<span class="what"><b>${inline(call.tool, 60)}</b> <code dir="auto">${inline(call.subject, 160)}</code></span>${verdictTag(call)}</span>`;
}

function verdictTag(call: Call): Html {
  const { verdict, answer, notRun, result } = call;
  if (verdict === "deny") return tag("denied", "bad");
  if (answer?.decision === "deny") return tag(`denied by ${answer.by}`, "bad");
  if (notRun !== undefined) return tag("did not run");
  if (answer !== undefined)
    return tag(`${answer.decision} by ${answer.by}`, result?.isError === true ? "warn" : "good");
  if (verdict !== "allow") return tag(verdict === "person" ? "asks a person" : "asks", "warn");
  return result?.isError === true ? tag("error", "warn") : html`<span class="soft small">allowed</span>`;
}

function callDetail(call: Call): Html {
  const { verdict, rule, reason, answer, notRun, result, nested, late } = call;
  return html`<p class="small">${verdict} by <code>${rule}</code>: <bdi>${inline(reason, 600)}</bdi>${nested ? " A subagent's call." : ""}${late ? " It came too late." : ""}</p>
${block(call.input, `Input of ${call.tool}`)}
${answer?.note === undefined ? null : html`<p class="small">${answer.decision} by ${answer.by}: <bdi>${inline(answer.note, 1_000)}</bdi></p>`}
${notRun === undefined ? null : html`<p class="small">It did not run (${notRun}).</p>`}
${result === undefined || result.preview.trim() === "" ? null : html`<p class="small soft">${result.isError ? "Error" : "Result"}, ${number(result.chars)} characters</p>${block(result.preview, `Result of ${call.tool}`)}`}`;
}

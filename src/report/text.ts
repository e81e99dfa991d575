/** The report as plain text for a terminal: the five answers first, the story last. */
import { asksPer100Calls } from "../core/economy.ts";
import { inputText } from "./call.ts";
import { entriesOf } from "./chapters.ts";
import { cut, oneLine, stripControls } from "./inert.ts";
import type { Chapter, Entry, Report, Round } from "./model.ts";
import { budgetsOf, outcomeOf } from "./outcome.ts";
import { repeatOf, type Step } from "./steps.ts";
import { MESSAGES } from "./tell.ts";
import { tokensOf } from "./usage.ts";
import { type Clock, clockIn, count, lengthOf, number, stateWords, tokens } from "./words.ts";

/** Newest entries of the story, rows of each list, and characters of the whole text: Pi shows at most 50 KB. */
const MAX_ENTRIES = 40;
const MAX_ROWS = 12;
const MAX_CHARS = 40_000;

export interface TextOptions {
  /** IANA name of the time zone. */
  zone: string;
}

export function renderText(report: Report, options: TextOptions): string {
  const { view } = report;
  const clock = clockIn(options.zone);
  const outcome = outcomeOf(report);
  const [first] = outcome.steps;
  const lines = [
    `${view.taskId}: ${outcome.lead} (${stateWords(view.state)})`,
    `Goal: ${cut(stripControls(view.goal), 2_000)}`,
    "",
    outcome.sentence,
    ...(view.why === null ? [] : [oneLine(view.why, 600)]),
    ...(report.damage === null
      ? []
      : [`The log is damaged; this is told up to record ${report.lastSeq}: ${oneLine(report.damage, 300)}`]),
    ...section("How to go on", steps(outcome.steps)),
    ...section("What waits for an answer", waiting(report, clock)),
    ...section(
      "Still running",
      view.remaining.map((rest) => oneLine(`${rest.kind} ${rest.id} ${rest.detail}`, 200)),
    ),
    ...section("Refused", refusals(report, clock)),
    ...section("Asked and decided", questions(report, clock)),
    ...section("Verification", rounds(report, clock)),
    ...section("Changed files", changes(report)),
    ...section("Budgets", budgets(report)),
    ...section("Facts", facts(report, clock)),
    ...section("Repeat the verification", steps(repeatOf(report))),
    ...section("What happened", story(report, clock)),
    "",
    `The whole story: /supervise report ${view.taskId} --html FILE. Times are ${clock.zone}.`,
    // A terminal stands at the end of a text: what matters is there too.
    `${outcome.lead}. ${outcome.waits}.${first === undefined ? "" : ` ${first.what}: ${oneLine(first.command, 400)}`}`,
  ];
  const text = lines.join("\n");
  return text.length <= MAX_CHARS
    ? text
    : `${cut(text, MAX_CHARS)}\n[the rest: /supervise report ${view.taskId} --html FILE]`;
}

function section(title: string, lines: readonly string[]): string[] {
  return lines.length === 0
    ? []
    : ["", title, ...lines.map((line) => `  ${stripControls(line).replaceAll("\n", " ")}`)];
}

function steps(list: readonly Step[]): string[] {
  return list.map(({ what, command, shell }) => `${what}${shell ? " (shell)" : ""}: ${oneLine(command, 400)}`);
}

function waiting({ view }: Report, clock: Clock): string[] {
  return newest(view.requests, "requests", (request) => [
    `${request.requestId}  ${oneLine(request.toolName, 60)}, asked ${clock.moment(request.since)} (${request.rule}${request.askedOf === "decider" ? ", the Decision Worker is asked" : ""}${request.deferred ? ", kept over restarts" : ""})`,
    `    ${oneLine(inputText(request.input), 400)}`,
    `    ${oneLine(request.reason, 200)}`,
  ]);
}

function refusals({ refusals: list, moreRefusals }: Report, clock: Clock): string[] {
  return newest(
    list,
    "refusals",
    (one) => [
      `${clock.time(one.at)} ${oneLine(`${one.tool} ${one.subject}`, 140)}`,
      `    ${one.rule} by ${one.by}: ${oneLine(one.reason, 200)}`,
    ],
    moreRefusals,
  );
}

function questions({ questions: list, moreQuestions }: Report, clock: Clock): string[] {
  return newest(
    list,
    "questions",
    (one) => {
      const said = one.steps.map(({ decision, by }) => `${by === "decider" ? "Decision Worker" : by}: ${decision}`);
      const end = said.length > 0 ? said.join(", then ") : one.open ? "open" : "no answer";
      return [`${clock.time(one.at)} ${oneLine(one.what, 120)}  ->  ${oneLine(end, 160)}`];
    },
    moreQuestions,
  );
}

function rounds({ rounds: list, moreRounds }: Report, clock: Clock): string[] {
  return newest(list, "rounds", (round) => roundLines(round, clock), moreRounds);
}

function roundLines({ at, facts }: Round, clock: Clock): string[] {
  const commands = facts.commands.map((command) => {
    const how = command.timedOut ? "timed out" : (command.signal ?? `exit ${command.exitCode ?? "unknown"}`);
    return `    ${oneLine(command.text, 120)}: ${command.outcome}, ${how} after ${lengthOf(command.durationMs)}`;
  });
  const findings = facts.findings
    .slice(0, 8)
    .map(
      (finding) =>
        `    ${finding.kind}${finding.path === undefined ? "" : ` ${oneLine(finding.path, 120)}`}: ${oneLine(finding.detail, 160)}`,
    );
  return [
    `${clock.time(at)} round ${facts.round}: ${facts.outcome} (asked for by ${facts.by}, tree ${oneLine(facts.treeId, 16)}). ${oneLine(facts.message, 200)}`,
    ...commands.slice(0, 8),
    ...findings,
    ...(facts.findings.length > 8 ? [`    and ${facts.findings.length - 8} more findings`] : []),
  ];
}

function changes({ changes: found }: Report): string[] {
  if (found === null) return [];
  return newest(
    [...found.files].reverse(),
    "files",
    ({ path, status, added, deleted, note }) => [
      `${added === undefined ? "" : `+${added} `}${deleted === undefined ? "" : `-${deleted} `}${oneLine(path, 160)} (${status}${note === undefined ? "" : `, ${note}`})`,
    ],
    found.more,
  );
}

function budgets(report: Report): string[] {
  return budgetsOf(report).map(({ name, used, limit, share }) =>
    limit === null
      ? `${name}: ${used}`
      : `${name}: ${used} of ${limit}${share === null ? "" : ` (${Math.round(share * 100)} %)`}`,
  );
}

function perHundred(verdicts: Report["view"]["verdicts"]): string {
  const asks = asksPer100Calls(verdicts);
  return asks === null ? "" : ` (${asks} of 100)`;
}

function facts(report: Report, clock: Clock): string[] {
  const { view, calls, usage } = report;
  const { allow, review, person, deny } = view.verdicts;
  const all = usage.reduce((sum, point) => sum + tokensOf(point), 0);
  const spent = usage.some((point) => point.reported) ? [`Tokens: ${tokens(all)}`] : [];
  const asks = Object.entries(view.asksByRule)
    .sort(([, a], [, b]) => b - a)
    .slice(0, 12)
    .map(([rule, times]) => `${oneLine(rule, 80)} ${times}`);
  return [
    `Folder: ${oneLine(view.cwd, 400)}`,
    `Mode ${view.mode}, from ${clock.moment(view.createdAt)} to ${clock.moment(view.lastEventAt)}`,
    `Calls: ${number(allow)} allowed, ${review + person} asked about${perHundred(view.verdicts)}, ${deny} denied, ${calls.errors} ended with an error`,
    ...(asks.length === 0 ? [] : [`Not allowed at once, by rule: ${asks.join(", ")}`]),
    ...spent,
    ...(view.model === null ? [] : [`Model: ${oneLine(view.model, 80)}`]),
    ...(view.claudeSessionId === null ? [] : [`Claude session: ${view.claudeSessionId}`]),
    `Log: ${oneLine(view.logPath, 400)}`,
  ];
}

function story(report: Report, clock: Clock): string[] {
  const told = report.chapters.flatMap((chapter) => [
    { chapter, entry: null },
    ...entriesOf(chapter).map((entry) => ({ chapter, entry })),
  ]);
  const shown = told.slice(-MAX_ENTRIES);
  const before = told.length - shown.length;
  const gone = report.chapters.reduce(
    (sum, { dropped: d }) => sum + d.calls + d.texts + d.others,
    report.earlier?.entries ?? 0,
  );
  const left = before + gone;
  return [
    ...(left > 0
      ? [`(${count(left, "earlier entry", "earlier entries")}: /supervise log ${report.view.taskId} --since 1)`]
      : []),
    ...shown.flatMap(({ chapter, entry }) =>
      entry === null ? chapterLines(chapter, clock) : entryLines(entry, clock),
    ),
  ];
}

function chapterLines(chapter: Chapter, clock: Clock): string[] {
  if (chapter.source === null) return [];
  const calls =
    chapter.calls === 0
      ? ""
      : `, ${count(chapter.calls, "call")}${chapter.refused === 0 ? "" : `, ${chapter.refused} refused`}`;
  return [`${clock.time(chapter.at)} ${MESSAGES[chapter.source]}${calls}`, `    ${oneLine(chapter.text, 160)}`];
}

function entryLines(entry: Entry, clock: Clock): string[] {
  const { call } = entry;
  if (call === undefined) {
    const detail = entry.detail?.trim() ?? "";
    if (entry.kind === "claude" && entry.tone === undefined && detail !== "")
      return [`${clock.time(entry.at)} ${entry.title}: ${oneLine(detail, 160)}`];
    return [
      `${clock.time(entry.at)} ${oneLine(entry.title, 300)}`,
      ...(detail === "" ? [] : [`    ${oneLine(detail, 160)}`]),
    ];
  }
  const what = call.verdict === "allow" ? "" : `  [${call.verdict} by ${oneLine(call.rule, 80)}]`;
  const failed = call.result?.isError === true ? `  [error: ${oneLine(call.result.preview, 80)}]` : "";
  return [`${clock.time(entry.at)} ${oneLine(`${call.tool} ${call.subject}`, 140)}${what}${failed}`];
}

/** The newest rows of a list, the older ones as a number. */
function newest<T>(list: readonly T[], what: string, lines: (one: T) => string[], more = 0): string[] {
  const shown = list.slice(-MAX_ROWS);
  const left = list.length - shown.length + more;
  return [
    ...(left > 0 ? [`(${number(left)} more ${what} are on the page and in the log)`] : []),
    ...shown.flatMap(lines),
  ];
}

/** Verification: rounds with their evidence, findings, sign-off, what changed, how to repeat it. */
import type { EventMap } from "../../core/events.ts";
import { signatureOf } from "../evidence.ts";
import type { FileChange, Report, Round } from "../model.ts";
import { repeatOf } from "../steps.ts";
import { type Clock, count, lengthOf, number } from "../words.ts";
import { type Html, html, inline } from "./html.ts";
import { block, facts, left, momentOf, section, stepList, table, tag, th } from "./parts.ts";
import type { Room } from "./room.ts";

const TONE = { pass: "good", fail: "bad", error: "warn" } as const;

export function verification(report: Report, clock: Clock, room: Room): Html {
  const { rounds, moreRounds, view } = report;
  const told = room.fill([...rounds].reverse(), (round) => roundHtml(round, clock, round === rounds.at(-1), room));
  return section(
    "verification",
    "Verification",
    signOff(report, clock),
    rounds.length === 0 ? html`<p>No verification has run yet.</p>` : html`<h3>Rounds and evidence</h3>`,
    told.shown,
    left(moreRounds + told.left, "rounds", view.taskId),
    repeat(report),
  );
}

/** Who says that it is done, of what, and when. */
function signOff({ state, view, rounds, questions }: Report, clock: Clock): Html {
  const { ended } = state;
  const last = rounds.at(-1);
  const rows: [string, Html | string][] = [];
  if (ended.kind === "completed") {
    const signed = signatureOf({ questions });
    const verifier = last?.facts.by === "person" ? "the verifier, run by a person" : "the verifier";
    rows.push(["Signed off by", signed === null ? verifier : `${verifier}, and then a person (${signed.via})`]);
    if (signed?.note) rows.push(["Their note", html`<bdi>${inline(signed.note, 600)}</bdi>`]);
    rows.push(["When", momentOf(ended.at, clock)]);
    rows.push(["Tree", html`<code>${ended.treeId}</code>`]);
  } else rows.push(["Signed off by", "nobody yet"]);
  if (view.reason === "sign-off") rows.push(["Waits for", "a person's sign-off"]);
  const verify = state.spec?.verify;
  if (verify !== undefined) {
    rows.push([
      "Frozen commands",
      html`${verify.commands.map((command, index) => html`${index === 0 ? "" : " and "}<code>${inline(command.text, 300)}</code>`)}`,
    ]);
    rows.push([
      "Run",
      `${verify.where === "clean" ? "in a clean copy of exactly the worker's tree" : "in the workspace itself"}${verify.runs > 1 ? `, ${verify.runs} times each` : ""}`,
    ]);
    if (verify.carry.length > 0)
      rows.push(["Carried in, not covered by the tree", verify.carry.slice(0, 20).join(", ")]);
  }
  return facts("Sign-off", rows);
}

function roundHtml({ at, facts: round, review }: Round, clock: Clock, open: boolean, room: Room): Html {
  const { outcome, message, treeId, treeAfter, by, where, durationMs, commands, findings } = round;
  const moved =
    treeAfter !== undefined && treeAfter !== treeId ? html` then <code>${inline(treeAfter, 80)}</code>` : null;
  const body = html`<div class="said small">
<p><bdi>${inline(message, 600)}</bdi></p>
<p class="soft">Asked for by ${by === "person" ? "a person" : "the automatic mode"}, ${where === "clean" ? "clean tree" : "workspace"}, ${lengthOf(durationMs)}, tree <code>${inline(treeId, 80)}</code>${moved}</p>
${commands.map((command) => commandHtml(command, room))}
${findingsHtml(findings, room)}${review === undefined ? null : reviewHtml(review.facts)}${versionsHtml(round.versions)}</div>`;
  const head = html`<summary><h3>Round ${round.round}</h3> ${tag(outcome, TONE[outcome])} <span class="soft small">${momentOf(at, clock)}, ${count(commands.length, "command")}, ${count(findings.length, "finding")}</span></summary>`;
  return open
    ? html`<details class="chapter" open>${head}${body}</details>\n`
    : html`<details class="chapter">${head}${body}</details>\n`;
}

function commandHtml(command: EventMap["verify.finished"]["commands"][number], room: Room): Html {
  const how = command.timedOut ? "timed out" : (command.signal ?? `exit code ${command.exitCode ?? "unknown"}`);
  const run = command.run === 0 ? "setup, " : (command.run ?? 1) > 1 ? `run ${command.run}, ` : "";
  const tail = command.outputTail.trim();
  return html`<p><code>${inline(command.text, 300)}</code> ${tag(command.outcome, TONE[command.outcome])} ${run}${how} after ${lengthOf(command.durationMs)}</p>
${tail === "" ? null : (room.take(() => outputHtml(command, tail)) ?? html`<p class="soft">Its output is in the log.</p>`)}`;
}

function outputHtml(command: EventMap["verify.finished"]["commands"][number], tail: string): Html {
  const head = html`<summary>Output, ${number(command.outputBytes)} bytes</summary><p class="soft">SHA-256 <code>${inline(command.outputSha256, 64)}</code></p>`;
  return html`<details class="plain">${head}${block(tail, `End of the output of ${command.text}`)}</details>`;
}

function findingsHtml(findings: EventMap["verify.finished"]["findings"], room: Room): Html | null {
  if (findings.length === 0) return null;
  const rows = room.fill(
    findings,
    ({ kind, path, detail }) =>
      html`<tr><td class="w">${tag(kind, "warn")}</td><td><bdi>${path === undefined ? "" : inline(path, 300)}</bdi></td><td><bdi>${inline(detail, 600)}</bdi></td></tr>\n`,
  );
  return html`${table("Findings", [th("Kind", "w"), th("File"), th("What")], rows.shown)}${rows.left === 0 ? null : html`<p class="soft">${rows.left} more findings are in the log.</p>`}`;
}

const REVIEW_TONE = { pass: "good", revise: "bad", person: "warn", unavailable: "warn" } as const;

function reviewHtml({ verdict, message, findings, model, looks }: EventMap["review.finished"]): Html {
  const who = model === undefined ? "" : ` (${model})`;
  const list = findings.slice(0, 40).map(({ file, line, problem }) => {
    const where = file === undefined ? "" : `${file}${line === undefined ? "" : `:${line}`}: `;
    return html`<li><bdi>${inline(`${where}${problem}`, 800)}</bdi></li>`;
  });
  return html`<p>Reviewer${inline(who, 120)} ${tag(verdict, REVIEW_TONE[verdict])} <span class="soft">after ${count(looks, "look")} into the tree</span></p>
<p><bdi>${inline(message, 2_000)}</bdi></p>${list.length === 0 ? null : html`<ul>${list}</ul>`}`;
}

function versionsHtml(versions: EventMap["verify.finished"]["versions"]): Html | null {
  const named = Object.entries(versions ?? {}).slice(0, 10);
  if (named.length === 0) return null;
  return html`<p class="soft small">With ${inline(named.map(([name, version]) => `${name} ${version}`).join(", "), 300)}</p>`;
}

function repeat(report: Report): Html | null {
  const steps = repeatOf(report);
  if (steps.length === 0) return null;
  const last = report.state.lastVerification;
  const tree =
    last === null || !/^[0-9a-f]{40,64}$/.test(last.treeId)
      ? null
      : html`<p class="soft small">The verified tree is <code>${last.treeId}</code>: the same files give the same id.</p>`;
  return html`<h3>Repeat it yourself</h3>${stepList(steps)}${tree}`;
}

export function changes({ changes: found, view }: Report): Html | null {
  if (found === null) return null;
  const { files, more, added, deleted, round } = found;
  const most = Math.max(1, ...files.map((file) => (file.added ?? 0) + (file.deleted ?? 0)));
  if (files.length === 0)
    return section("changes", "Changed files", html`<p>Nothing differs from the start of the task.</p>`);
  return section(
    "changes",
    "Changed files",
    html`<p>${count(files.length + more, "file")}, <span class="plus">+${number(added)}</span> <span class="minus">−${number(deleted)}</span> lines since the start of the task, as of round ${round}.</p>`,
    table(
      "Files that differ from the start of the task",
      [th("File"), th("Added", "n"), th("Removed", "n"), th("Share", "w"), th("Change", "w")],
      files.map((file) => fileRow(file, most)),
    ),
    more === 0
      ? null
      : html`<p class="soft small">${more} more files are in the evidence: <code>/supervise log ${view.taskId}</code></p>`,
  );
}

function fileRow({ path, status, added, deleted, note }: FileChange, most: number): Html {
  const width = (n: number | undefined) => Math.round(((n ?? 0) / most) * 1_000) / 10;
  const [plus, minus] = [width(added), width(deleted)];
  const lines = (n: number | undefined, sign: string, kind: string): Html =>
    n === undefined || n === 0
      ? html`<td class="n soft">${n ?? "–"}</td>`
      : html`<td class="n ${kind}">${sign}${number(n)}</td>`;
  const drawn = html`<svg class="diff" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true"><rect class="f-plus" width="${plus}" height="10"/><rect class="f-minus" x="${plus}" width="${minus}" height="10"/></svg>`;
  return html`<tr><td><code dir="auto">${inline(path, 300)}</code></td>${lines(added, "+", "plus")}${lines(deleted, "−", "minus")}<td class="w">${drawn}</td><td class="w">${status}${note === undefined ? "" : `, ${note}`}</td></tr>
`;
}

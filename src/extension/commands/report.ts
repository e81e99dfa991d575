/** `/supervise report [ID] [--html FILE | --serve] | --all [--html FILE]`: what was done, refused, verified and paid. */
import { randomBytes } from "node:crypto";
import { resolve, sep } from "node:path";
import { createRedactor } from "../../redaction/index.ts";
import type { Report } from "../../report/index.ts";
import type { Supervisor, TaskView } from "../../supervisor/api.ts";
import { type Answer, type BadAnswer, type Command, type Scene, usageError } from "../answer.ts";
import { lazy } from "../lazy.ts";
import { usageOf } from "../parse/spec.ts";
import { writeReport } from "../report-file.ts";
import { safe } from "../words-for-people.ts";

/** How long `--all` may look at records: programs get an answer within 15 s. */
const MAX_MS = 10_000;

export const report: Command<"report"> = async (scene, supervisor) => {
  const { flags, args } = scene.call;
  if (flags.serve === true && (flags.all === true || flags.html !== undefined))
    return usageError("usage", `--serve shows one task and writes no file. ${usageOf("report")}`);
  if (flags.all === true)
    return args.length > 0
      ? usageError("usage", `--all is about every task and takes no ID. ${usageOf("report")}`)
      : totals(scene, supervisor);
  const taskId = args[0] ?? (await supervisor.defaultTask());
  if (taskId === null || taskId === undefined)
    return { ok: false, reason: "no-task", message: "There is no task to report on yet." };
  return flags.serve === true ? serve(scene, supervisor, taskId) : one(scene, supervisor, taskId);
};

/** One page at a time: for the same task again it ends, for another one it moves there. */
async function serve(
  { hub, port }: Scene<"report">,
  supervisor: Supervisor,
  taskId: string,
): Promise<Answer | BadAnswer> {
  if (!port.interactive)
    return { ok: false, reason: "no-ui", message: "A live view needs a Pi that stays; use --html FILE here." };
  const same = hub.live?.taskId === taskId;
  hub.live?.stop();
  hub.live = undefined;
  if (same) return { ok: true, fields: { taskId, url: null }, text: `The live view of ${taskId} has ended.` };
  const newest = await supervisor.log(taskId, { limit: 1 });
  if (!newest.ok) return newest;
  const [{ renderPage }, { openLiveView, LIVE }] = await Promise.all([lazy.report(), lazy.liveView()]);
  const opened = await openLiveView({
    taskId,
    page: async () => {
      const collected = await collect(supervisor, taskId);
      if (!collected.ok) return collected;
      const options = { zone: localZone(), now: new Date().toISOString(), live: LIVE };
      return { ok: true, html: renderPage(collected.told, options) };
    },
    follow: (onChange, signal) => supervisor.follow(taskId, newest.lastSeq + 1, onChange, signal),
  });
  if (!opened.ok) return opened;
  const { view } = opened;
  if (hub.quitting !== undefined) {
    view.stop();
    return { ok: false, reason: "quitting", message: "Pi is ending; nothing new is begun." };
  }
  /* Two commands at once: the later one stands. */
  const other = hub.live as Scene["hub"]["live"];
  other?.stop();
  hub.live = view;
  const text = `Live view of ${taskId}: ${view.url}\nRead-only, and only for who has this address on this machine. It ends with Pi, or with the same command again.`;
  return { ok: true, fields: { taskId, url: view.url }, text };
}

async function one(scene: Scene<"report">, supervisor: Supervisor, taskId: string): Promise<Answer | BadAnswer> {
  const { renderPage, evidenceOf, GENERATOR, EVIDENCE_KIND } = await lazy.report();
  const { html } = scene.call.flags;
  if (html === undefined) {
    const told = await reportText(supervisor, taskId);
    return told.ok ? { ok: true, fields: { taskId, report: told.text }, text: told.text } : told;
  }
  const collected = await collect(supervisor, taskId);
  if (!collected.ok) return collected;
  const { told } = collected;
  const zone = localZone();
  const file = resolve(scene.cwd, html);
  const now = new Date().toISOString();
  const evidence = `${file.replace(/\.html?$/i, "")}.evidence.json`;
  const data = `${JSON.stringify(evidenceOf(told, now), null, 2)}\n`;
  const kept = writeReport(evidence, data, EVIDENCE_KIND);
  const written = kept.ok ? writeReport(file, renderPage(told, { zone, now }), GENERATOR) : kept;
  if (!written.ok) return written;
  const inside = isInWork(told.view, file)
    ? " It stands in the folder of a task that goes on: the next verification sees it as a change."
    : "";
  const text = `The report of ${taskId} stands in ${safe(file)}, its evidence as data beside it.${inside}`;
  return { ok: true, fields: { taskId, file, evidence }, text };
}

/** The report of one task as text, for people and for Pi's own model. */
export async function reportText(
  supervisor: Supervisor,
  taskId: string,
): Promise<{ ok: true; text: string } | BadAnswer> {
  const { renderText } = await lazy.report();
  const collected = await collect(supervisor, taskId);
  if (!collected.ok) return collected;
  // Taking hidden characters out can join what they had split.
  const redactor = createRedactor({ salt: randomBytes(16).toString("hex") });
  return { ok: true, text: redactor.text(renderText(collected.told, { zone: localZone() })) };
}

async function collect(supervisor: Supervisor, taskId: string): Promise<{ ok: true; told: Report } | BadAnswer> {
  const { Collector } = await lazy.report();
  const collector = new Collector(taskId);
  const history = await supervisor.history(taskId, (event) => collector.add(event));
  return history.ok ? { ok: true, told: collector.done(history.view, history.damage) } : history;
}

/** A page in the workspace of a live task is a file of that workspace. */
function isInWork(view: Pick<TaskView, "state" | "cwd">, file: string): boolean {
  const over = view.state === "completed" || view.state === "failed" || view.state === "stopped";
  return !over && view.cwd !== "" && file.startsWith(view.cwd.endsWith(sep) ? view.cwd : view.cwd + sep);
}

async function totals(scene: Scene<"report">, supervisor: Supervisor): Promise<Answer | BadAnswer> {
  const { TotalsOf, IndexRows, renderTotals, renderIndex, GENERATOR } = await lazy.report();
  const { html } = scene.call.flags;
  const sums = new TotalsOf();
  const rows = html === undefined ? null : new IndexRows();
  const looked = await supervisor.survey((view) => {
    sums.add(view);
    rows?.add(view);
  }, MAX_MS);
  if (!looked.ok) return looked;
  const numbers = { ...sums.totals, unreadable: looked.unreadable, notLooked: looked.notLooked };
  if (html === undefined || rows === null) return { ok: true, fields: numbers, text: renderTotals(numbers) };
  const file = resolve(scene.cwd, html);
  const page = renderIndex(numbers, rows, { zone: localZone(), now: new Date().toISOString() });
  const written = writeReport(file, page, GENERATOR);
  if (!written.ok) return written;
  return {
    ok: true,
    fields: { ...numbers, file },
    text: `${renderTotals(numbers)}\nThe page stands in ${safe(file)}.`,
  };
}

function localZone(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone;
}

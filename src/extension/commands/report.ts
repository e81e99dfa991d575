/** `/supervise report [ID] [--html FILE] | --all`: what was done, refused, verified and paid. */
import { writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import type { Supervisor, TaskView } from "../../supervisor/api.ts";
import { type Answer, type BadAnswer, type Command, type Scene, usageError } from "../answer.ts";
import { lazy } from "../lazy.ts";
import { usageOf } from "../parse/spec.ts";
import { safe } from "../words-for-people.ts";

/** Newest tasks that `--all` looks into, and how long it may take. */
const MAX_TASKS = 500;
const MAX_MS = 10_000;

export const report: Command<"report"> = async (scene, supervisor) => {
  const { flags, args } = scene.call;
  if (flags.all === true) {
    if (args.length > 0 || flags.html !== undefined)
      return usageError("usage", `--all stands alone: numbers over all tasks, as text or --json. ${usageOf("report")}`);
    return totals(supervisor);
  }
  const taskId = args[0] ?? (await supervisor.defaultTask());
  if (taskId === null || taskId === undefined)
    return { ok: false, reason: "no-task", message: "There is no task to report on yet." };
  return one(scene, supervisor, taskId);
};

async function one(
  { call, cwd }: Scene<"report">,
  supervisor: Supervisor,
  taskId: string,
): Promise<Answer | BadAnswer> {
  const history = await supervisor.history(taskId);
  if (!history.ok) return history;
  const { renderText, renderHtml } = await lazy.report();
  if (call.flags.html === undefined) {
    const text = renderText(history);
    return { ok: true, fields: { taskId, report: text }, text };
  }
  const file = resolve(cwd, call.flags.html);
  const written = await write(file, renderHtml(history));
  if (!written.ok) return written;
  return { ok: true, fields: { taskId, file }, text: `The report of ${taskId} stands in ${safe(file)}.` };
}

async function write(file: string, text: string): Promise<{ ok: true } | BadAnswer> {
  try {
    await writeFile(file, text, { mode: 0o600 });
    return { ok: true };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return {
      ok: false,
      reason: "cannot-write",
      message: `The report could not be written: ${why}. Name another FILE.`,
    };
  }
}

async function totals(supervisor: Supervisor): Promise<Answer | BadAnswer> {
  const found = await supervisor.sessions(true);
  if (!found.ok) return found;
  const { totalsOf, renderTotals } = await lazy.report();
  const end = performance.now() + MAX_MS;
  const views: TaskView[] = [];
  let unreadable = 0;
  let looked = 0;
  for (const row of found.tasks.slice(0, MAX_TASKS)) {
    if (performance.now() > end) break;
    looked++;
    const status = row.state === "unreadable" ? undefined : await supervisor.status(row.taskId);
    if (status?.ok === true) views.push(status.task);
    else unreadable++;
  }
  const numbers = totalsOf(views, { unreadable, notLooked: found.tasks.length - looked });
  return { ok: true, fields: numbers, text: renderTotals(numbers) };
}

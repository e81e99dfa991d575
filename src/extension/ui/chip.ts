/** The status chip and the widget: pure text from task views. */
import { isTerminal } from "../../core/machine/project.ts";
import { oneLine } from "../../report/inert.ts";
import type { TaskView } from "../../supervisor/api.ts";
import { callLine, count, duration, money, stateWords } from "../words-for-people.ts";
import { budgetsOf, drawBar } from "./budgets.ts";

/** Pi cuts a string-array widget at ten lines (both lines). */
const MAX_LINES = 10;
const LINE = 110;
const BAR = 8;

/** `supervise: running · 3 turns · $0.12`; undefined when no task is live. */
export function chipText(tasks: readonly TaskView[]): string | undefined {
  const live = liveOf(tasks);
  const [first] = live;
  if (first === undefined) return undefined;
  const waiting = live.filter((task) => task.waitsFor !== null).length;
  if (live.length > 1)
    return [`supervise: ${live.length} tasks`, ...(waiting > 0 ? [`${waiting} waiting for you`] : [])].join(" · ");
  const cost = money(first.costUsd);
  return [`supervise: ${standing(first)}`, count(first.turns, "turn"), ...(cost === null ? [] : [cost])].join(" · ");
}

function standing(task: TaskView): string {
  return task.waitsFor === null ? stateWords(task.state) : WAITS[task.waitsFor];
}

const WAITS = {
  approval: "waits for your approval",
  result: "waits for your verify",
  person: "waits for you",
} as const;

/** One line a live task, then what waits, at most ten lines; undefined when there is nothing to show. */
export function widgetLines(tasks: readonly TaskView[], now: number = Date.now()): string[] | undefined {
  const live = liveOf(tasks);
  if (live.length === 0) return undefined;
  const rows = live.map((task) => taskLine(task, now));
  const asks = live.flatMap((task) =>
    task.requests
      .filter((request) => request.askedOf === "person")
      .map(
        (request) =>
          `  ? ${oneLine(`${request.requestId} ${callLine(request.toolName, request.input, 70)}`, LINE - 4)}`,
      ),
  );
  const all = [...rows, ...asks];
  if (all.length <= MAX_LINES) return all;
  return [...all.slice(0, MAX_LINES - 1), `… ${all.length - MAX_LINES + 1} more: /supervise sessions`];
}

function taskLine(task: TaskView, now: number): string {
  const cost = money(task.costUsd);
  const parts = [
    task.taskId,
    standing(task),
    ...(task.currentTool === null
      ? []
      : [`${oneLine(task.currentTool.toolName, 24)} ${coarse(now - Date.parse(task.currentTool.since))}`]),
    coarse(now - Date.parse(task.createdAt)),
    ...(cost === null ? [] : [cost]),
    ...nearestLimit(task),
  ];
  return oneLine(parts.join(" · "), LINE);
}

/** The budget that is nearest to its end, as a bar; only those that are at least half used. */
function nearestLimit(task: TaskView): string[] {
  const [worst] = budgetsOf(task).sort((a, b) => b.used - a.used);
  return worst === undefined || worst.used < 0.5 ? [] : [`${drawBar(worst.used, BAR)} ${worst.what}`];
}

/** Ages that change rarely: an RPC client gets a message for each change. */
function coarse(ms: number): string {
  if (!(ms >= 0)) return "0 s";
  const s = ms / 1_000;
  if (s < 60) return `${Math.floor(s / 10) * 10} s`;
  return duration(Math.floor(s / 60) * 60_000);
}

function liveOf(tasks: readonly TaskView[]): TaskView[] {
  return tasks.filter((task) => !isTerminal(task.state) || task.state === "failed_to_stop");
}

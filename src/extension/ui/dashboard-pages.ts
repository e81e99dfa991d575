/** The pages of the dashboard as lines: what stands between title and keys. Pure. */
import type { RequestView, TaskRow, TaskView } from "../../supervisor/api.ts";
import { budgetBars, requestDetail, requestRow, sessionRow, taskHead } from "./dashboard-text.ts";
import { cutMiddle, windowed, wrap } from "./screen-layout.ts";
import type { Painter } from "./screen-port.ts";

export const KEYS = {
  sessions:
    "↑↓ move · enter open · / filter · A ended too · r recover · s stop · c copy id · tab approvals · esc close",
  approvals: "↑↓ move · a approve · d deny · enter open task · / filter · c copy id · tab tasks · esc close",
  task: "↑↓ scroll · a approve · d deny · r recover · s stop · c copy id · esc back",
} as const;

export interface Room {
  columns: number;
  /** Lines that the page may have. */
  height: number;
  now: number;
  paint: Painter;
}

export function sessionsPage(rows: readonly TaskRow[], selected: number, { height, now, paint }: Room): string[] {
  return windowed(
    rows.map((row) => sessionRow(row, now)),
    selected,
    height,
    paint.accent,
  );
}

/** The list, and the chosen request whole below it. */
export function approvalsPage(requests: readonly RequestView[], selected: number, room: Room): string[] {
  const { columns, height, now, paint } = room;
  const chosen = requests[selected];
  if (chosen === undefined) return [];
  const detail = requestDetail(chosen, paint).flatMap((line) => wrap(line, columns));
  const forList = Math.max(3, height - detail.length - 1);
  const rows = windowed(
    requests.map((request) => requestRow(request, now)),
    selected,
    Math.min(forList, requests.length),
    paint.accent,
  );
  return [...rows, "", ...cutMiddle(detail, height - rows.length - 1)];
}

export interface TaskPage {
  lines: string[];
  /** How far back the timeline could really be scrolled. */
  back: number;
}

/** One task: head, budgets, what waits, timeline, the end of its output. `back` is how many events it is scrolled back. */
export function taskPage(
  task: TaskView,
  { events, output }: { events: readonly string[]; output: readonly string[] },
  wished: number,
  { height, now, paint }: Room,
): TaskPage {
  const asks = task.requests.filter((request) => request.askedOf === "person");
  const top = [
    ...taskHead(task, now, paint),
    ...budgetBars(task, paint),
    ...asks.slice(0, 3).map((request) => paint.warning(`? ${requestRow(request, now)}`)),
    ...(asks.length > 3 ? [paint.warning(`? and ${asks.length - 3} more: /supervise approvals`)] : []),
    "",
  ];
  const tail = output.length === 0 ? [] : [paint.dim("output"), ...output.map((line) => `  ${line}`)];
  const shown = Math.max(2, height - top.length - tail.length - 1);
  const back = Math.min(wished, Math.max(0, events.length - shown));
  const end = events.length - back;
  const more = back > 0 ? ` (${back} newer below)` : "";
  const timeline = events.slice(Math.max(0, end - shown), end);
  return { lines: [...top, paint.dim(`timeline${more}`), ...timeline, ...tail], back };
}

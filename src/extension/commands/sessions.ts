/** `/supervise sessions [--all]`: the tasks of this machine's store. */

import { oneLine } from "../../report/inert.ts";
import type { TaskRow } from "../../supervisor/api.ts";
import type { Command } from "../answer.ts";
import { age, money, stateWords } from "../words-for-people.ts";

/** Rows that people are shown; programs get all. */
const MAX_ROWS = 50;

export const sessions: Command<"sessions"> = async ({ call }, supervisor) => {
  const all = call.flags.all === true;
  const found = await supervisor.sessions(all);
  if (!found.ok) return found;
  return { ok: true, fields: { tasks: found.tasks }, text: sessionsText(found.tasks, all) };
};

function sessionsText(tasks: readonly TaskRow[], all: boolean): string {
  if (tasks.length === 0)
    return all
      ? 'There is no task yet. Start one: /supervise start <goal> --verify "<cmd>".'
      : "No task is open. /supervise sessions --all shows the ended ones.";
  const rows = tasks.slice(0, MAX_ROWS).map((task) => {
    if (task.problem !== null) return `${task.taskId}  unreadable: ${oneLine(task.problem, 160)}`;
    const state = task.recoverable ? `recoverable (${stateWords(task.state)})` : stateWords(task.state);
    const facts = [state, age(task.createdAt), money(task.costUsd)].filter((fact) => fact !== null);
    return `${task.taskId}  ${facts.join(", ")}\n  ${oneLine(task.goal, 100)}\n  ${oneLine(task.cwd, 120)}`;
  });
  const more = tasks.length > MAX_ROWS ? [`… and ${tasks.length - MAX_ROWS} more (--json shows all)`] : [];
  const gone = tasks.find((task) => task.recoverable);
  const next = gone === undefined ? [] : [`Go on with one: /supervise recover ${gone.taskId}`];
  return [...rows, ...more, ...next].join("\n");
}

/** `/supervise sessions [--all]`: the tasks of this machine's store; `sessions prune` drops old records. */

import { oneLine } from "../../report/inert.ts";
import type { Supervisor, TaskRow } from "../../supervisor/api.ts";
import { type Answer, type BadAnswer, type Command, type Scene, usageError } from "../answer.ts";
import { lazy } from "../lazy.ts";
import { age, count, money, stateWords } from "../words-for-people.ts";
import { removalWords } from "./discard.ts";

/** Rows that people are shown; programs get all. */
const MAX_ROWS = 50;

export const sessions: Command<"sessions"> = async (scene, supervisor) => {
  const { call } = scene;
  if (call.args[0] === "prune") return prune(supervisor, call.flags["older-than"], call.flags.yes === true);
  const all = call.flags.all === true;
  if (!all && !call.json && (await opened(scene, supervisor))) return { ok: true, fields: {}, text: "" };
  const found = await supervisor.sessions(all);
  if (!found.ok) return found;
  return { ok: true, fields: { tasks: found.tasks }, text: sessionsText(found.tasks, all) };
};

/** In the TUI the list is a screen of its own; an empty one is told in words. */
async function opened({ hub, port }: Scene<"sessions">, supervisor: Supervisor): Promise<boolean> {
  if (port.mode !== "tui") return false;
  const found = await supervisor.sessions(false);
  if (!found.ok || found.tasks.length === 0) return false;
  return (await lazy.dashboard()).openDashboard(hub, port, supervisor, "sessions");
}

async function prune(
  supervisor: Supervisor,
  olderThanMs: number | undefined,
  apply: boolean,
): Promise<Answer | BadAnswer> {
  if (olderThanMs === undefined)
    return usageError("usage", "Say how old: /supervise sessions prune --older-than 240h [--yes].");
  const done = await supervisor.prune(olderThanMs, apply);
  if (!done.ok) return done;
  const { removals, kept } = done;
  const rows = removals.slice(0, MAX_ROWS).map((one) => `${one.taskId}  ${removalWords(one)}`);
  const stay = kept.slice(0, MAX_ROWS).map((one) => `${one.taskId}  stays: ${oneLine(one.message, 160)}`);
  const head =
    removals.length === 0
      ? "No ended task is that old."
      : apply
        ? `Removed the records of ${count(removals.length, "task")}:`
        : `Would remove the records of ${count(removals.length, "task")} (add --yes to do it):`;
  return { ok: true, fields: { removals, kept }, text: [head, ...rows, ...stay].join("\n") };
}

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

/** What completions offer: tasks and what waits in them, newest first. Pure. */
import type { KnownTask, RequestView, TaskRow, TaskView } from "./api.ts";

/** Live tasks first, then those of the store; `requests` are those that wait in tasks of other owners. */
export function knownTasks(
  live: readonly TaskView[],
  rows: readonly TaskRow[],
  requests: readonly RequestView[],
): KnownTask[] {
  const mine = new Set(live.map((view) => view.taskId));
  return [
    ...live.map(({ taskId, goal, state, recoverable, faultReport, reason, requests: own }) => ({
      taskId,
      goal,
      state,
      recoverable,
      fault: faultReport === null ? null : reason,
      requests: own.map(known),
    })),
    ...rows
      .filter((row) => !mine.has(row.taskId))
      .map(({ taskId, goal, state, recoverable }) => ({
        taskId,
        goal,
        state,
        recoverable,
        fault: null,
        requests: requests.filter((request) => request.taskId === taskId).map(known),
      })),
  ];
}

function known({ requestId, kind, toolName, input }: RequestView): KnownTask["requests"][number] {
  return { requestId, kind, toolName, labels: kind === "question" ? labelsOf(input) : [] };
}

/** Of an AskUserQuestion with one question (Claude Code 2.1.268). */
function labelsOf(input: unknown): string[] {
  const { questions } = (input ?? {}) as { questions?: unknown };
  if (!Array.isArray(questions) || questions.length !== 1) return [];
  const { options } = (questions[0] ?? {}) as { options?: unknown };
  return (Array.isArray(options) ? options : []).flatMap((option: unknown) => {
    const { label } = (option ?? {}) as { label?: unknown };
    return typeof label === "string" ? [label] : [];
  });
}

/** `/supervise pause <ID> [reason]`: the worker ends gracefully, its session is kept. */
import type { Command } from "../answer.ts";
import { stateWords } from "../words-for-people.ts";

export const pause: Command<"pause"> = async ({ call }, supervisor) => {
  const [taskId = ""] = call.args;
  const done = await supervisor.pause(taskId, call.rest === "" ? undefined : call.rest);
  if (!done.ok) return { ...done, fields: { taskId } };
  return {
    ok: true,
    fields: { taskId, state: done.state },
    text: `Task ${taskId}: ${stateWords(done.state)}; its session is kept. Go on: /supervise resume ${taskId}`,
  };
};

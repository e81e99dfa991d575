/** `/supervise handback <ID> [note]`: the worker goes on in the session that a person had. */
import type { Command } from "../answer.ts";
import { count, stateWords } from "../words-for-people.ts";

export const handback: Command<"handback"> = async ({ call }, supervisor) => {
  const [taskId = ""] = call.args;
  const done = await supervisor.handback(taskId, call.rest === "" ? undefined : call.rest);
  if (!done.ok) return { ...done, fields: { taskId } };
  const { state, turns } = done;
  const meanwhile = turns === null ? "" : ` Meanwhile the session got ${count(turns, "message")} of yours.`;
  return {
    ok: true,
    fields: { taskId, state, turns },
    text: `Task ${taskId} goes on by itself (${stateWords(state)}); the worker is told that you were there.${meanwhile} Look: /supervise status ${taskId}`,
  };
};

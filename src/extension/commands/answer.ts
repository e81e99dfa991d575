/** `/supervise answer <REQ> <label or text>`: the answer to a question of the worker. */
import type { Command } from "../answer.ts";

export const answer: Command<"answer"> = async ({ call }, supervisor) => {
  const [requestId = ""] = call.args;
  const done = await supervisor.answer(requestId, call.rest, "command");
  if (!done.ok) return done;
  return {
    ok: true,
    fields: { requestId, taskId: done.taskId },
    text: `Answered ${requestId}; ${done.taskId} goes on.`,
  };
};

/** `/supervise deny <REQ> [reason]`: the waiting call is refused; the worker is told why and goes on. */
import type { Command } from "../answer.ts";

export const deny: Command<"deny"> = async ({ call }, supervisor) => {
  const [requestId = ""] = call.args;
  const done = await supervisor.deny(requestId, call.rest === "" ? undefined : call.rest, "command");
  if (!done.ok) return done;
  return {
    ok: true,
    fields: { requestId, taskId: done.taskId },
    text: `Denied ${requestId}; ${done.taskId} goes on without it.`,
  };
};

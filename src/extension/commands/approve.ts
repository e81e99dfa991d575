/** `/supervise approve <REQ> [--note T]`: the waiting call may run. */
import type { Command } from "../answer.ts";

export const approve: Command<"approve"> = async ({ call }, supervisor) => {
  const [requestId = ""] = call.args;
  const done = await supervisor.approve(requestId, call.flags.note, "command");
  if (!done.ok) return done;
  return {
    ok: true,
    fields: { requestId, taskId: done.taskId },
    text: `Approved ${requestId}; ${done.taskId} goes on.`,
  };
};

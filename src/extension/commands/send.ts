/** `/supervise send <ID> <text>`: a person's message to the worker. */
import type { Command } from "../answer.ts";

export const send: Command<"send"> = async ({ call }, supervisor) => {
  const [taskId = ""] = call.args;
  const sent = await supervisor.send(taskId, call.rest);
  if (!sent.ok) return sent;
  const text = sent.queued
    ? `Your message waits for the end of the present turn; then ${taskId} gets it.`
    : `Your message is on its way to ${taskId}.`;
  return { ok: true, fields: { taskId, promptId: sent.promptId, queued: sent.queued }, text };
};

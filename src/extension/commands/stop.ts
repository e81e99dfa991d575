/** `/supervise stop <ID> [reason]`: a graceful end, said only with proof. */
import type { Supervisor } from "../../supervisor/api.ts";
import type { Answer, BadAnswer, Command } from "../answer.ts";
import { safe, stateWords } from "../words-for-people.ts";

export const stop: Command<"stop"> = async ({ call }, supervisor) => {
  const [taskId = ""] = call.args;
  return stopAnswer(taskId, await supervisor.stop(taskId, call.rest === "" ? undefined : call.rest));
};

/** Shared with `kill`. */
export function stopAnswer(taskId: string, done: Awaited<ReturnType<Supervisor["stop"]>>): Answer | BadAnswer {
  if (done.ok) {
    const text =
      done.state === "stopped"
        ? `Task ${taskId} is stopped: nothing of it runs any more. Its workspace and log are kept.`
        : `Task ${taskId} has ended already (${stateWords(done.state)}); nothing changed.`;
    return { ok: true, fields: { taskId, state: done.state }, text };
  }
  if (!("state" in done)) return { ...done, fields: { taskId } };
  const rest = done.remaining
    .map((resource) => safe(`\n  ${resource.kind} ${resource.id} ${resource.detail}`))
    .join("");
  const { reason, message, state, remaining } = done;
  return { ok: false, reason, message: `${message}${rest}`, fields: { taskId, state, remaining } };
}

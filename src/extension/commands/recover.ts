/** `/supervise recover <ID> [--fresh] [--extend D]` and `resume <ID> [--fault F]`: a new worker goes on with a task. */
import type { Supervisor } from "../../supervisor/api.ts";
import type { Answer, BadAnswer, Command } from "../answer.ts";
import { stateWords } from "../words-for-people.ts";

export const recover: Command<"recover"> = ({ call }, supervisor) => {
  const [taskId = ""] = call.args;
  const { fresh, extend } = call.flags;
  return goOn(supervisor, taskId, { fresh: fresh === true, ...(extend !== undefined && { extendMs: extend }) });
};

export const resume: Command<"resume"> = ({ call }, supervisor) => {
  const [taskId = ""] = call.args;
  const { fault } = call.flags;
  return goOn(supervisor, taskId, { fresh: false, ...(fault !== undefined && { fault }) });
};

async function goOn(
  supervisor: Supervisor,
  taskId: string,
  options: Parameters<Supervisor["recover"]>[1],
): Promise<Answer | BadAnswer> {
  const done = await supervisor.recover(taskId, options);
  if (!done.ok) return { ...done, fields: { taskId } };
  const where = options.fresh ? "in a new Claude session" : "in its Claude session";
  return {
    ok: true,
    fields: { taskId, state: done.state },
    text: `Task ${taskId} goes on ${where} (${stateWords(done.state)}). Look: /supervise status ${taskId}`,
  };
}

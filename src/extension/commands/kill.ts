/** `/supervise kill <ID>`: ends everything of a task at once. */
import type { Command } from "../answer.ts";
import { stopAnswer } from "./stop.ts";

export const kill: Command<"kill"> = async ({ call }, supervisor) => {
  const [taskId = ""] = call.args;
  return stopAnswer(taskId, await supervisor.kill(taskId));
};

/** `/supervise replay <ID> [--to SEQ]`: the state computed anew from the log, compared with the stored one. */
import { type Command, EXIT } from "../answer.ts";
import { safe, stateWords } from "../words-for-people.ts";

export const replay: Command<"replay"> = async ({ call }, supervisor) => {
  const [taskId = ""] = call.args;
  const done = await supervisor.replay(taskId, call.flags.to);
  if (!done.ok) return done;
  const { state, matches, seq, differences } = done;
  const elsewhere = !matches && differences.length === 0;
  const said = matches
    ? "It equals the stored state."
    : elsewhere
      ? "The stored state was made at another record, so they were not compared."
      : `It differs from the stored state:${differences.map((line) => `\n  ${safe(line)}`).join("")}`;
  return {
    ok: true,
    fields: { taskId, state, matches, seq, differences },
    text: `Task ${taskId} at record ${seq}: ${stateWords(state)}. ${said}`,
    level: matches || elsewhere ? "info" : "warning",
    exitCode: matches || elsewhere ? EXIT.done : EXIT.failed,
  };
};

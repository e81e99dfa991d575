/** `/supervise verify <ID>`: runs the frozen verification now. */
import { type Command, EXIT } from "../answer.ts";
import { safe, stateWords } from "../words-for-people.ts";

/** How long an answer for programs waits for a reviewer, after the commands (ms). */
const REVIEW_WAIT_MS = 12_000;

export const verify: Command<"verify"> = async ({ call, port }, supervisor) => {
  const [taskId = ""] = call.args;
  /* A program that asked waits no longer than for the commands; a Pi that ends with its answer would take the reviewer along. */
  const stays = port.mode === "tui" || port.mode === "rpc";
  const done = await supervisor.verify(taskId, call.json && stays ? { reviewWaitMs: REVIEW_WAIT_MS } : {});
  if (!done.ok) return done;
  const { outcome, state, message, treeId } = done;
  const said = safe(message);
  const text =
    outcome === "pass"
      ? `The verification passed. ${said} Task ${taskId}: ${stateWords(state)}.`
      : outcome === "fail"
        ? `The verification did not pass. ${said} Evidence: /supervise report ${taskId}. Tell the worker: /supervise send ${taskId} <text>`
        : `The verification could not say anything. ${said}`;
  return {
    ok: true,
    fields: { taskId, outcome, state, message, treeId },
    text,
    level: outcome === "pass" ? "info" : "warning",
    exitCode: outcome === "pass" ? EXIT.done : EXIT.failed,
  };
};

/**
 * `/supervise takeover <ID>`: automation off, then the person drives the session. In the TUI Claude gets this terminal until
 * they leave it; elsewhere the command to run is shown.
 */
import type { Answer, BadAnswer, Command } from "../answer.ts";
import { lazy } from "../lazy.ts";
import { whileShown } from "../progress.ts";
import { safe } from "../words-for-people.ts";

export const takeover: Command<"takeover"> = async ({ call, port, hub }, supervisor) => {
  const [taskId = ""] = call.args;
  const takeOver = () => supervisor.takeover(taskId);
  const done = await (call.json ? takeOver() : whileShown(port, `bringing ${taskId} to rest`, takeOver));
  if (!done.ok) return { ...done, fields: { taskId } };
  const { state, resumeCommand, launch } = done;
  const fields = { taskId, state, resumeCommand };
  const back = `Give it back: /supervise handback ${taskId} [note]`;
  if (port.mode !== "tui" || call.json) {
    const text = `Task ${taskId} is yours: nothing is sent to it, and nothing is gated, until you hand it back.\nGo on in a terminal: ${resumeCommand}\n${back}`;
    return { ok: true, fields, text };
  }
  const { runInTerminal } = await lazy.takeover();
  const ran = await runInTerminal(hub, port, launch);
  if (!ran.ok) return notRun(ran.message, resumeCommand, fields);
  return { ok: true, fields, text: `You have left Claude; task ${taskId} is still yours. ${back}` };
};

function notRun(why: string, resumeCommand: string, fields: object): Answer | BadAnswer {
  return {
    ok: true,
    fields,
    level: "warning",
    text: `Claude could not be run in this terminal: ${safe(why)}\nAutomation is off; go on in another one: ${resumeCommand}`,
  };
}

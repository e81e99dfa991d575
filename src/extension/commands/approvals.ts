/** `/supervise approvals`: everything that waits for a person, of all tasks and owners. */

import { cut } from "../../report/inert.ts";
import type { RequestView } from "../../supervisor/api.ts";
import type { Command } from "../answer.ts";
import { lazy } from "../lazy.ts";
import { age, answerCommands, callText, safe } from "../words-for-people.ts";

/** Characters of one call that the list shows; the dialog and `--json` show more. */
const MAX_CALL = 1_500;

export const approvals: Command<"approvals"> = async ({ call, hub, port }, supervisor) => {
  const found = await supervisor.approvals();
  if (!found.ok) return found;
  const { requests } = found;
  if (port.mode === "tui" && !call.json && requests.length > 0) {
    const opened = (await lazy.dashboard()).openDashboard(hub, port, supervisor, "approvals");
    if (opened) return { ok: true, fields: {}, text: "" };
  }
  const text = requests.length === 0 ? "Nothing waits for your answer." : requests.map(requestText).join("\n\n");
  return { ok: true, fields: { requests }, text };
};

function requestText(request: RequestView): string {
  if (request.kind === "sign-off") {
    return [
      `${request.requestId} (${request.taskId}), sign-off, ${age(request.since)}, kept over restarts`,
      `  ${safe(request.reason)}`,
      `  In ${safe(request.cwd)}`,
      `  ${answerCommands(request).join("  or  ")}`,
    ].join("\n");
  }
  const call = callText(request.toolName, request.input);
  return [
    `${request.requestId} (${request.taskId}), ${safe(request.toolName)}, ${age(request.since)}${request.deferred ? ", kept over restarts" : ""}`,
    ...cut(call, MAX_CALL)
      .split("\n")
      .map((line) => `  ${line}`),
    `  Rule ${request.rule}: ${safe(request.reason)}${request.loss === "lost" ? " What it changes cannot be brought back." : ""}`,
    `  In ${safe(request.cwd)}`,
    `  ${answerCommands(request).join("  or  ")}`,
  ].join("\n");
}

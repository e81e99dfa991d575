/**
 * Two tools by which Pi's own model may look at supervised tasks. Neither starts, answers, sends or stops anything: that
 * is the person's. Plain JSON schemas, so that nothing is loaded at Pi's start (both lines take them: 0.73.1, 1.6.0).
 */
import type { ExtensionAPI, ToolDefinition } from "@mariozechner/pi-coding-agent";
import { lazy } from "./lazy.ts";

const parameters = {
  type: "object",
  properties: { taskId: { type: "string", description: "Id of a task (t-...). Left out: the newest one." } },
  additionalProperties: false,
} as unknown as ToolDefinition["parameters"];

type Name = "supervise_status" | "supervise_report";

export function registerTools(pi: ExtensionAPI): void {
  const add = (name: Name, label: string, description: string): void => {
    pi.registerTool({
      name,
      label,
      description,
      parameters,
      execute: async (_callId, given) => {
        const { taskId } = given as { taskId?: unknown };
        const { answerTool } = await lazy.toolAnswers();
        const text = await answerTool(name, typeof taskId === "string" && taskId !== "" ? taskId : undefined);
        return { content: [{ type: "text", text }], details: undefined };
      },
    });
  };
  add(
    "supervise_status",
    "Supervised task",
    "Read where a supervised Claude Code task stands: state, what it waits for, cost, limits, and the other open tasks. It only reads; only the user can start, answer, message or stop tasks, with /supervise.",
  );
  add(
    "supervise_report",
    "Report of a supervised task",
    "Read what a supervised Claude Code task did: turns, tool calls with verdicts, answers, verification rounds with evidence, cost. It only reads.",
  );
}

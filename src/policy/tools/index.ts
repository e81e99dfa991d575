/** Every tool that Claude can call, by name. Names are exact: `bash` or `Bash ` is another, unknown tool. */
import type { ToolCall } from "../../core/contracts/policy.ts";
import { judgeBash } from "../bash.ts";
import type { Gate } from "../gate.ts";
import { applyToolRules } from "../rules.ts";
import { judgeEditTool, judgeReadTool, judgeSearchTool } from "./files.ts";
import { checkShape, type Fields, SHAPES } from "./shapes.ts";
import { judgeWebFetch, judgeWebSearch } from "./web.ts";

type ToolJudge = (call: ToolCall, fields: Fields, gate: Gate) => void;

const TOOLS: Readonly<Record<string, ToolJudge>> = {
  Read: judgeReadTool,
  Glob: judgeSearchTool,
  Grep: judgeSearchTool,
  Edit: judgeEditTool,
  MultiEdit: judgeEditTool,
  Write: judgeEditTool,
  NotebookEdit: judgeEditTool,
  Bash: bash,
  TodoWrite: harmless,
  TaskOutput: harmless,
  TaskStop: harmless,
  Agent: agent,
  Task: agent,
  WebFetch: (_call, fields, gate) => judgeWebFetch(fields, gate),
  WebSearch: (_call, _fields, gate) => judgeWebSearch(gate),
};

export function judgeTool(call: ToolCall, gate: Gate): void {
  const { toolName } = call;
  if (!Object.hasOwn(TOOLS, toolName)) {
    gate.report.review("tool.unknown", "The gate does not know this tool.", toolName);
    judgeUnknownInput(call, gate);
    applyToolRules(gate, toolName);
    return;
  }
  const shape = SHAPES[toolName === "Task" ? "Agent" : toolName];
  if (shape !== undefined) {
    const { fields, problems } = checkShape(shape, call.input);
    for (const problem of problems) {
      if (problem.kind === "malformed")
        gate.report.review("tool.malformed", "The input does not have the shape of this tool.", problem.field);
      else gate.report.review("tool.unknown-field", "The tool is not known to have this field.", problem.field);
    }
    TOOLS[toolName]?.(call, fields, gate);
  }
  if (toolName !== "Bash") applyToolRules(gate, toolName);
}

function bash(call: ToolCall, fields: Fields, gate: Gate): void {
  const { report } = gate;
  if (fields.dangerouslyDisableSandbox !== undefined && fields.dangerouslyDisableSandbox !== false) {
    report.deny("tool.sandbox", "It would switch Claude's sandbox off.", "dangerouslyDisableSandbox");
  }
  if (fields.run_in_background !== undefined && fields.run_in_background !== false) {
    report.review("bash.background", "It would go on running in the background.", "run_in_background");
  }
  if (typeof fields.command !== "string") return;
  if (fields.command.trim() === "") report.review("tool.malformed", "The command is empty.", "command");
  judgeBash(fields.command, call.cwd, gate);
}

function harmless(call: ToolCall, _fields: Fields, gate: Gate): void {
  gate.report.allow(`tool.${call.toolName}`, "It only touches Claude's own session.");
}

/** A subagent's calls come to this gate one by one; what matters is that its mode is not wider. */
function agent(_call: ToolCall, fields: Fields, gate: Gate): void {
  const { report } = gate;
  const mode = fields.mode;
  if (mode === "bypassPermissions") report.deny("agent.bypass", "A subagent without permission checks.", "mode");
  else if (mode !== undefined && mode !== "default" && mode !== "plan")
    report.review("agent.mode", "A subagent with a wider permission mode.", String(mode));
  if (fields.run_in_background !== undefined && fields.run_in_background !== false) {
    report.review("agent.background", "A subagent that goes on by itself.", "run_in_background");
  }
  report.allow("tool.Agent", "Its own calls are judged one by one.");
}

/** Fields that mean the same danger in any tool. */
function judgeUnknownInput(call: ToolCall, gate: Gate): void {
  const { input } = call;
  if (typeof input !== "object" || input === null) return;
  if (Object.hasOwn(input, "dangerouslyDisableSandbox") && (input as Fields).dangerouslyDisableSandbox === true) {
    gate.report.deny("tool.sandbox", "It would switch Claude's sandbox off.", "dangerouslyDisableSandbox");
  }
}

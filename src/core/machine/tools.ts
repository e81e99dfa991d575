/** Tool calls in flight: what is gated, what runs, and what ran without the gate (invariant 5). */
import type { TaskEvent } from "../events.ts";
import type { OpenTool, TaskState } from "./state.ts";

export function tools(state: TaskState, event: TaskEvent): TaskState {
  switch (event.type) {
    case "gate.verdict": {
      const known = state.tools[event.data.toolUseId];
      const tool: OpenTool = {
        toolName: event.data.toolName,
        gated: true,
        nested: event.data.agentId !== undefined,
        allowed: event.data.verdict === "allow",
        mono: known?.mono ?? event.mono,
        at: known?.at ?? event.at,
      };
      return { ...state, tools: { ...state.tools, [event.data.toolUseId]: tool } };
    }
    case "tool.use": {
      if (state.tools[event.data.toolUseId]) return state;
      const tool: OpenTool = {
        toolName: event.data.toolName,
        gated: false,
        nested: event.data.parentToolUseId !== undefined,
        allowed: false,
        mono: event.mono,
        at: event.at,
      };
      return { ...state, tools: { ...state.tools, [event.data.toolUseId]: tool } };
    }
    case "request.answered": {
      const request = state.requests[event.data.requestId];
      const open = request ? state.tools[request.toolUseId] : undefined;
      if (!request || !open) return state;
      const allowed = event.data.decision !== "deny";
      return { ...state, tools: { ...state.tools, [request.toolUseId]: { ...open, allowed, mono: event.mono } } };
    }
    case "tool.result": {
      const { [event.data.toolUseId]: _done, ...rest } = state.tools;
      return { ...state, tools: rest };
    }
    case "turn.result":
      return state.background.length === 0 ? { ...state, tools: {} } : state;
    case "worker.exited":
    case "worker.start-failed":
    case "stop.proven":
      return { ...state, tools: {} };
    default:
      return state;
  }
}

/**
 * Whether this result belongs to a call that ran although the gate never saw it. Results that Claude wraps in
 * `<tool_use_error>` (refused before any hook) and the abort results of calls that were cut off did not run.
 */
export function ranUngated(
  state: TaskState,
  result: { toolUseId: string; wrapped: boolean; aborted: boolean },
): boolean {
  if (result.wrapped || result.aborted) return false;
  return state.tools[result.toolUseId]?.gated !== true;
}

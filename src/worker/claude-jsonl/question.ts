/** Claude's questions, read and checked: hook callbacks and `can_use_tool` (shapes captured on 2.1.268). */
import type { WorkerEvent } from "../../core/contracts/worker.ts";
import { type Fields, fieldsOf, isFields, isTooDeep, reported, textOf } from "./fields.ts";
import { GATE_CALLBACK } from "./handshake.ts";

export interface Question {
  kind: "hook" | "ask";
  toolName: string;
  toolUseId?: string;
  agentId?: string;
  input: Fields;
  event(callId: string): WorkerEvent;
}

/** What cannot be put to the supervisor. `error` is only for what is no tool call: for a hook it would fail open. */
export interface Unreadable {
  kind: "hook" | "ask" | "other";
  subtype: string;
  reason: string;
}

export function readQuestion(request: Fields): Question | Unreadable {
  const subtype = textOf(request.subtype) ?? "none";
  switch (subtype) {
    case "hook_callback":
      return readHook(request);
    case "can_use_tool":
      return readAsk(request);
    default:
      return { kind: "other", subtype, reason: "The supervisor does not support this request." };
  }
}

export function isReadable(question: Question | Unreadable): question is Question {
  return "event" in question;
}

/** Enough to tell two calls apart; the input itself is not kept once the question is over. */
export function nameOf(question: Question): string {
  return `${question.kind} ${question.toolName} ${question.toolUseId ?? ""}`;
}

export function isSameQuestion(a: Question, b: Question): boolean {
  return nameOf(a) === nameOf(b) && JSON.stringify(a.input) === JSON.stringify(b.input);
}

function readHook(request: Fields): Question | Unreadable {
  const input = fieldsOf(request.input);
  if (request.callback_id !== GATE_CALLBACK || input.hook_event_name !== "PreToolUse") {
    return { kind: "hook", subtype: "hook_callback", reason: "This hook was not registered by the supervisor." };
  }
  const call = readCall(input.tool_name, input.tool_input);
  const toolUseId = textOf(input.tool_use_id) ?? textOf(request.tool_use_id);
  const cwd = textOf(input.cwd);
  if (call === undefined || toolUseId === undefined || cwd === undefined) {
    return { kind: "hook", subtype: "hook_callback", reason: "The supervisor could not read this call." };
  }
  const agent = reported("agentId", textOf(input.agent_id));
  const mode = reported("permissionMode", textOf(input.permission_mode));
  return {
    kind: "hook",
    ...call,
    toolUseId,
    ...agent,
    event: (callId) => ({ type: "hook", callId, toolUseId, ...call, cwd, ...mode, ...agent }),
  };
}

function readAsk(request: Fields): Question | Unreadable {
  const call = readCall(request.tool_name, request.input);
  if (call === undefined) {
    return { kind: "ask", subtype: "can_use_tool", reason: "The supervisor could not read this request." };
  }
  const id = reported("toolUseId", textOf(request.tool_use_id));
  const list = request.permission_suggestions;
  const suggestions = Array.isArray(list) ? list.length : 0;
  return { kind: "ask", ...call, ...id, event: (callId) => ({ type: "ask", callId, ...id, ...call, suggestions }) };
}

function readCall(name: unknown, input: unknown): { toolName: string; input: Fields } | undefined {
  const toolName = textOf(name);
  return toolName === undefined || !isFields(input) || isTooDeep(input) ? undefined : { toolName, input };
}

/** `result` messages: the end of a turn, as Claude Code 2.1.268 prints it. */
import type { Usage, WorkerEvent } from "../../core/contracts/worker.ts";
import { amountOf, countOf, type Fields, fieldsOf, isFields, isTooDeep, reported, textOf, textsOf } from "./fields.ts";

export type ResultEvent = Extract<WorkerEvent, { type: "result" }>;

/** Where a number or text of a `result` line goes in the event; a pointer that is absent here is not used at all. */
export const RESULT_FIELDS: Readonly<Record<string, (event: ResultEvent) => unknown>> = {
  "/total_cost_usd": (event) => event.costUsd,
  "/num_turns": (event) => event.numTurns,
  "/duration_ms": (event) => event.durationMs,
  "/terminal_reason": (event) => event.terminalReason,
  "/api_error_status": (event) => event.apiErrorStatus,
  "/deferred_tool_use": (event) => event.deferred,
  "/usage": (event) => event.usage,
  "/usage/input_tokens": (event) => event.usage?.inputTokens,
  "/usage/output_tokens": (event) => event.usage?.outputTokens,
  "/usage/cache_read_input_tokens": (event) => event.usage?.cacheReadTokens,
  "/usage/cache_creation_input_tokens": (event) => event.usage?.cacheCreationTokens,
};

/**
 * Fails closed: a turn counts as good only when `subtype` is `success` and `is_error` is `false`. API failures arrive as
 * `success` with `is_error: true` and a status.
 */
export function resultEvent(message: Fields, apiError?: string): ResultEvent {
  const subtype = textOf(message.subtype) ?? "unknown";
  const usage = usageOf(message.usage);
  const denials = message.permission_denials;
  return {
    type: "result",
    subtype,
    isError: message.is_error !== false || subtype !== "success",
    ...reported("terminalReason", textOf(message.terminal_reason)),
    ...reported("apiErrorStatus", countOf(message.api_error_status)),
    ...reported("apiError", apiError),
    errors: textsOf(message.errors),
    text: typeof message.result === "string" ? message.result : "",
    ...reported("numTurns", countOf(message.num_turns)),
    ...reported("costUsd", amountOf(message.total_cost_usd)),
    ...reported("durationMs", amountOf(message.duration_ms)),
    ...reported("usage", usage),
    permissionDenials: Array.isArray(denials) ? denials.length : 0,
    ...reported("deferred", deferredOf(message.deferred_tool_use)),
  };
}

function usageOf(value: unknown): Usage | undefined {
  if (!isFields(value)) return undefined;
  const usage: Usage = {
    ...reported("inputTokens", countOf(value.input_tokens)),
    ...reported("outputTokens", countOf(value.output_tokens)),
    ...reported("cacheReadTokens", countOf(value.cache_read_input_tokens)),
    ...reported("cacheCreationTokens", countOf(value.cache_creation_input_tokens)),
  };
  return Object.keys(usage).length > 0 ? usage : undefined;
}

function deferredOf(value: unknown): ResultEvent["deferred"] {
  const call = fieldsOf(value);
  const toolUseId = textOf(call.id);
  const toolName = textOf(call.name);
  if (toolUseId === undefined || toolName === undefined || isTooDeep(call.input)) return undefined;
  return { toolUseId, toolName, input: call.input };
}

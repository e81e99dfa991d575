/** `system` messages, told apart by their subtype. */
import type { WorkerEvent } from "../../core/contracts/worker.ts";
import { amountOf, countOf, type Fields, fieldsOf, reported, textOf } from "./fields.ts";

/**
 * Subtypes that are known (captured on 2.1.268, or named in the published SDK types) and carry nothing to act on here.
 * Progress of subagents and hooks counts as a sign of life only.
 */
const QUIET = new Set([
  "commands_changed",
  "compact_boundary",
  "control_request_progress",
  "elicitation_complete",
  "files_persisted",
  "hook_progress",
  "hook_response",
  "hook_started",
  "informational",
  "local_command_output",
  "memory_recall",
  "mirror_error",
  "model_refusal_fallback",
  "model_refusal_no_fallback",
  "notification",
  "permission_denied",
  "plugin_install",
  "status",
  "task_notification",
  "task_progress",
  "task_started",
  "task_updated",
  "thinking_tokens",
  "worker_shutting_down",
]);

export function systemEvent(message: Fields): WorkerEvent | undefined {
  const subtype = textOf(message.subtype);
  switch (subtype) {
    case "init":
      return {
        type: "init",
        permissionMode: textOf(message.permissionMode) ?? "unknown",
        sessionId: textOf(message.session_id) ?? "",
        ...reported("model", textOf(message.model)),
        tools: Array.isArray(message.tools) ? message.tools.length : 0,
      };
    case "background_tasks_changed":
      return { type: "background", tasks: tasksOf(message.tasks) };
    case "session_state_changed":
      return { type: "session-state", state: message.state === "idle" ? "idle" : "busy" };
    case "api_retry":
      return {
        type: "retry",
        attempt: countOf(message.attempt) ?? 0,
        ...reported("maxRetries", countOf(message.max_retries)),
        ...reported("delayMs", amountOf(message.retry_delay_ms)),
        ...reported("status", countOf(message.error_status)),
      };
    case "session_writes_lost":
      return {
        type: "protocol-error",
        code: "session-writes-lost",
        detail: `Claude could not save its session (${textOf(message.error_code) ?? "unknown reason"}): it may not be resumable.`,
        fatal: false,
      };
    default:
      if (subtype !== undefined && QUIET.has(subtype)) return undefined;
      return { type: "unknown", messageType: "system", ...reported("subtype", subtype) };
  }
}

/** The full live set; entries without an id cannot be waited for and are left out. */
function tasksOf(value: unknown): { id: string; kind: string; description: string }[] {
  if (!Array.isArray(value)) return [];
  return value.map(fieldsOf).flatMap((task) => {
    const id = textOf(task.task_id);
    if (id === undefined) return [];
    return [{ id, kind: textOf(task.task_type) ?? "unknown", description: textOf(task.description) ?? "" }];
  });
}

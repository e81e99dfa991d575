/** Our answers in Claude's words: replies to PreToolUse hook callbacks and to `can_use_tool` (captured on 2.1.268). */
import type { GateReply } from "../../core/contracts/worker.ts";

const NO_REASON = "Denied by the supervisor.";

/** A deny without a reason would be shown to the model as nothing at all. */
export function hookOutput(reply: GateReply): object {
  const reason = reply.reason || (reply.decision === "deny" ? NO_REASON : undefined);
  return {
    ...(reply.endTurn === true && reply.decision === "deny" ? { continue: false, stopReason: reason } : {}),
    hookSpecificOutput: {
      hookEventName: "PreToolUse",
      permissionDecision: reply.decision,
      ...(reason === undefined ? {} : { permissionDecisionReason: reason }),
      ...(reply.decision === "allow" && reply.updatedInput !== undefined ? { updatedInput: reply.updatedInput } : {}),
    },
  };
}

/**
 * An allow needs an `updatedInput` object and a deny a message, else Claude takes the answer for a denial or an error.
 * Permission suggestions are never sent back: "always allow" would outlive the task.
 */
export function permissionOutput(reply: GateReply, input: unknown): object {
  if (reply.decision === "allow") return { behavior: "allow", updatedInput: reply.updatedInput ?? input };
  const interrupt = reply.endTurn === true ? { interrupt: true } : {};
  return { behavior: "deny", message: reply.reason || NO_REASON, ...interrupt };
}

export function controlSuccess(requestId: string | number, response: object): object {
  return { type: "control_response", response: { subtype: "success", request_id: requestId, response } };
}

export function controlError(requestId: string | number, error: string): object {
  return { type: "control_response", response: { subtype: "error", request_id: requestId, error } };
}

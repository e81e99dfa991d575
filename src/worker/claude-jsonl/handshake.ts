/**
 * The handshake: `initialize` registers our PreToolUse hook, and its reply proves that Claude will ask before every
 * tool call. Nothing else is written before that reply (Claude can cut a long prompt that comes together with it).
 */
import { failure, type Result } from "../../core/result.ts";
import { type Fields, textOf } from "./fields.ts";

/** The id under which our PreToolUse hook is registered. */
export const GATE_CALLBACK = "gate";
/** Seconds that a hook callback may stay open: a week, so that a person may take their time. Accepted by 2.1.268. */
const HOOK_TIMEOUT_S = 604_800;

/** `appendSystemPrompt` goes here and not on the command line, where everybody on the machine can read it. */
export function initializeRequest(appendSystemPrompt?: string): { subtype: string } & Fields {
  return {
    subtype: "initialize",
    hooks: {
      PreToolUse: [{ hookCallbackIds: [GATE_CALLBACK], timeout: HOOK_TIMEOUT_S }],
    },
    ...(appendSystemPrompt === undefined ? {} : { appendSystemPrompt }),
  };
}

/** Reasons: `hooks-not-applied`, `permission-mode`. `plan` is narrower than `default` and fine. */
export function checkHandshake(response: Fields): Result<{ permissionMode: string }> {
  if (response.hooks_applied !== true) {
    return failure(
      "hooks-not-applied",
      "Claude did not confirm that it asks before every tool call, so it was stopped. Check whether a managed policy of this machine disables hooks, or install a supported version.",
    );
  }
  const permissionMode = textOf(response.current_permission_mode) ?? "unknown";
  if (permissionMode !== "default" && permissionMode !== "plan") {
    return failure(
      "permission-mode",
      `Claude started in the permission mode "${permissionMode}" instead of "default", so it was stopped. Remove the setting that forces it.`,
    );
  }
  return { ok: true, permissionMode };
}

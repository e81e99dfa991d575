/**
 * What a `result` of Claude means. Judged by `is_error`, `terminal_reason` and `api_error_status`, never by the text:
 * the usage limit arrives as `subtype: "success"` with `is_error` and status 429 (Claude Code 2.1.268).
 */
import type { EventMap } from "./events.ts";

export type ResultClass = { ok: true } | { ok: false; reason: string; message: string };

export function classifyResult(result: EventMap["turn.result"]): ResultClass {
  if (!result.isError && (result.subtype === "success" || result.subtype === "")) return { ok: true };
  const status = result.apiErrorStatus;
  const said = firstLine(result.errors[0] ?? result.preview);
  const bad = (reason: string, what: string): ResultClass => ({
    ok: false,
    reason,
    message: said === "" ? what : `${what} Claude said: ${said}`,
  });
  if (result.apiError === "authentication_failed" || result.apiError === "oauth_org_not_allowed")
    return bad("auth", "Claude's login was refused; log in again, then send it a message.");
  if (result.apiError === "billing_error") return bad("billing", "The model service refused for a billing reason.");
  if (status === 401 || status === 403)
    return bad("auth", "Claude's login was refused; log in again, then send it a message.");
  if (status === 402) return bad("billing", "The model service refused for a billing reason.");
  if (status === 429) return bad("rate-limited", "The usage limit of the model service was reached.");
  if (status === 529 || (status !== undefined && status >= 500))
    return bad("overloaded", "The model service did not answer.");
  switch (result.subtype) {
    case "error_max_turns":
      return bad("turns-exhausted", "Claude used up the turns that it was given.");
    case "error_max_budget_usd":
      return bad("budget-exhausted", "Claude used up the money that it was given.");
    default:
      return result.terminalReason?.startsWith("aborted") === true
        ? bad("interrupted", "The turn was interrupted.")
        : bad("turn-error", `The turn ended with an error (${result.terminalReason ?? result.subtype}).`);
  }
}

function firstLine(text: string): string {
  const line = text.trimStart().split("\n", 1)[0] ?? "";
  /* Claude 2.1.268 puts its own diagnostics into the errors of an interrupted turn. */
  if (line.startsWith("[ede_diagnostic]")) return "";
  return line.length > 200 ? `${line.slice(0, 200)}…` : line;
}

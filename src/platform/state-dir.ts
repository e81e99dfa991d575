/**
 * Where the supervisor-owned directory is meant to be. Here, and not in `store`, because the emergency stop's command
 * must find it without the store (and without everything that the store imports).
 */
import { isAbsolute, join, normalize } from "node:path";
import { failure, type Result } from "../core/result.ts";
import { type AccountLookup, currentAccount } from "./account.ts";

export const STATE_DIR_VARIABLE = "PI_CLAUDE_SUPERVISOR_STATE_DIR";

/** The variable, else below the home of the account database. Reasons: `state-dir`, `no-account`. */
export function stateDirPath(
  options: { env?: Readonly<Record<string, string | undefined>>; account?: AccountLookup } = {},
): Result<{ path: string }> {
  const configured = (options.env ?? process.env)[STATE_DIR_VARIABLE];
  if (configured !== undefined && configured !== "") {
    if (isAbsolute(configured) && !configured.includes("\0")) return { ok: true, path: normalize(configured) };
    return failure("state-dir", `${STATE_DIR_VARIABLE} is not an absolute path. Set it to one that starts with /.`);
  }
  const found = (options.account ?? currentAccount)();
  if (!found.ok) return found;
  return { ok: true, path: join(found.account.home, ".local", "share", "pi-claude-supervisor") };
}

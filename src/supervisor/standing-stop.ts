/** Whether an emergency stop stands, for whoever only looks: nothing is made, no lock is taken. */
import { openControlFolder } from "../control/folder.ts";
import { ALL } from "../control/set-latch.ts";
import { SharedStop } from "../control/shared-stop.ts";
import { type ControlStatus, emptyStatus, readStatus } from "../control/status.ts";
import type { Result } from "../core/result.ts";
import type { Environment } from "./deps.ts";

/**
 * Of everything, or of one identity. A folder that nobody has made yet has no stop in it. Fails where the folder can't be
 * judged or the identity is unknown.
 */
export function standingStop(env: Environment = process.env, scope: string = ALL): Result<{ status: ControlStatus }> {
  const shared = new SharedStop().check;
  const opened = openControlFolder({ env, create: false });
  if (!opened.ok && opened.reason === "missing" && scope === ALL) return { ok: true, status: emptyStatus(shared) };
  return opened.ok ? readStatus(opened.folder, scope, new Date(), shared) : opened;
}

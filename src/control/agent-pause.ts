/** Whether a caller with an agent host's marker may pause: a file in the control folder, because the command has no settings. */
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Result } from "../core/result.ts";
import { errnoOf, fileFailure } from "../platform/errno.ts";
import type { ControlFolder } from "./folder.ts";
import { isThere } from "./set-latch.ts";

/** The command refuses an agent's pause where the control folder holds this file. */
const AGENTS_MAY_NOT_PAUSE = "agents-may-not-pause";

export function keepAgentPause(folder: ControlFolder, may: boolean): Result {
  const path = join(folder.path, AGENTS_MAY_NOT_PAUSE);
  try {
    if (may) rmSync(path, { force: true });
    else writeFileSync(path, "", { mode: 0o600 });
    return { ok: true };
  } catch (error) {
    // A full disk must not keep Pi from being stoppable; the check for agents is a courtesy.
    return errnoOf(error) === "ENOSPC" ? { ok: true } : fileFailure("write", path, error);
  }
}

export function agentsMayPause(folder: ControlFolder): boolean {
  return !isThere(join(folder.path, AGENTS_MAY_NOT_PAUSE));
}

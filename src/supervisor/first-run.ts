/**
 * What still stands between a person and their first task, from facts that cost nothing to know: no program is started,
 * no folder made, no login read. `doctor` looks at everything.
 */
import { lookForClaude } from "../worker/index.ts";
import { claudePath, configOf } from "./config.ts";
import type { SupervisorDeps } from "./deps.ts";
import { claudeFault, loginCheck } from "./doctor/claude-checks.ts";
import { type Finding, faultOf } from "./doctor/finding.ts";

/** The first fault, or null where a task could start as far as can be seen. */
export async function firstObstacle(deps: Pick<SupervisorDeps, "env" | "agentDir">): Promise<Finding | null> {
  const loaded = configOf(deps, undefined);
  if (!loaded.ok) return faultOf("settings", loaded.message);
  const { settings } = loaded.config;
  const found = await lookForClaude({ configured: claudePath(settings), host: deps.env });
  if (!found.ok) return claudeFault(found.message);
  const login = loginCheck({ env: deps.env, platform: process.platform }, settings);
  return login.level === "error" ? login : null;
}

/** The frozen facts that the gate judges one task's calls by. */
import { join } from "node:path";
import type { PolicyContext } from "../core/contracts/policy.ts";
import type { TaskSpec } from "../core/machine/state.ts";
import type { SupervisorDeps } from "./deps.ts";

export function policyContext(
  deps: Pick<SupervisorDeps, "home" | "layout">,
  spec: Pick<TaskSpec, "cwd" | "profile" | "verify" | "rules" | "allowedHosts">,
): PolicyContext {
  return {
    workspace: spec.cwd,
    home: deps.home,
    stateDir: deps.layout.root,
    protectedDirs: [join(deps.home, ".pi", "agent")],
    profile: spec.profile,
    frozenVerify: spec.verify.commands.map((command) => command.text),
    rules: spec.rules ?? [],
    allowedHosts: spec.allowedHosts ?? [],
  };
}

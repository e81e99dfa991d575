/** The frozen facts that the gate judges one task's calls by. */
import { join } from "node:path";
import { guardedPlaces } from "../control/guarded-places.ts";
import type { PolicyContext } from "../core/contracts/policy.ts";
import type { TaskSpec } from "../core/machine/state.ts";
import { isInside } from "../platform/paths.ts";
import type { SupervisorDeps } from "./deps.ts";

export function policyContext(
  deps: Pick<SupervisorDeps, "env" | "home" | "layout">,
  spec: Pick<TaskSpec, "cwd" | "profile" | "verify" | "rules" | "allowedHosts">,
): PolicyContext {
  return {
    workspace: spec.cwd,
    home: deps.home,
    stateDir: deps.layout.root,
    protectedDirs: [join(deps.home, ".pi", "agent"), ...foldersOfTheStop(deps, spec.cwd)],
    profile: spec.profile,
    frozenVerify: spec.verify.commands.map((command) => command.text),
    rules: spec.rules ?? [],
    allowedHosts: spec.allowedHosts ?? [],
  };
}

/** Where a stop of this account or of another one would stand, when that is not in the state folder. */
function foldersOfTheStop({ env, layout }: Pick<SupervisorDeps, "env" | "layout">, cwd: string): string[] {
  return guardedPlaces(env, cwd).roots.filter((root) => !isInside(root, layout.root));
}

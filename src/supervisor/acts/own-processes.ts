import type { TaskState } from "../../core/machine/state.ts";
import { leftovers } from "../../platform/containment/index.ts";

/**
 * Pids of what is left of the task's own workers, their leaders included. After a SIGKILL of Pi its guardian needs a moment
 * to end them, and before anything starts they are swept: they hold no session against their own task.
 */
export function ownProcesses({ resources }: TaskState): ReadonlySet<number> {
  return new Set(
    resources.flatMap((tree) => [tree.leader.pid, ...(leftovers(tree) ?? []).map(({ identity }) => identity.pid)]),
  );
}

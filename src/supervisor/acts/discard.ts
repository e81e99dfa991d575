/** Dropping records of tasks. The workspace is never touched; without `apply` nothing is. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { failure, type Result } from "../../core/result.ts";
import { decisionSessionStore } from "../../decision/index.ts";
import { discardTask, pruneTasks, type Removal } from "../../store/task-removal.ts";
import { notOwned, type Scope } from "../scope.ts";
import { ownerIdentity } from "../start.ts";

/** An ended or recoverable task, or one whose record is broken. Reasons: `live`, `remaining`, `no-task`, a disk fault. */
export async function discard(scope: Scope, taskId: string, apply: boolean): Promise<Result<{ removal: Removal }>> {
  const driver = await scope.driver(taskId);
  if (driver)
    return failure("live", `Task ${taskId} is live in this Pi; stop it first: \`/supervise stop ${taskId}\`.`);
  const view = scope.view(taskId);
  if (!view.ok && view.reason === "no-task") return view;
  if (view.ok && view.task.owner?.alive) return notOwned(view.task);
  if (view.ok && view.task.state === "failed_to_stop") return notOwned(view.task);
  const holder = holderOf(scope, taskId);
  if (!holder.ok) return holder;
  const dropped = await discardTask(scope.deps.layout, taskId, { apply, holder: holder.holder });
  if (dropped.ok && dropped.removal.removed) forgetDecisions(scope, [taskId]);
  return dropped;
}

/** Ended tasks whose record has not changed for that long (ms). */
export async function prune(
  scope: Scope,
  olderThanMs: number,
  apply: boolean,
): Promise<Result<{ removals: Removal[]; kept: { taskId: string; message: string }[] }>> {
  const own = holderOf(scope, "");
  if (!own.ok) return own;
  const pruned = await pruneTasks(scope.deps.layout, {
    olderThanMs,
    apply,
    clock: scope.deps.clock,
    isEnded: (state) => state === "completed" || state === "failed" || state === "stopped",
    holder: (taskId) => ({ ...own.holder, taskId }),
  });
  if (pruned.ok)
    forgetDecisions(
      scope,
      pruned.removals.filter(({ removed }) => removed).map(({ taskId }) => taskId),
    );
  return pruned;
}

/** The decider's conversations go with their tasks; what can't be removed is found by nobody any more, and harms nothing. */
function forgetDecisions({ deps: { layout } }: Scope, taskIds: readonly string[]): void {
  const folder = join(layout.root, "decisions");
  if (!existsSync(folder)) return;
  const store = decisionSessionStore(folder);
  for (const taskId of taskIds) store.discard(taskId);
}

function holderOf(scope: Scope, taskId: string) {
  const self = ownerIdentity(scope.deps);
  if (!self.ok) return self;
  return { ok: true as const, holder: { ...self.owner, taskId, since: scope.deps.clock.now().toISOString() } };
}

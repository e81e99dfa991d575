/** One task at a time in a folder, and no refusal because the one before has not quite left. */
import { isTerminal } from "../core/machine/project.ts";
import { type HolderInfo, takeCwdLock } from "../store/cwd-lock.ts";
import type { SupervisorDeps } from "./deps.ts";
import { readSnapshot } from "./stored-task.ts";

/** How long a task that is over may still hold its folder, while its worker leaves (ms). */
const LETTING_GO_MS = 8_000;
const LOOK_MS = 50;

/** The folder's lock; one that an ended task is just letting go of is waited for. Reasons: those of `takeCwdLock`. */
export async function takeFolder(
  deps: SupervisorDeps,
  cwd: string,
  holder: HolderInfo,
): Promise<ReturnType<typeof takeCwdLock>> {
  const end = deps.clock.mono() + LETTING_GO_MS;
  for (;;) {
    const locked = takeCwdLock(deps.layout, cwd, holder);
    if (locked.ok || locked.reason !== "cwd-busy" || deps.clock.mono() >= end) return locked;
    const taskId = "holder" in locked ? locked.holder?.["taskId"] : undefined;
    const record = typeof taskId === "string" ? readSnapshot(deps.layout, taskId) : undefined;
    if (!record?.ok || !isTerminal(record.record.view.state) || record.record.view.state === "failed_to_stop")
      return locked;
    await new Promise<void>((done) => deps.clock.setTimer(LOOK_MS, done));
  }
}

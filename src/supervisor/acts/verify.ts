/** A person's `verify`: the frozen verification, now. */
import { type StateName, stateName } from "../../core/machine/project.ts";
import type { TaskState } from "../../core/machine/state.ts";
import { isActive, openSignOff } from "../../core/machine/verification.ts";
import { reviewSummary } from "../../core/prompts.ts";
import { failure, type Result } from "../../core/result.ts";
import { logFull, type Scope } from "../scope.ts";

export interface Verified {
  outcome: "pass" | "fail" | "error";
  state: StateName;
  message: string;
  treeId: string;
}

/**
 * Answers when it has run, and a reviewer has given its verdict; with `reviewWaitMs` the answer does not wait longer than that
 * for the reviewer alone.
 */
export async function verifyTask(
  scope: Scope,
  taskId: string,
  options: { reviewWaitMs?: number } = {},
): Promise<Result<Verified>> {
  const found = await scope.owned(taskId, "verify");
  if (!found.ok) return found;
  const { driver } = found;
  const before = driver.state.budgets.rounds;
  if (driver.record({ type: "verify.requested", data: { by: "person" } }) !== "written") return logFull();
  const over = ({ stop, ended, control, budgets, verification }: TaskState): boolean =>
    stop.kind !== "none" ||
    ended.kind !== "no" ||
    control.kind !== "supervised" ||
    (budgets.rounds > before && !isActive(verification));
  const never = new AbortController().signal;
  const { reviewWaitMs } = options;
  if (reviewWaitMs !== undefined) {
    await driver.until((state) => over(state) || state.verification.kind === "reviewing", never);
    await driver.until(over, AbortSignal.timeout(reviewWaitMs));
  }
  if (driver.state.verification.kind !== "reviewing" || reviewWaitMs === undefined) await driver.until(over, never);
  await driver.stored();
  const { state } = driver;
  const facts = state.lastVerification;
  if (state.budgets.rounds === before || !facts) {
    return failure("stopped", `Task ${taskId} was stopped before its verification could run.`);
  }
  const passed = facts.outcome === "pass";
  const signOff = openSignOff(state);
  const { verification: v } = state;
  if (v.kind === "revise") {
    const message = `The verification passed. ${state.hold?.message ?? reviewSummary(v.review)}`;
    return { ok: true, outcome: "fail", state: stateName(state), message, treeId: facts.treeId };
  }
  if (v.kind === "reviewing") {
    const message = `${facts.message} The reviewer still looks at it; \`/supervise status ${taskId}\` shows what it says.`;
    return { ok: true, outcome: "pass", state: stateName(state), message, treeId: facts.treeId };
  }
  const stale = passed && state.ended.kind !== "completed" && signOff === null;
  const outcome = stale ? "error" : facts.outcome;
  const message = stale
    ? "The verification passed, but the workspace has changed since."
    : (signOff?.message ?? facts.message);
  return { ok: true, outcome, state: stateName(state), message, treeId: facts.treeId };
}

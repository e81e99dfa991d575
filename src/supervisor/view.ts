/** A task as people and outside tests see it: a projection of the state, complete enough to answer from disk. */
import { dirname } from "node:path";
import { asksPer100Calls } from "../core/economy.ts";
import { costUsd, wallLeft, wallLength } from "../core/machine/budgets.ts";
import { deadlines } from "../core/machine/deadlines.ts";
import { DEFAULT_MAX_DECISIONS } from "../core/machine/decider.ts";
import { isDeferred } from "../core/machine/deferral.ts";
import { isTerminal, stateName, waitsFor } from "../core/machine/project.ts";
import { pendingRequests } from "../core/machine/requests.ts";
import { spentUsd } from "../core/machine/spending.ts";
import { standing } from "../core/machine/standing.ts";
import type { RequestState, TaskState } from "../core/machine/state.ts";
import { openSignOff } from "../core/machine/verification.ts";
import type { RequestView, TaskView } from "./api.ts";
import { faultReportPath } from "./fault.ts";

export function stopCommand(taskId: string): string {
  return `/supervise stop ${taskId}`;
}

/** `mono`: the owner's clock now; null where the owner is another process, then times are as of the last event. */
export function viewOf(state: TaskState, logPath: string, mono: number | null): TaskView {
  const name = stateName(state);
  const now = mono ?? state.mono;
  const { spec, budgets, counters, decider, hold, lastVerification: v } = state;
  const tool = Object.values(state.tools)
    .filter((one) => one.allowed)
    .at(-1);
  const { why, reason } = standing(state);
  return {
    taskId: state.taskId,
    state: name,
    waitsFor: waitsFor(state),
    why,
    reason,
    recoverable: state.owner.kind === "none" && !isTerminal(name) && name !== "taken_over",
    goal: spec?.goal ?? "",
    cwd: spec?.cwd ?? "",
    mode: spec?.mode ?? "manual",
    automation: spec?.mode === "auto" ? state.automation.kind : null,
    createdAt: state.createdAt,
    lastEventAt: state.at,
    claudeSessionId: state.sessionId,
    model: state.model,
    currentTool: tool ? { toolName: tool.toolName, since: tool.at } : null,
    background: state.background,
    requests: requestViews(state),
    rounds: { used: budgets.rounds, failed: budgets.failedRounds, max: spec?.limits.maxRounds ?? 0 },
    turns: budgets.turns,
    costUsd: costUsd(state) ?? null,
    decisions:
      spec?.mode === "auto"
        ? {
            used: decider.decisions,
            max: spec.limits.maxDecisions ?? DEFAULT_MAX_DECISIONS,
            costUsd: decider.usd,
            byOutcome: counters.decisions,
            overridden: counters.overridden,
          }
        : null,
    budget:
      spec?.limits.budgetUsd === undefined ? null : { usd: spec.limits.budgetUsd, spentUsd: spentUsd(state) ?? 0 },
    verdicts: counters.verdicts,
    asksByRule: counters.byRule,
    asksPer100Calls: asksPer100Calls(counters.verdicts),
    deniedByRule: counters.deniedByRule,
    lastVerification: v ? { outcome: v.outcome, treeId: v.treeId, message: v.message } : null,
    deadlines: [
      ...deadlines(state).map(({ name: which, length, what, due }) => ({
        name: which,
        length,
        what,
        leftMs: Math.max(0, Math.round(due - now)),
      })),
      ...restingClock(state),
    ],
    remaining: state.stop.kind === "unproven" ? state.stop.remaining : [],
    owner:
      state.owner.kind === "held"
        ? {
            pid: state.owner.owner.pid,
            host: state.owner.owner.host,
            since: state.owner.since,
            alive: true,
            mine: mono !== null,
          }
        : null,
    faultReport: hold?.fault === true ? faultReportPath({ folder: dirname(logPath) }, hold.reason) : null,
    stopCommand: stopCommand(state.taskId),
    logPath,
  };
}

/** Everything that waits for an answer: the worker's calls, then a result that waits for a signature. */
export function requestViews(state: TaskState): RequestView[] {
  const signOff = signOffView(state);
  const calls = pendingRequests(state).map((request) => requestView(state.taskId, request));
  return signOff === null ? calls : [...calls, signOff];
}

/** It needs no worker and outlives every process: always `deferred`. */
function signOffView(state: TaskState): RequestView | null {
  const request = openSignOff(state);
  if (request === null) return null;
  const { requestId, since, message, why, treeId, round, paths } = request;
  return {
    requestId,
    taskId: state.taskId,
    kind: "sign-off",
    toolName: "verification",
    toolUseId: "",
    input: { why, treeId, round, paths, verification: state.spec?.verify.commands.map((one) => one.text) ?? [] },
    cwd: state.spec?.cwd ?? "",
    rule: "sign-off",
    reason: message,
    loss: null,
    askedOf: "person",
    passedOn: null,
    since,
    deferred: true,
  };
}

export function requestView(taskId: string, request: RequestState): RequestView {
  const { requestId, kind, toolName, toolUseId, input, cwd, rule, reason, loss, askedOf, passedOn, since } = request;
  return {
    requestId,
    taskId,
    kind,
    toolName,
    toolUseId,
    input,
    cwd,
    rule,
    reason,
    loss,
    askedOf,
    passedOn,
    since,
    deferred: isDeferred(request),
  };
}

/** The task's own time is told also while it stands still. */
function restingClock(state: TaskState): TaskView["deadlines"] {
  if (!state.budgets.resting || state.spec === null || state.ended.kind !== "no" || state.stop.kind !== "none")
    return [];
  const leftMs = Math.max(0, Math.round(wallLeft(state)));
  return [{ name: "wall", length: wallLength(state), what: "the task (not counted while it waits for you)", leftMs }];
}

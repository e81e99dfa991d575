/**
 * The seams: what Pi loads only when a command needs it. Cold, Pi's jiti takes about 15 ms a file, so that a start of Pi
 * pays for `index.ts` and the few files that it imports, and for nothing below.
 */
import type { DecisionSessionFactory } from "../core/contracts/decision.ts";
import type { Result } from "../core/result.ts";
import type { Supervisor } from "../supervisor/api.ts";

interface SupervisorRoom {
  getSupervisor(
    env?: NodeJS.ProcessEnv,
    options?: { agentDir?: string; decisions?: DecisionSessionFactory },
  ): Promise<Result<{ supervisor: Supervisor }>>;
}

export const lazy = {
  supervisor: (): Promise<SupervisorRoom> => import("../supervisor/index.ts"),
  run: () => import("./run.ts"),
  completions: () => import("./completions.ts"),
  view: () => import("./ui/task-ui.ts"),
  reportText: () => import("./commands/report.ts"),
  toolAnswers: () => import("./tool-answers.ts"),
  dashboard: () => import("./ui/open-dashboard.ts"),
  piScreen: () => import("./ui/pi-screen.ts"),
  doctor: () => import("../supervisor/doctor/index.ts"),
  takeover: () => import("./ui/run-in-terminal.ts"),
  signals: () => import("./signals.ts"),
  toolGuard: () => import("../control/agent-guard.ts"),
  sdk: () => import("./sdk.ts"),
  decisions: () => import("./decision-factory.ts"),
  report: () => import("../report/index.ts"),
  liveView: () => import("./live-view.ts"),
} as const;

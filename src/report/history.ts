/** What a report is made from. A structural part of the supervisor's answer: this room knows only `core`. */
import type { StoredEvent } from "../core/events.ts";
import type { StateName, WaitsFor } from "../core/machine/project.ts";
import type { TaskState } from "../core/machine/state.ts";

export interface ReportView {
  taskId: string;
  state: StateName;
  waitsFor: WaitsFor;
  why: string | null;
  reason: string | null;
  recoverable: boolean;
  goal: string;
  cwd: string;
  mode: "manual" | "auto";
  createdAt: string;
  lastEventAt: string;
  claudeSessionId: string | null;
  model: string | null;
  rounds: { used: number; failed: number; max: number };
  turns: number;
  costUsd: number | null;
  verdicts: Record<"allow" | "review" | "person" | "deny", number>;
  asksByRule: Record<string, number>;
  stopCommand: string;
  logPath: string;
}

export interface History {
  view: ReportView;
  events: readonly StoredEvent[];
  state: TaskState;
}

/** What a report is made from. Structural parts of the supervisor's answers: this room knows only `core`. */
import type { StateName, WaitsFor } from "../core/machine/project.ts";

export interface ReportRequest {
  requestId: string;
  kind: "tool" | "question" | "plan" | "sign-off";
  toolName: string;
  input: unknown;
  cwd: string;
  rule: string;
  reason: string;
  loss: "recoverable" | "lost" | null;
  askedOf: "person" | "decider";
  since: string;
  deferred: boolean;
}

/** A task as it stands now. */
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
  requests: ReportRequest[];
  rounds: { used: number; failed: number; max: number };
  turns: number;
  costUsd: number | null;
  budget?: { usd: number; spentUsd: number } | null;
  decisions?: {
    used: number;
    max: number;
    costUsd: number | null;
    byOutcome: Record<string, number>;
    overridden: number;
  } | null;
  verdicts: Record<"allow" | "review" | "person" | "deny", number>;
  /** Calls that were not allowed at once, by rule; and those of them that were denied (older records have none). */
  asksByRule: Record<string, number>;
  deniedByRule?: Record<string, number>;
  /** The file that tells of a fault, while it keeps automation off. */
  faultReport?: string | null;
  remaining: { kind: string; id: string; detail: string }[];
  stopCommand: string;
  logPath: string;
}

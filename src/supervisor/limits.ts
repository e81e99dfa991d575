/** Defaults of commands.md and the bounds of what a person may set. */
import type { TaskSpec } from "../core/machine/state.ts";
import { failure, type Result } from "../core/result.ts";
import type { Settings } from "../store/config.ts";
import type { StartInput } from "./api.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const MAX_DURATION = 30 * 24 * HOUR;

export const DEFAULT_LIMITS: TaskSpec["limits"] = {
  startupMs: MINUTE,
  quietMs: 10 * MINUTE,
  toolQuietMs: 30 * MINUTE,
  toolCapMs: 2 * HOUR,
  wallMs: 8 * HOUR,
  stopGraceMs: 5_000,
  maxRounds: 3,
};

/** Milliseconds that a verification waits for the worker's leftover processes before it ends and names them. */
export const LEFTOVER_WAIT_MS = 2 * MINUTE;

/** Reason `bad-limit`: a flag out of its bounds. Files and environment were judged when they were read. */
export function limitsOf(input: StartInput, settings: Settings): Result<{ limits: TaskSpec["limits"] }> {
  const { maxRounds, maxTurns, maxDecisions, budgetUsd, timeoutMs, quietTimeoutMs } = input;
  const bad = [
    count("--max-rounds", maxRounds, 1, 1_000),
    count("--max-turns", maxTurns, 1, 100_000),
    count("--max-decisions", maxDecisions, 0, 100_000),
    money("--budget-usd", budgetUsd),
    duration("--timeout", timeoutMs),
    duration("--quiet-timeout", quietTimeoutMs),
  ].find((refused) => refused !== null);
  if (bad) return failure("bad-limit", bad);
  const quietMs = settings.quietTimeout;
  return {
    ok: true,
    limits: {
      ...DEFAULT_LIMITS,
      quietMs,
      toolQuietMs: Math.max(quietMs, DEFAULT_LIMITS.toolQuietMs),
      patienceMs: settings.patience,
      ...(settings.review ? { reviewMs: settings.reviewTimeout } : {}),
      wallMs: settings.timeout,
      maxRounds: settings.maxRounds,
      ...(settings.maxTurns === undefined ? {} : { maxTurns: settings.maxTurns }),
      maxDecisions: settings.maxDecisions,
      ...(settings.budgetUsd === undefined ? {} : { budgetUsd: settings.budgetUsd }),
    },
  };
}

function count(flag: string, value: number | undefined, least: number, most: number): string | null {
  if (value === undefined || (Number.isInteger(value) && value >= least && value <= most)) return null;
  return `${flag} must be a whole number from ${least} to ${most}.`;
}

function money(flag: string, usd: number | undefined): string | null {
  if (usd === undefined || (Number.isFinite(usd) && usd > 0 && usd <= 1_000_000)) return null;
  return `${flag} must be an amount of USD above 0, for example 2.50.`;
}

function duration(flag: string, ms: number | undefined): string | null {
  if (ms === undefined || (Number.isFinite(ms) && ms >= 100 && ms <= MAX_DURATION)) return null;
  return `${flag} must be a duration between 100ms and 720h, for example 2h.`;
}

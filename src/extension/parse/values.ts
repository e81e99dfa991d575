/** Values of flags: durations, whole numbers, amounts of money. */
import { failure, type Result } from "../../core/result.ts";

const UNIT_MS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 } as const;

/** Node's timers overflow beyond 2^31 - 1 ms (24.8 days) and then fire at once (Node 20). */
export const MAX_DURATION_MS = 24 * 24 * UNIT_MS.h;

/** Milliseconds of `500ms`, `2s`, `10m`, `1h`; `0` needs no unit. */
export function parseDuration(text: string): Result<{ ms: number }> {
  if (text === "0") return { ok: true, ms: 0 };
  const match = /^(\d{1,12})(ms|s|m|h)$/.exec(text);
  const unit = match?.[2] as keyof typeof UNIT_MS | undefined;
  if (match === null || unit === undefined)
    return failure("bad-value", `"${text}" is no duration. Write a whole number with its unit: 500ms, 2s, 10m or 1h.`);
  const ms = Number(match[1]) * UNIT_MS[unit];
  if (ms > MAX_DURATION_MS) return failure("bad-value", `"${text}" is too long: at most 576h (24 days).`);
  return { ok: true, ms };
}

/** A whole number of at least `min`, at most 9,999,999. */
export function parseCount(text: string, min: number): Result<{ count: number }> {
  if (!/^\d{1,7}$/.test(text) || Number(text) < min)
    return failure("bad-value", `"${text}" is no whole number from ${min} to 9999999.`);
  return { ok: true, count: Number(text) };
}

/** An amount above 0 in USD, with at most four decimals: `5`, `0.25`, `$2.50`. */
export function parseAmount(text: string): Result<{ amount: number }> {
  const match = /^\$?(\d{1,7}(?:\.\d{1,4})?)$/.exec(text);
  const amount = Number(match?.[1] ?? Number.NaN);
  if (!(amount > 0)) return failure("bad-value", `"${text}" is no amount of USD above 0. Write for example 5 or 2.50.`);
  return { ok: true, amount };
}

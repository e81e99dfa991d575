/** What every benchmark shares: rounds in turns, medians, targets as ratios, one shape of result. */

export interface BenchOptions {
  /** Rounds of each measurement; the variants of one take turns, so that a busy moment meets all of them. */
  rounds: number;
  /** Small sizes, to see that the program works; its numbers mean little. */
  quick: boolean;
  /** Told what is being done. */
  log(line: string): void;
}

export interface Row {
  what: string;
  value: number;
  unit: string;
  /** Compared with what, and how many times as much. */
  ratio?: { to: string; value: number };
}

export interface Target {
  what: string;
  /** What was measured, and what it should be. */
  value: number;
  limit: number;
  kind: "at least" | "at most";
  unit: string;
  /** What the difference is made of; read by somebody who sees the target missed. */
  why: string;
  /** What each round gave, where the value is their median. */
  rounds?: readonly number[];
}

export interface Section {
  title: string;
  /** How it was measured, in sentences. */
  method: string;
  rows: Row[];
  targets: Target[];
  /** What the reader should know of these numbers. */
  notes?: string[];
}

export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

/** Nearest rank; NaN of nothing. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

/** Runs each variant once a round, in turns that begin with another one each time; all results by name. */
export async function inTurns<T>(
  rounds: number,
  variants: Readonly<Record<string, () => Promise<T> | T>>,
): Promise<Record<string, T[]>> {
  const names = Object.keys(variants);
  const results: Record<string, T[]> = Object.fromEntries(names.map((name) => [name, []]));
  for (let round = 0; round < rounds; round += 1) {
    for (let turn = 0; turn < names.length; turn += 1) {
      const name = names[(round + turn) % names.length] ?? "";
      const run = variants[name];
      if (run) results[name]?.push(await run());
    }
  }
  return results;
}

/** Median of the ratios of one round each, which a slow phase of the machine changes less than a ratio of medians. */
export function ratioOf(ours: readonly number[], other: readonly number[]): number {
  return median(ratiosOf(ours, other));
}

/** The ratio of each round. */
export function ratiosOf(ours: readonly number[], other: readonly number[]): number[] {
  return ours.map((value, round) => value / (other[round] ?? Number.NaN));
}

export function met({ value, limit, kind }: Target): boolean {
  return kind === "at least" ? value >= limit : value <= limit;
}

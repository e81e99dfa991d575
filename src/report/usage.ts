/** Cost and tokens over time, one point a result; in a long log neighbours become one point. */
import type { EventMap } from "../core/events.ts";
import type { UsagePoint } from "./model.ts";

const MAX_POINTS = 400;

export class UsageLine {
  #points: UsagePoint[] = [];

  /** `costUsd`: the task's cost after this result. Claude reports tokens per result (2.1.268). */
  add(at: string, costUsd: number | null, usage: EventMap["turn.result"]["usage"]): void {
    this.#points.push({
      at,
      turns: 1,
      costUsd,
      input: usage?.inputTokens ?? 0,
      output: usage?.outputTokens ?? 0,
      cacheRead: usage?.cacheReadTokens ?? 0,
      cacheCreation: usage?.cacheCreationTokens ?? 0,
      reported: usage !== undefined,
    });
    if (this.#points.length > MAX_POINTS) this.#points = halved(this.#points);
  }

  done(): UsagePoint[] {
    return this.#points;
  }
}

/** All tokens of a point. */
export function tokensOf(point: Pick<UsagePoint, "input" | "output" | "cacheRead" | "cacheCreation">): number {
  return point.input + point.output + point.cacheRead + point.cacheCreation;
}

function halved(points: readonly UsagePoint[]): UsagePoint[] {
  const half: UsagePoint[] = [];
  for (let i = 0; i < points.length; i += 2) {
    const [a, b] = [points[i], points[i + 1]];
    if (a === undefined) continue;
    half.push(
      b === undefined
        ? a
        : {
            at: b.at,
            turns: a.turns + b.turns,
            costUsd: b.costUsd ?? a.costUsd,
            input: a.input + b.input,
            output: a.output + b.output,
            cacheRead: a.cacheRead + b.cacheRead,
            cacheCreation: a.cacheCreation + b.cacheCreation,
            reported: a.reported || b.reported,
          },
    );
  }
  return half;
}

/** What the time went into: stretches of the wall clock by what the task was doing. */
import { stateName } from "../core/machine/project.ts";
import type { TaskState } from "../core/machine/state.ts";
import type { Doing, Span } from "./model.ts";

/** Stretches that are kept one by one; in a longer log the shortest neighbours melt together. */
const MAX_SPANS = 600;

export class Clockwork {
  #spans: Span[] = [];
  readonly #sums: Record<Doing, number> = {
    working: 0,
    deciding: 0,
    verifying: 0,
    waiting: 0,
    paused: 0,
    service: 0,
    nobody: 0,
  };
  #last: number | null = null;

  /** `before` is the state that held since the event before; `claimed`: nobody had the task until now. */
  pass(before: TaskState, at: string, claimed: boolean): void {
    const now = Date.parse(at);
    if (Number.isNaN(now)) return;
    // A clock that was set back makes no time.
    const from = this.#last;
    this.#last = from === null ? now : Math.max(from, now);
    if (from === null || now <= from) return;
    const doing = claimed || before.owner.kind === "none" ? "nobody" : doingOf(before);
    if (doing === null) return;
    this.#sums[doing] += now - from;
    const span = this.#spans.at(-1);
    if (span?.doing === doing && span.to === from) span.to = now;
    else this.#spans.push({ doing, from, to: now });
    if (this.#spans.length > MAX_SPANS) this.#spans = halved(this.#spans);
  }

  done(): { spans: Span[]; byDoing: Record<Doing, number> } {
    return { spans: this.#spans, byDoing: this.#sums };
  }
}

function doingOf(state: TaskState): Doing | null {
  const name = stateName(state);
  switch (name) {
    case "created":
    case "starting":
    case "running":
    case "stopping":
      return state.turn.kind === "waiting" ? "service" : "working";
    case "deciding":
      return "deciding";
    case "verifying":
      return "verifying";
    case "human_required":
    case "failed_to_stop":
      return "waiting";
    case "paused":
    case "taken_over":
      return "paused";
    case "completed":
    case "failed":
    case "stopped":
      return null;
  }
}

/** Pairs of neighbours become one stretch of what the longer of them was. */
function halved(spans: readonly Span[]): Span[] {
  const half: Span[] = [];
  for (let i = 0; i < spans.length; i += 2) {
    const [a, b] = [spans[i], spans[i + 1]];
    if (a === undefined) continue;
    if (b === undefined) half.push(a);
    else half.push({ doing: b.to - b.from > a.to - a.from ? b.doing : a.doing, from: a.from, to: b.to });
  }
  return half;
}

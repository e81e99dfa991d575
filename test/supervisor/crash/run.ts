/** Runs many crashes, a few at a time, and tells what they needed. */
import type { TestContext } from "node:test";
import { createLab, type Lab } from "../../support/workspace.ts";
import type { Moment, Point, PointKind } from "./points.ts";
import { countPoints, type Kind, type Played, playCrash, TEMPLATE } from "./stage.ts";

const KINDS: readonly PointKind[] = ["log", "sync", "record", "spawn", "send", "reply", "end"];

/** Every point of a life; only a log write has a middle. */
export async function allPoints(lab: Lab, template: string, kind: Kind): Promise<Point[]> {
  const passed = await countPoints(lab, template, kind);
  return KINDS.flatMap((kind) => {
    const moments: Moment[] = kind === "log" ? ["before", "half", "after"] : ["before", "after"];
    const numbers = Array.from({ length: passed[kind] ?? 0 }, (_, index) => index + 1);
    return numbers.flatMap((number) => moments.map((moment): Point => ({ kind, number, moment })));
  });
}

export interface Journey {
  points: readonly Point[];
  kind: Kind;
}

export const KINDS_OF_LIFE = {
  whole: { transport: "claude-jsonl", wish: "done" },
  stopped: { transport: "claude-jsonl", wish: "stopped" },
  taken: { transport: "claude-jsonl", wish: "taken" },
  pipe: { transport: "process-pipe", wish: "done" },
} as const satisfies Record<string, Kind>;

/** Each lane has a lab of its own, whose mark tells its processes from the others'. */
export async function playAll(t: TestContext, journeys: readonly Journey[], lanes: number): Promise<Played[]> {
  const left = [...journeys];
  const played: Played[] = [];
  const failed: unknown[] = [];
  await Promise.all(
    Array.from({ length: lanes }, async () => {
      const lab = await createLab(t);
      const template = await lab.repo(TEMPLATE);
      for (let next = left.shift(); next && failed.length < 3; next = left.shift()) {
        try {
          played.push(await playCrash(lab, template, next.points, next.kind));
        } catch (error) {
          failed.push(error);
        }
      }
    }),
  );
  tell(t, played);
  if (failed.length > 0) throw new Error(failed.map(words).join("\n\n"));
  return played;
}

/** node:test shows the message of an error and not what caused it. */
function words(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const cause =
    error.cause === undefined
      ? ""
      : `${words(error.cause)}\n${error.cause instanceof Error ? error.cause.stack : ""}\n`;
  return `${cause}${error.message}`;
}

function tell(t: TestContext, played: readonly Played[]): void {
  const byNeed = new Map<string, string[]>();
  for (const { points, needed, killed } of played) {
    const need = killed === 0 ? "(lived on)" : needed.length === 0 ? "recover alone" : needed.join(" + ");
    byNeed.set(need, [...(byNeed.get(need) ?? []), points]);
  }
  for (const [need, points] of byNeed) {
    t.diagnostic(`${points.length} × ${need}${need === "recover alone" ? "" : `: ${points.join(" | ")}`}`);
  }
}

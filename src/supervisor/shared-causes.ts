/**
 * Causes that stop many tasks at once are told once for all of them, in all processes of a state folder: an empty file for
 * each cause, `<state dir>/notices/<cause>`. It is gone when the cause is over, and forgotten after an hour.
 */
import { closeSync, openSync, statSync, unlinkSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { errnoOf } from "../platform/errno.ts";
import type { SupervisorDeps } from "./deps.ts";

export interface SharedCauses {
  /** Whether the caller is the one to tell about it. */
  claim(cause: string): boolean;
  /** Something shows that it is over: it is told anew when it comes again. */
  over(causes: readonly string[]): void;
}

/** Causes that a model's good answer ends. */
export const MODEL_SERVICE: readonly string[] = [
  "auth",
  "billing",
  "rate-limited",
  "overloaded",
  "waiting-rate-limited",
  "waiting-overloaded",
];

const QUIET_MS = 60 * 60_000;

export function createSharedCauses({ layout, clock }: Pick<SupervisorDeps, "layout" | "clock">): SharedCauses {
  const folder = (): string | undefined => {
    const made = layout.folder("notices");
    return made.ok ? made.path : undefined;
  };
  return {
    claim(cause) {
      const dir = folder();
      if (dir === undefined) return true; // told twice is better than not at all
      const file = join(dir, cause);
      const now = clock.now();
      try {
        closeSync(openSync(file, "wx", 0o600));
        utimesSync(file, now, now);
        return true;
      } catch (error) {
        if (errnoOf(error) !== "EEXIST") return true;
      }
      try {
        if (now.getTime() - statSync(file).mtimeMs < QUIET_MS) return false;
        utimesSync(file, now, now);
      } catch {
        // Gone meanwhile, or not ours to touch: it is told.
      }
      return true;
    },
    over(causes) {
      for (const cause of causes) {
        try {
          unlinkSync(join(layout.root, "notices", cause));
        } catch {
          // Mostly it was never told: there is no file.
        }
      }
    },
  };
}

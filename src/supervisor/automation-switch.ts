/**
 * Reads the person's switch `automation` again whenever `supervisor.json` has changed: one stat a look, so that it can be
 * asked before every automatic move. A file that says nothing any more (broken, unsafe) counts as off after a moment,
 * because nobody can tell what its writer wanted; until then an editor may be in the middle of saving it.
 */
import { statSync } from "node:fs";
import { join } from "node:path";
import { errnoOf } from "../platform/errno.ts";
import { configOf } from "./config.ts";
import { type DayLimits, dayLimits } from "./day-budget.ts";
import type { SupervisorDeps } from "./deps.ts";

export interface SwitchView {
  to: "on" | "off";
  /** One sentence for people. */
  why: string;
  /** Read from the same file at the same time. */
  perDay: DayLimits;
}

export interface AutomationSwitch {
  look(): SwitchView;
}

/** How long a file may be broken before that counts (ms). */
export const SAVING_MS = 2_000;

export const SWITCHED_OFF =
  "Automation is off in supervisor.json; nothing is sent, verified or decided by itself until it is on again.";
const SWITCHED_ON = "Automation is on again in supervisor.json.";

export function automationSwitch(deps: Pick<SupervisorDeps, "env" | "agentDir" | "clock">): AutomationSwitch {
  const file = deps.agentDir === undefined ? undefined : join(deps.agentDir, "supervisor.json");
  let last: { stamp: string; view: SwitchView } | undefined;
  let broken: { since: number } | undefined;

  const read = (stamp: string): SwitchView => {
    const loaded = configOf(deps, undefined);
    if (loaded.ok) {
      broken = undefined;
      const off = loaded.config.settings.automation === "off";
      const perDay = dayLimits(loaded.config.settings);
      last = { stamp, view: { ...(off ? { to: "off", why: SWITCHED_OFF } : { to: "on", why: SWITCHED_ON }), perDay } };
      return last.view;
    }
    broken ??= { since: deps.clock.mono() };
    if (last !== undefined && deps.clock.mono() - broken.since < SAVING_MS) return last.view;
    const why = `Automation is off until the configuration can be read: ${loaded.message}`;
    const view: SwitchView = { to: "off", why, perDay: last?.view.perDay ?? { usd: undefined, decisions: undefined } };
    last = { stamp, view };
    return view;
  };

  return {
    look() {
      const stamp = stampOf(file);
      return last?.stamp === stamp ? last.view : read(stamp);
    },
  };
}

function stampOf(file: string | undefined): string {
  if (file === undefined) return "no file";
  try {
    /* Most people have no such file, and an exception would cost ten times the look. */
    const stats = statSync(file, { throwIfNoEntry: false });
    return stats === undefined ? "ENOENT" : `${stats.size}:${stats.mtimeMs}:${stats.ctimeMs}:${stats.ino}`;
  } catch (error) {
    return errnoOf(error) ?? "unreadable";
  }
}

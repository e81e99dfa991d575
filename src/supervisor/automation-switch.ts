/**
 * Reads the switch `automation` again whenever a `supervisor.json` has changed: one stat a file and look, so that it can be
 * asked before every automatic move. The person's file counts for every task, a trusted project's also for the tasks that
 * were started there; off in one of them is off. A file that says nothing any more (broken, unsafe) counts as off after a
 * moment, because nobody can tell what its writer wanted; until then an editor may be in the middle of saving it.
 *
 * Memory: one view for each project that tasks of this process were started in.
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
  /** Read from the same files at the same time; a project has no say in it. */
  perDay: DayLimits;
}

export interface AutomationSwitch {
  /** `trustedProject`: root of the project whose own file counts too. */
  look(trustedProject?: string): SwitchView;
}

/** How long a file may be broken before that counts (ms). */
export const SAVING_MS = 2_000;

const UNTIL_ON = "nothing is sent, verified or decided by itself until it is on again.";
export const SWITCHED_OFF = `Automation is off in supervisor.json; ${UNTIL_ON}`;
const SWITCHED_OFF_BY_PROJECT = `Automation is off in the project's .pi/supervisor.json; ${UNTIL_ON}`;
const SWITCHED_ON = "Automation is on again in supervisor.json.";

type Deps = Pick<SupervisorDeps, "env" | "agentDir" | "clock">;

export function automationSwitch(deps: Deps): AutomationSwitch {
  const places = new Map<string, () => SwitchView>();
  return {
    look(trustedProject) {
      const key = trustedProject ?? "";
      const look = places.get(key) ?? lookAt(deps, trustedProject);
      places.set(key, look);
      return look();
    },
  };
}

/** The switch as the person's file and this project's show it together. */
function lookAt(deps: Deps, trustedProject: string | undefined): () => SwitchView {
  const files = [
    ...(deps.agentDir === undefined ? [] : [join(deps.agentDir, "supervisor.json")]),
    ...(trustedProject === undefined ? [] : [join(trustedProject, ".pi", "supervisor.json")]),
  ];
  let last: { stamp: string; view: SwitchView } | undefined;
  let broken: { since: number } | undefined;

  const read = (stamp: string): SwitchView => {
    const loaded = configOf(deps, trustedProject);
    if (loaded.ok) {
      broken = undefined;
      const { settings, origins } = loaded.config;
      const off = origins.automation === "project" ? SWITCHED_OFF_BY_PROJECT : SWITCHED_OFF;
      const [to, why] = settings.automation === "off" ? (["off", off] as const) : (["on", SWITCHED_ON] as const);
      last = { stamp, view: { to, why, perDay: dayLimits(settings) } };
      return last.view;
    }
    broken ??= { since: deps.clock.mono() };
    if (last !== undefined && deps.clock.mono() - broken.since < SAVING_MS) return last.view;
    const why = `Automation is off until the configuration can be read: ${loaded.message}`;
    const view: SwitchView = { to: "off", why, perDay: last?.view.perDay ?? { usd: undefined, decisions: undefined } };
    last = { stamp, view };
    return view;
  };

  return () => {
    const stamp = files.map(stampOf).join(" ");
    return last?.stamp === stamp ? last.view : read(stamp);
  };
}

function stampOf(file: string): string {
  try {
    /* Most people have no such file, and an exception would cost ten times the look. */
    const stats = statSync(file, { throwIfNoEntry: false });
    return stats === undefined ? "ENOENT" : `${stats.size}:${stats.mtimeMs}:${stats.ctimeMs}:${stats.ino}`;
  } catch (error) {
    return errnoOf(error) ?? "unreadable";
  }
}

/** The one next thing to do, for `/supervise` alone: what waits comes first, then what is missing, then a start. */

import { openStateDir } from "../../store/layout.ts";
import type { Supervisor, TaskRow } from "../../supervisor/api.ts";
import { firstObstacle } from "../../supervisor/first-run.ts";
import { standingStop } from "../../supervisor/standing-stop.ts";
import type { Scene } from "../answer.ts";
import { lazy } from "../lazy.ts";
import { openSupervisor } from "../session-binding.ts";
import { answerCommands, count, safe } from "../words-for-people.ts";

/** How long the store may be looked through (ms): a person waits. */
const LOOK_MS = 2_000;

export async function nextThing({ hub }: Pick<Scene<"help">, "hub">, env = process.env): Promise<string> {
  const stop = standingStop(env);
  if (stop.ok && stop.status.inForce) return "/supervise estop status (an emergency stop is in force: nothing starts)";
  /* Help makes no folder: where there is none, nothing was ever started. */
  const store = openStateDir({ env, create: false });
  if (hub.supervisor !== undefined || store.ok || store.reason !== "missing") {
    const opened = await openSupervisor(hub);
    if (!opened.ok) return `/supervise doctor (${safe(opened.message)})`;
    const work = await Promise.race([ofTheTasks(opened.supervisor), late()]);
    if (work !== null) return work;
  }
  const agentDir = (await lazy.sdk()).piAgentDir() ?? undefined;
  const obstacle = await firstObstacle({ env, agentDir });
  return obstacle === null
    ? '/supervise start <goal> --verify "<command that must succeed>"'
    : `${safe(obstacle.fix ?? "/supervise doctor")} (${safe(obstacle.found)})`;
}

async function ofTheTasks(supervisor: Supervisor): Promise<string | null> {
  const asked = await supervisor.approvals();
  const requests = asked.ok ? asked.requests : [];
  const [first] = requests;
  if (first !== undefined) {
    const others = requests.length > 1 ? `; ${count(requests.length, "request")} in all: /supervise approvals` : "";
    return `${answerCommands(first)[0]} (${first.taskId} waits for your answer${others})`;
  }
  const waiting = supervisor.live().find((task) => task.waitsFor !== null);
  if (waiting !== undefined) {
    const { taskId } = waiting;
    return waiting.waitsFor === "result"
      ? `/supervise verify ${taskId} (its turn is over; or /supervise send ${taskId} <text>)`
      : `/supervise status ${taskId} (it waits for you)`;
  }
  const [running] = supervisor.live();
  if (running !== undefined) return `/supervise status ${running.taskId} (it works)`;
  const found = await supervisor.sessions(false);
  return found.ok ? ofTheStore(found.tasks) : null;
}

function ofTheStore(tasks: readonly TaskRow[]): string | null {
  const taken = tasks.find((task) => task.state === "taken_over");
  if (taken !== undefined) return `/supervise handback ${taken.taskId} (you have taken it over)`;
  const gone = tasks.find((task) => task.recoverable);
  return gone === undefined ? null : `/supervise recover ${gone.taskId} (its Pi is gone)`;
}

function late(): Promise<null> {
  return new Promise((resolve) => {
    setTimeout(() => resolve(null), LOOK_MS).unref();
  });
}

/** Which tasks and requests a command can do something with: others would only be refused. Pure. */
import type { KnownTask } from "../../supervisor/api.ts";
import type { CommandName } from "../parse/spec.ts";

const ENDED: ReadonlySet<string> = new Set(["completed", "failed", "stopped", "unreadable"]);

type Fits = (task: KnownTask) => boolean;

const open: Fits = ({ state }) => !ENDED.has(state);
const mine: Fits = (task) => open(task) && !task.recoverable && task.state !== "taken_over";
const mayGoOn: Fits = ({ state }) => state !== "completed" && state !== "taken_over" && state !== "unreadable";

/** Commands that are not named here take every task. */
const FITS: Readonly<Partial<Record<CommandName, Fits>>> = {
  send: mine,
  verify: mine,
  pause: mine,
  stop: open,
  kill: open,
  estop: open,
  resume: mayGoOn,
  recover: mayGoOn,
  takeover: open,
  handback: ({ state }) => state === "taken_over",
  discard: (task) => ENDED.has(task.state) || task.recoverable,
};

export function fittingTasks(name: CommandName, tasks: readonly KnownTask[]): KnownTask[] {
  return tasks.filter(FITS[name] ?? (() => true));
}

export interface FittingRequest {
  task: KnownTask;
  request: KnownTask["requests"][number];
}

/** A question is answered, everything else approved; both can be denied. */
export function fittingRequests(name: CommandName, tasks: readonly KnownTask[]): FittingRequest[] {
  return tasks
    .flatMap((task) => task.requests.map((request) => ({ task, request })))
    .filter(({ request: { kind } }) => name === "deny" || (kind === "question") === (name === "answer"));
}

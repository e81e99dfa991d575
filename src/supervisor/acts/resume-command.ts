/** How a person opens a task's Claude session themselves: in its folder, under the same isolation. */
import type { TaskState } from "../../core/machine/state.ts";
import { takeoverArgs } from "../../worker/index.ts";
import type { TakenOver } from "../api.ts";
import type { Environment, SupervisorDeps } from "../deps.ts";

type Launch = TakenOver["launch"];

/** Where Claude looks for sessions: a worker has it only when it is listed, and a person must look in the same place. */
const CONFIG_DIR = "CLAUDE_CONFIG_DIR";
/** Claude takes itself for nested, or finds our own settings. */
const NEVER = ["CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "IS_SANDBOX", "CLAUDE_CODE_BUBBLEWRAP"];

export function resumeLaunch(deps: Pick<SupervisorDeps, "env">, state: TaskState): Launch {
  const { spec, executable } = state;
  const sessionId = state.sessionId ?? spec?.sessionId ?? "";
  const { trust = "user", model } = spec ?? {};
  const ours = Object.keys(deps.env).filter((name) => name.startsWith("PI_CLAUDE_SUPERVISOR_"));
  return {
    file: executable?.path ?? "claude",
    args: takeoverArgs({ sessionId, trust, ...(model === undefined ? {} : { model }) }),
    cwd: spec?.cwd ?? "",
    without: [...NEVER, ...ours, ...(hidesConfigDir(deps.env, spec?.workerEnvNames ?? []) ? [CONFIG_DIR] : [])],
  };
}

/** One line for a POSIX shell. */
export function resumeCommand({ file, args, cwd, without }: Launch): string {
  const where = without.includes(CONFIG_DIR) ? ["env", "-u", CONFIG_DIR] : [];
  return `cd ${quoted(cwd)} && ${[...where, file, ...args].map(quoted).join(" ")}`;
}

/** The environment by which the session's file is found. */
export function personsEnvironment(env: Environment, workerEnvNames: readonly string[]): Environment {
  if (!hidesConfigDir(env, workerEnvNames)) return env;
  const { [CONFIG_DIR]: _hidden, ...rest } = env;
  return rest;
}

function hidesConfigDir(env: Environment, workerEnvNames: readonly string[]): boolean {
  return env[CONFIG_DIR] !== undefined && !workerEnvNames.includes(CONFIG_DIR);
}

function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

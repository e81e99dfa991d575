/** What a person types in any shell to stop everything of this account, also when Pi hangs. */
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { CONTROL_DIR_ALIAS, CONTROL_DIR_VARIABLE, controlPaths, SOCKET_DIR_VARIABLE } from "../control/folder.ts";
import { STATE_DIR_VARIABLE } from "../platform/state-dir.ts";
import type { Environment } from "./deps.ts";

const NAME = "pi-claude-supervisor-control";
/** Another shell has another environment: what moves the stop's folder goes with the command. */
const MOVING = [STATE_DIR_VARIABLE, CONTROL_DIR_VARIABLE, CONTROL_DIR_ALIAS, SOCKET_DIR_VARIABLE] as const;

/** The built command by its absolute path; where nothing was built, the name under which a global install has it. */
export function controlCommand(env: Environment): string {
  const built = builtCommand();
  return [...settings(env), built === undefined ? NAME : quoted(built)].join(" ");
}

/** A whole line for a shell: the built command, or where nothing was built, the file that stops everything alone. */
export function emergencyStopCommand(env: Environment): string {
  if (builtCommand() !== undefined) return `${controlCommand(env)} --all stop --reason emergency`;
  const paths = controlPaths({ env });
  if (!paths.ok) return `${NAME} --all stop --reason emergency`;
  return `touch ${quoted(`${paths.control}/STOP-ALL`)}`;
}

function settings(env: Environment): string[] {
  return MOVING.flatMap((name) => {
    const value = env[name];
    return value === undefined || value === "" ? [] : [`${name}=${quoted(value)}`];
  });
}

function builtCommand(): string | undefined {
  const path = fileURLToPath(new URL("../../dist/cli/control.js", import.meta.url));
  return existsSync(path) ? path : undefined;
}

function quoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

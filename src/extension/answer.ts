/** What a command has to say: facts for programs, the same facts as text for people. */
import type { Failure } from "../core/result.ts";
import type { Supervisor } from "../supervisor/api.ts";
import type { Call } from "./parse/parse.ts";
import type { CommandName } from "./parse/spec.ts";
import type { Level, PiPort } from "./pi-port.ts";
import type { Hub } from "./session-binding.ts";

export interface Answer {
  ok: true;
  /** Fields of the JSON object, at its top level. */
  fields: object;
  /** For people: what happened, what it means, what to do. */
  text: string;
  level?: Level;
  /** Exit code in print and JSON mode (default 0). */
  exitCode?: number;
}

export interface BadAnswer extends Failure {
  /** More fields of the JSON object. */
  fields?: object;
  /** Exit code in print and JSON mode (default 1). */
  exitCode?: number;
}

export interface Scene<N extends CommandName = CommandName> {
  call: Call<N>;
  /** Pi's folder. */
  cwd: string;
  /** Root of the project whose own settings count, because Pi trusts it. */
  trustedProject?: string;
  port: PiPort;
  hub: Hub;
}

/** A command that works without a supervisor. */
export type PlainCommand<N extends CommandName> = (scene: Scene<N>) => Promise<Answer | BadAnswer>;

export type Command<N extends CommandName> = (scene: Scene<N>, supervisor: Supervisor) => Promise<Answer | BadAnswer>;

/** Exit codes of print and JSON mode. */
export const EXIT = { done: 0, failed: 1, usage: 2, waits: 3 } as const;

/** A mistake in how the command was written. */
export function usageError(reason: string, message: string): BadAnswer {
  return { ok: false, reason, message, exitCode: EXIT.usage };
}

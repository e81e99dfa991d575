/**
 * Who asks? Lifting a stop, and setting up who may set one, is for a person at a terminal. This catches accidents and
 * well-meant agents; a program that makes itself a terminal passes. Only another account is a real barrier.
 */
import { hostname } from "node:os";
import { failure, type Result } from "../core/result.ts";
import type { Env } from "./folder.ts";
import type { Actor } from "./record.ts";

/**
 * Set by Claude Code in its tools (CLAUDECODE, CLAUDE_CODE_ENTRYPOINT; 2.1.268), by Pi (PI_CODING_AGENT=true; 0.73.1),
 * by other agent hosts, by continuous integration, and by us in every worker's tree.
 */
const HOST_MARKERS = [
  "CLAUDECODE",
  "CLAUDE_CODE_ENTRYPOINT",
  "PI_CODING_AGENT",
  "AI_AGENT",
  "CODEX_SANDBOX",
  "CURSOR_AGENT",
  "GEMINI_CLI",
  "OPENCODE",
  "CI",
  "PI_CLAUDE_SUPERVISOR_TREE",
];

export interface Caller {
  env: Env;
  /** Standard input and the stream that prompts go to are both a terminal. */
  tty: boolean;
  uid: number;
}

/** The first marker of an agent host in the environment. */
export function hostMarker(env: Env): string | undefined {
  return HOST_MARKERS.find((name) => {
    const value = env[name];
    return value !== undefined && value !== "" && value !== "0" && value !== "false";
  });
}

/** Reason `not-a-person`; what is refused has changed nothing. */
export function requirePerson(caller: Caller, what: string): Result {
  const marker = hostMarker(caller.env);
  if (marker !== undefined) {
    return failure(
      "not-a-person",
      `${what} is for a person, and ${marker} says that an agent or automation runs here. Do it in a terminal of your own.`,
    );
  }
  if (!caller.tty) {
    return failure(
      "not-a-person",
      `${what} is for a person at a terminal, and there is none here. Do it in a terminal.`,
    );
  }
  return { ok: true };
}

export function actorOf(caller: Caller): Actor {
  const kind = hostMarker(caller.env) === undefined ? "person" : "agent";
  return { uid: caller.uid, kind, tty: caller.tty, host: hostname().slice(0, 64) };
}

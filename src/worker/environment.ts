/**
 * The worker's environment: a minimal set, plus what a person lists by name. Nothing else of the host arrives, so that
 * tokens in Pi's environment stay there.
 */
import { failure, type Result } from "../core/result.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Proxy variables are not here: their values may hold a password. Who needs them lists them in
 * PI_CLAUDE_SUPERVISOR_WORKER_ENV.
 */
const MINIMAL = ["PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TERM", "TZ"];
const MINIMAL_PREFIX = "LC_";

/**
 * Names that are refused even when they are listed: they tell Claude that it is nested or sandboxed (which lifts its
 * refusal to run ungated), load code into it, or belong to the supervisor.
 */
const REFUSED = ["CLAUDECODE", "NODE_OPTIONS", "IS_SANDBOX", "CLAUDE_CODE_BUBBLEWRAP"];
const REFUSED_PREFIX = "PI_CLAUDE_SUPERVISOR_";

/** Set by us unless the host's own value is listed. */
const OURS: Readonly<Record<string, string>> = {
  // The updater would swap the program under a running task.
  DISABLE_AUTOUPDATER: "1",
  // Claude newer than 2.1.268 then says `session_state_changed: idle`; 2.1.268 ignores it.
  CLAUDE_CODE_SDK_READS_SESSION_STATE: "1",
};

export interface EnvironmentOptions {
  /** The host's variables, usually `process.env`. */
  host: Environment;
  /** Names to pass on beside the minimal set; a name that the host does not have is left out. */
  names: readonly string[];
  tmpDir: string;
  /** Instead of the host's: the complete environment, given by an embedder. Refused names are refused here too. */
  complete?: Readonly<Record<string, string>>;
}

/** Reason `env-refused`: a listed name may not reach a worker, or is no name. */
export function workerEnvironment(options: EnvironmentOptions): Result<{ env: Record<string, string> }> {
  const given = options.complete === undefined ? options.names : Object.keys(options.complete);
  for (const name of given) {
    const why = whyRefused(name);
    if (why !== undefined) return failure("env-refused", why);
  }
  if (options.complete !== undefined)
    return { ok: true, env: { ...OURS, TMPDIR: options.tmpDir, ...options.complete } };
  const names = [...MINIMAL, ...Object.keys(options.host).filter((name) => name.startsWith(MINIMAL_PREFIX))];
  const env: Record<string, string> = { ...OURS, TMPDIR: options.tmpDir };
  for (const name of [...names, ...options.names]) {
    const value = options.host[name];
    if (value !== undefined) env[name] = value;
  }
  return { ok: true, env };
}

/** The comma-separated names of PI_CLAUDE_SUPERVISOR_WORKER_ENV. */
export function parseEnvNames(text: string | undefined): string[] {
  return [...new Set((text ?? "").split(",").map((name) => name.trim()))].filter((name) => name !== "");
}

function whyRefused(name: string): string | undefined {
  if (REFUSED.includes(name) || name.startsWith(REFUSED_PREFIX)) {
    return `The variable ${name} may never reach a worker. Take it out of PI_CLAUDE_SUPERVISOR_WORKER_ENV.`;
  }
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) {
    return `"${name.slice(0, 60)}" is no variable name. PI_CLAUDE_SUPERVISOR_WORKER_ENV takes names, separated by commas.`;
  }
  return undefined;
}

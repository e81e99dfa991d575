/** What the environment says, judged once at the first command; flags of a command stand above it. */
import { failure, type Result } from "../core/result.ts";
import { parseEnvNames } from "../worker/environment.ts";

export interface Settings {
  mode: "manual" | "auto";
  transport: "claude-jsonl" | "process-pipe";
  /** Configured path of the Claude program; undefined = `claude` on PATH. */
  claude: string | undefined;
  workerEnvNames: string[];
  cgroup: "auto" | "required" | "off";
}

export type Environment = Readonly<Record<string, string | undefined>>;

const PREFIX = "PI_CLAUDE_SUPERVISOR_";

/** Reason `bad-setting`, naming the variable and the allowed values. */
export function readSettings(env: Environment): Result<{ settings: Settings }> {
  const mode = choice(env, "MODE", ["manual", "auto"] as const, "manual");
  if (!mode.ok) return mode;
  const transport = choice(env, "TRANSPORT", ["claude-jsonl", "process-pipe"] as const, "claude-jsonl");
  if (!transport.ok) return transport;
  const cgroup = choice(env, "CGROUP", ["auto", "required", "off"] as const, "auto");
  if (!cgroup.ok) return cgroup;
  return {
    ok: true,
    settings: {
      mode: mode.value,
      transport: transport.value,
      claude: env[`${PREFIX}CLAUDE`] || undefined,
      workerEnvNames: parseEnvNames(env[`${PREFIX}WORKER_ENV`]),
      cgroup: cgroup.value,
    },
  };
}

function choice<const T extends readonly string[]>(
  env: Environment,
  name: string,
  allowed: T,
  byDefault: T[number],
): Result<{ value: T[number] }> {
  const given = env[PREFIX + name]?.trim();
  if (given === undefined || given === "") return { ok: true, value: byDefault };
  const value = allowed.find((one) => one === given);
  if (value !== undefined) return { ok: true, value };
  return failure(
    "bad-setting",
    `${PREFIX}${name} is "${given.slice(0, 40)}"; set it to ${allowed.join(" or ")}, or unset it.`,
  );
}

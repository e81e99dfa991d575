/** The configuration that holds for one call: files, environment, then the call's own flags. */
import type { Result } from "../core/result.ts";
import { type Config, loadConfig, type Settings } from "../store/config.ts";
import type { StartInput } from "./api.ts";
import type { SupervisorDeps } from "./deps.ts";

/** A shorter path is nothing that could be a key, and may be a word of every text. */
const MIN_SECRET_PATH = 16;

/** Reasons: `config-…`, each naming the file or variable, the key, and what is allowed. */
export function configOf(
  deps: Pick<SupervisorDeps, "env" | "agentDir">,
  trustedProject: string | undefined,
  flags: Partial<Settings> = {},
): Result<{ config: Config }> {
  return loadConfig({
    env: deps.env,
    flags,
    ...(deps.agentDir === undefined ? {} : { agentDir: deps.agentDir }),
    ...(trustedProject === undefined ? {} : { trustedProject }),
  });
}

/** What `start`'s flags say, as settings. `auto` asked for by flag brings its transport along. */
export function flagsOf(input: StartInput): Partial<Settings> {
  const given = {
    mode: input.mode,
    transport: input.transport ?? (input.mode === "auto" ? ("claude-jsonl" as const) : undefined),
    trust: input.trust,
    profile: input.profile,
    model: input.model,
    maxRounds: input.maxRounds,
    maxTurns: input.maxTurns,
    maxDecisions: input.maxDecisions,
    budgetUsd: input.budgetUsd,
    timeout: input.timeoutMs,
    quietTimeout: input.quietTimeoutMs,
    patience: input.patienceMs,
    review: input.review,
    decisionModel: input.decisionModel,
    "verify.in": input.verifyIn,
    "verify.setup": input.verifySetup,
    "verify.runs": input.verifyRuns,
  };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}

/** The configured path of the Claude program; undefined where it is looked for on PATH. */
export function claudePath(settings: Settings): string | undefined {
  return settings.claude === "claude" ? undefined : settings.claude;
}

/** Values that may stand nowhere: a webhook's address is a secret by itself (Slack's has its key in the path). */
export function webhookSecrets(settings: Pick<Settings, "webhook.url" | "webhook.secret">): string[] {
  const url = settings["webhook.url"];
  const path = url === undefined ? "" : new URL(url).pathname;
  const parts = [url, path.length >= MIN_SECRET_PATH ? path : undefined, settings["webhook.secret"]];
  return parts.filter((part) => part !== undefined);
}

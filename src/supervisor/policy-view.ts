/** `policy check` and `policy show`: the gate explained, as it would be for a new task in a folder. */
import { realpathSync } from "node:fs";
import type { PolicyContext, PolicyDecision } from "../core/contracts/policy.ts";
import { failure, type Result } from "../core/result.ts";
import { describeEffectivePolicy, type EffectivePolicy, explain } from "../policy/index.ts";
import type { Config } from "../store/config.ts";
import { SETTING_NAMES, SETTINGS, type Setting } from "../store/config-settings.ts";
import type { SettingView } from "./api.ts";
import { configOf } from "./config.ts";
import type { SupervisorDeps } from "./deps.ts";
import { explanationText } from "./explanation.ts";
import { policyContext } from "./policy-context.ts";
import { diskFacts } from "./policy-facts.ts";

/** Reasons: `empty`, `cwd`, `config-…`. */
export async function checkPolicy(
  deps: SupervisorDeps,
  command: string,
  cwd: string,
  trustedProject: string | undefined,
): Promise<Result<{ decision: PolicyDecision; explanation: string }>> {
  if (command.trim() === "")
    return failure("empty", 'Give the command to judge: `/supervise policy check "<command>"`.');
  const at = contextAt(deps, cwd, trustedProject);
  if (!at.ok) return at;
  const { context } = at;
  const facts = diskFacts({
    workspace: context.workspace,
    home: deps.home,
    stateDir: deps.layout.root,
  });
  const explained = explain({ toolName: "Bash", input: { command }, cwd: context.workspace }, context, facts);
  const redactor = deps.createRedactor({ salt: deps.salt });
  return {
    ok: true,
    decision: redactor.data(explained.decision),
    explanation: redactor.text(explanationText(explained)),
  };
}

/** Reasons: `cwd`, `config-…`. */
export async function showPolicy(
  deps: SupervisorDeps,
  cwd: string,
  trustedProject: string | undefined,
): Promise<Result<{ policy: EffectivePolicy; settings: SettingView[]; notes: string[] }>> {
  const at = contextAt(deps, cwd, trustedProject);
  if (!at.ok) return at;
  const { context, config } = at;
  return { ok: true, policy: describeEffectivePolicy(context), settings: settingsOf(config), notes: [...config.notes] };
}

function contextAt(
  deps: SupervisorDeps,
  cwd: string,
  trustedProject: string | undefined,
): Result<{ context: PolicyContext; config: Config }> {
  const loaded = configOf(deps, trustedProject);
  if (!loaded.ok) return loaded;
  const { config } = loaded;
  let workspace: string;
  try {
    workspace = realpathSync(cwd);
  } catch {
    return failure("cwd", `${cwd} does not exist any more; run the command in an existing folder.`);
  }
  const { settings } = config;
  const verify = {
    commands: [],
    cwd: workspace,
    where: "workspace" as const,
    carry: [],
    runs: 1,
    envNames: [],
    inputs: {},
    scripts: [],
  };
  const rules = [...settings["policy.rules"]];
  const allowedHosts = [...settings["policy.allowedHosts"]];
  return {
    ok: true,
    context: policyContext(deps, { cwd: workspace, profile: settings.profile, rules, allowedHosts, verify }),
    config,
  };
}

function settingsOf(config: Config): SettingView[] {
  return SETTING_NAMES.map((name) => {
    const spec: Setting<unknown> = SETTINGS[name] as Setting<unknown>;
    const value = config.settings[name];
    return { name, value: spec.secret && value !== undefined ? "set" : (value ?? null), origin: config.origins[name] };
  });
}

/**
 * Every setting once: its name in `supervisor.json` (a dot is a nested object), its variable, its default, what is
 * allowed, and what a project's file may do with it. A project may only tighten; a looser value there is ignored and
 * named, a setting that is none of its business is an error.
 */
import type { PolicyRule, Verdict } from "../core/contracts/policy.ts";
import {
  absolutePath,
  amount,
  duration,
  executable,
  flag,
  hostName,
  httpUrl,
  listOf,
  oneOf,
  plainName,
  text,
  type ValueKind,
  whole,
  workerVariableName,
} from "./config-values.ts";

export interface Setting<T> {
  kind: ValueKind<T>;
  fallback: T | undefined;
  /** Environment variable and how its text becomes a raw value. */
  variable?: string;
  fromVariable?: (value: string) => unknown;
  /** Not in files: only flags and environment set it. */
  environmentOnly?: boolean;
  /** The value for a project's wish, given the person's; absent = the project may not set it. */
  tighten?: (person: T | undefined, project: T) => T | undefined;
  /** Never shown. */
  secret?: boolean;
}

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

/** The smaller one; no limit counts as infinite. */
const smaller = (person: number | undefined, project: number): number =>
  person === undefined ? project : Math.min(person, project);

/** The one that stands earlier in the list, which goes from tight to loose. */
const tighterOf =
  <T>(...order: readonly T[]) =>
  (person: T | undefined, project: T): T =>
    person !== undefined && order.indexOf(person) < order.indexOf(project) ? person : project;

const subset = <T>(person: readonly T[] | undefined, project: readonly T[]): readonly T[] =>
  (person ?? []).filter((one) => project.includes(one));

export const ruleKind: ValueKind<PolicyRule> = {
  allowed:
    'an object such as { "verdict": "review", "tool": "Bash", "argv": ["npm", "publish"] }; verdict: allow, review, person, deny',
  schema: {
    type: "object",
    required: ["verdict", "tool"],
    additionalProperties: false,
    properties: {
      verdict: { enum: ["allow", "review", "person", "deny"] },
      tool: { type: "string", minLength: 1 },
      argv: { type: "array", minItems: 1, maxItems: 32, items: { type: "string" } },
    },
  },
  parse(raw) {
    if (typeof raw !== "object" || raw === null || Array.isArray(raw)) return undefined;
    const { verdict, tool, argv, ...rest } = raw as Record<string, unknown>;
    const verdicts: readonly Verdict[] = ["allow", "review", "person", "deny"];
    const known = verdicts.find((one) => one === verdict);
    if (known === undefined || typeof tool !== "string" || tool === "" || Object.keys(rest).length > 0)
      return undefined;
    const words = argv === undefined ? undefined : listOf(text(4_000), 32).parse(argv);
    if (argv !== undefined && (words === undefined || words.length === 0)) return undefined;
    return { verdict: known, tool, origin: "person", ...(words ? { argv: [...words] } : {}) };
  },
};

/** A project's rules are added to the person's; its `allow` rules would loosen and are left out. */
const addRules = (person: readonly PolicyRule[] | undefined, project: readonly PolicyRule[]): readonly PolicyRule[] => [
  ...(person ?? []),
  ...project.filter((rule) => rule.verdict !== "allow").map((rule) => ({ ...rule, origin: "project" as const })),
];

const splitNames = (value: string): string[] =>
  value
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "");

const NAME = "PI_CLAUDE_SUPERVISOR";

export const SETTINGS = {
  mode: setting(oneOf("manual", "auto"), "manual", { variable: `${NAME}_MODE`, tighten: tighterOf("manual", "auto") }),
  transport: setting(oneOf("claude-jsonl", "process-pipe"), "claude-jsonl", { variable: `${NAME}_TRANSPORT` }),
  claude: setting(executable, "claude", { variable: `${NAME}_CLAUDE` }),
  workerEnv: setting(listOf(workerVariableName, 256), [], {
    variable: `${NAME}_WORKER_ENV`,
    fromVariable: splitNames,
    tighten: subset,
  }),
  model: setting<string>(text(200), undefined),
  decisionModel: setting<string>(text(200), undefined),
  trust: setting(oneOf("none", "user", "project"), "user", { tighten: tighterOf("none", "user", "project") }),
  profile: setting(oneOf("strict", "standard", "open"), "standard", {
    tighten: tighterOf("strict", "standard", "open"),
  }),
  patience: setting(duration(0, 7 * DAY), 10 * 60_000, { tighten: smaller }),
  timeout: setting(duration(1_000, 30 * DAY), 8 * HOUR, { tighten: smaller }),
  quietTimeout: setting(duration(1_000, DAY), 10 * 60_000, { tighten: smaller }),
  maxRounds: setting(whole(1, 1_000), 3, { tighten: smaller }),
  maxTurns: setting<number>(whole(1, 100_000), undefined, { tighten: smaller }),
  maxDecisions: setting(whole(0, 100_000), 200, { tighten: smaller }),
  budgetUsd: setting<number>(amount(1_000_000), undefined, { tighten: smaller }),
  "perDay.usd": setting<number>(amount(1_000_000), undefined),
  "perDay.decisions": setting<number>(whole(0, 1_000_000), undefined),
  automation: setting(oneOf("on", "off"), "on", { tighten: tighterOf("off", "on") }),
  agentMayPause: setting(flag, true, { tighten: tighterOf(false, true) }),
  review: setting(flag, false, { tighten: tighterOf(true, false) }),
  reviewTimeout: setting(duration(1_000, DAY), 10 * 60_000, { tighten: smaller }),
  "verify.commands": setting(listOf(text(10_000), 32), []),
  "verify.in": setting(oneOf("clean", "workspace"), "clean", { tighten: tighterOf("clean", "workspace") }),
  "verify.setup": setting<string>(text(10_000), undefined),
  "verify.runs": setting(whole(1, 20), 1, { tighten: (person, project) => Math.max(person ?? 1, project) }),
  "verify.timeout": setting(duration(1_000, DAY), 30 * 60_000, { tighten: smaller }),
  "verify.carry": setting(listOf(plainName, 64), ["node_modules", ".venv", "vendor"], { tighten: subset }),
  "policy.rules": setting<readonly PolicyRule[]>(listOf(ruleKind, 500), [], { tighten: addRules }),
  "policy.allowedHosts": setting<readonly string[]>(listOf(hostName, 500), [], { tighten: subset }),
  "webhook.url": setting<string>(httpUrl, undefined, { variable: `${NAME}_HUMAN_WEBHOOK_URL`, secret: true }),
  "webhook.format": setting(oneOf("generic", "slack", "wecom"), "generic", {
    variable: `${NAME}_HUMAN_WEBHOOK_FORMAT`,
  }),
  "webhook.secret": setting<string>(text(4_096), undefined, {
    variable: `${NAME}_HUMAN_WEBHOOK_SECRET`,
    secret: true,
  }),
  "webhook.allowPrivate": setting(flag, false),
  "webhook.completed": setting(flag, false),
  terminalNotices: setting(oneOf("auto", "bell", "off"), "auto"),
  cgroup: setting(oneOf("auto", "required", "off"), "auto", {
    variable: `${NAME}_CGROUP`,
    tighten: tighterOf("required", "auto", "off"),
  }),
  controlDir: setting<string>(absolutePath, undefined, { variable: `${NAME}_CONTROL_DIR`, environmentOnly: true }),
  controlSocketDir: setting<string>(absolutePath, undefined, {
    variable: `${NAME}_CONTROL_SOCKET_DIR`,
    environmentOnly: true,
  }),
  controlId: setting<string>(controlIdKind(), undefined, { variable: `${NAME}_CONTROL_ID`, environmentOnly: true }),
} as const;

export type SettingName = keyof typeof SETTINGS;
type ValueOf<S> = S extends Setting<infer T> ? (S extends { fallback: T } ? T : T | undefined) : never;
/** The value of every setting; durations in ms. `undefined` = none. */
export type Settings = { readonly [K in SettingName]: ValueOf<(typeof SETTINGS)[K]> };

export const SETTING_NAMES = Object.keys(SETTINGS) as SettingName[];

/** Another name for one variable; both set to different values is an error. */
export const VARIABLE_ALIASES: Readonly<Record<string, string>> = {
  [`${NAME}_CONTROL_STATE_DIR`]: `${NAME}_CONTROL_DIR`,
};

type More<T> = Omit<Setting<T>, "kind" | "fallback">;

function setting<T>(kind: ValueKind<T>, fallback: undefined, more?: More<T>): Setting<T>;
function setting<T>(kind: ValueKind<T>, fallback: T, more?: More<T>): Setting<T> & { fallback: T };
function setting<T>(kind: ValueKind<T>, fallback: T | undefined, more: More<T> = {}): Setting<T> {
  return { kind, fallback, ...more };
}

function controlIdKind(): ValueKind<string> {
  return {
    allowed: "1 to 64 letters, digits, dots, underscores and dashes, beginning with a letter or digit",
    schema: { type: "string", pattern: "^[A-Za-z0-9]" },
    parse: (raw) => (typeof raw === "string" && /^[A-Za-z0-9][\w.-]{0,63}$/.test(raw) ? raw : undefined),
  };
}

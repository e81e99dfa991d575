/**
 * The effective configuration and where each value comes from. Flags beat environment beats files; the person's file
 * (`<Pi agent dir>/supervisor.json`) comes first, the project's (`<project>/.pi/supervisor.json`, read only where Pi
 * says that the project is trusted) may tighten it. Anything unknown or not allowed is an error that names the file,
 * the key and what is allowed: a typo must not quietly loosen a run.
 */
import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { join } from "node:path";
import { failure, type Result } from "../core/result.ts";
import { type Ownership, systemOwnership } from "../platform/account.ts";
import { errnoOf, fileFailure } from "../platform/errno.ts";
import {
  SETTING_NAMES,
  SETTINGS,
  type Setting,
  type SettingName,
  type Settings,
  VARIABLE_ALIASES,
} from "./config-settings.ts";

export type { SettingName, Settings } from "./config-settings.ts";

export type Origin = "default" | "person" | "project" | "environment" | "flag";

export interface Config {
  settings: Settings;
  origins: Readonly<Record<SettingName, Origin>>;
  /** Files that were read. */
  files: readonly string[];
  /** One sentence each: a project's wish that was looser and so ignored, a variable of ours that nobody knows. */
  notes: readonly string[];
}

export interface ConfigSources {
  /** Pi's agent folder; absent = no person's file. */
  agentDir?: string;
  /** The project's root, only when Pi trusts it. */
  trustedProject?: string;
  /** Default: `process.env`. */
  env?: Readonly<Record<string, string | undefined>>;
  /** Values from the command line, already of the right kind (durations in ms). */
  flags?: Partial<Settings>;
  ownership?: Ownership;
}

type Values = Map<SettingName, unknown>;

const MOST_FILE_BYTES = 256 * 1024;
const PREFIX = "PI_CLAUDE_SUPERVISOR_";
/** Variables of ours that are no settings. */
const OTHER_VARIABLES = [`${PREFIX}STATE_DIR`];

/** Reasons: `config-unreadable`, `config-malformed`, `config-unsafe`, `config-unknown-key`, `config-value`, `config-conflict`. */
export function loadConfig(sources: ConfigSources = {}): Result<{ config: Config }> {
  const person = readFile(sources.agentDir && join(sources.agentDir, "supervisor.json"), "person", sources);
  if (!person.ok) return person;
  const project = readFile(
    sources.trustedProject && join(sources.trustedProject, ".pi", "supervisor.json"),
    "project",
    sources,
  );
  if (!project.ok) return project;
  const environment = readEnvironment(sources.env ?? process.env);
  if (!environment.ok) return environment;

  const settings: Partial<Record<SettingName, unknown>> = {};
  const origins = {} as Record<SettingName, Origin>;
  const notes: string[] = [...environment.notes];
  for (const name of SETTING_NAMES) {
    const spec: Setting<unknown> = SETTINGS[name] as Setting<unknown>;
    settings[name] = spec.fallback;
    origins[name] = "default";
    const set = (origin: Origin, value: unknown): void => {
      settings[name] = value;
      origins[name] = origin;
    };
    if (person.values.has(name)) set("person", person.values.get(name));
    if (project.values.has(name)) {
      const wish = project.values.get(name);
      const tightened = spec.tighten?.(settings[name], wish);
      if (JSON.stringify(tightened) !== JSON.stringify(settings[name])) set("project", tightened);
      if (!isGranted(name, wish, tightened)) {
        notes.push(`${project.file}: "${name}" would loosen the configuration and was ${ignoredPart(name)}ignored.`);
      }
    }
    if (environment.values.has(name)) set("environment", environment.values.get(name));
    const flagged = sources.flags?.[name];
    if (flagged !== undefined) set("flag", flagged);
  }
  const config: Config = {
    settings: settings as Settings,
    origins,
    files: [person, project].flatMap((one) => (one.present ? [one.file] : [])),
    notes,
  };
  return checkTogether(config);
}

/** `auto` needs the gate, and process-pipe has none: it brings its own transport, but for one that the same call asks for. */
function checkTogether(config: Config): Result<{ config: Config }> {
  const { settings, origins, notes } = config;
  if (settings.mode !== "auto" || settings.transport !== "process-pipe") return { ok: true, config };
  if (origins.transport === "flag") {
    return failure(
      "config-conflict",
      `Mode auto (${origins.mode}) cannot use the transport process-pipe (${origins.transport}), which has no gate. Choose claude-jsonl, or mode manual.`,
    );
  }
  const note = `Mode auto (${origins.mode}) uses claude-jsonl; the transport process-pipe (${origins.transport}) has no gate and counts for manual tasks only.`;
  return {
    ok: true,
    config: {
      ...config,
      settings: { ...settings, transport: "claude-jsonl" },
      origins: { ...origins, transport: origins.mode },
      notes: [...notes, note],
    },
  };
}

interface ReadValues {
  file: string;
  present: boolean;
  values: Values;
}

function readFile(path: string | undefined, who: "person" | "project", sources: ConfigSources): Result<ReadValues> {
  const values: Values = new Map();
  if (path === undefined || path === "") return { ok: true, file: "", present: false, values };
  const read = readBounded(path, who, sources.ownership ?? systemOwnership);
  if (!read.ok) return read.reason === "missing" ? { ok: true, file: path, present: false, values } : read;
  let content: unknown;
  try {
    content = JSON.parse(read.text.replace(/^\uFEFF/, ""));
  } catch (error) {
    // V8 quotes a piece of the text; a file that is read by mistake must not show up in a message.
    const place = /position \d+(?: \(line \d+ column \d+\))?/.exec(String(error))?.[0] ?? "its end";
    return failure("config-malformed", `${path} is not JSON (at ${place}). Correct it, or move it away.`);
  }
  if (typeof content !== "object" || content === null || Array.isArray(content)) {
    return failure("config-malformed", `${path} must hold one JSON object. Correct it, or move it away.`);
  }
  for (const [key, raw] of flatten(content as Record<string, unknown>)) {
    const name = SETTING_NAMES.find((one) => one === key);
    const spec: Setting<unknown> | undefined = name === undefined ? undefined : (SETTINGS[name] as Setting<unknown>);
    if (name === undefined || spec === undefined || spec.environmentOnly === true) {
      return failure(
        "config-unknown-key",
        `${path}: there is no setting "${key}". Allowed: ${fileKeys(who).join(", ")}.`,
      );
    }
    if (who === "project" && spec.tighten === undefined) {
      return failure(
        "config-unknown-key",
        `${path}: a project may not set "${key}". Allowed here: ${fileKeys(who).join(", ")}.`,
      );
    }
    const value = spec.kind.parse(raw);
    if (value === undefined) return badValue(`${path}: "${key}"`, spec);
    values.set(name, value);
  }
  return { ok: true, file: path, present: true, values };
}

function readEnvironment(
  env: Readonly<Record<string, string | undefined>>,
): Result<{ values: Values; notes: string[] }> {
  const values: Values = new Map();
  const merged: Record<string, string | undefined> = { ...env };
  for (const [alias, variable] of Object.entries(VARIABLE_ALIASES)) {
    const [one, other] = [env[variable] || undefined, env[alias] || undefined];
    if (one !== undefined && other !== undefined && one !== other) {
      return failure(
        "config-conflict",
        `${variable} and ${alias} mean the same and are set to different values. Unset one.`,
      );
    }
    merged[variable] = one ?? other;
  }
  const known = new Set<string>([...OTHER_VARIABLES, ...Object.keys(VARIABLE_ALIASES)]);
  for (const name of SETTING_NAMES) {
    const spec: Setting<unknown> = SETTINGS[name] as Setting<unknown>;
    if (spec.variable === undefined) continue;
    known.add(spec.variable);
    const text = merged[spec.variable];
    if (text === undefined || text === "") continue;
    const value = spec.kind.parse(spec.fromVariable ? spec.fromVariable(text) : text);
    if (value === undefined) return badValue(spec.variable, spec);
    values.set(name, value);
  }
  const notes = Object.keys(env)
    .filter((name) => name.startsWith(PREFIX) && !known.has(name))
    .map((name) => `The variable ${name} is not known and has no effect. Known: ${[...known].sort().join(", ")}.`);
  return { ok: true, values, notes };
}

/** Links are followed (people keep their files in one place and link them), but what others can write is refused. */
function readBounded(path: string, who: "person" | "project", ownership: Ownership): Result<{ text: string }> {
  let fd: number;
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    const code = errnoOf(error);
    if (code === "ENOENT" || (who === "project" && code === "ENOTDIR"))
      return failure("missing", `${path} is missing.`);
    return failure("config-unreadable", fileFailure("read", path, error).message);
  }
  try {
    const stats = fstatSync(fd);
    if (!stats.isFile()) return failure("config-unreadable", `${path} is not a regular file. Move it away.`);
    if (stats.size > MOST_FILE_BYTES) {
      return failure("config-unreadable", `${path} is larger than ${MOST_FILE_BYTES} bytes. Make it smaller.`);
    }
    const owner = ownership.ownerOf(path, stats);
    const foreign = owner !== ownership.uid && owner !== 0;
    const writable = (stats.mode & 0o002) !== 0 || ((stats.mode & 0o020) !== 0 && !ownership.isPrivateGroup(stats.gid));
    if (who === "person" && (foreign || writable)) {
      return failure(
        "config-unsafe",
        `${path} can be changed by other users (owner ${owner}, mode ${(stats.mode & 0o7777).toString(8)}). Check it, then make it yours alone: chmod 600.`,
      );
    }
    const bytes = Buffer.alloc(MOST_FILE_BYTES + 1);
    let length = 0;
    for (let count = -1; count !== 0 && length < bytes.length; length += count) {
      count = readSync(fd, bytes, length, bytes.length - length, length);
    }
    return { ok: true, text: bytes.toString("utf8", 0, length) };
  } catch (error) {
    return failure("config-unreadable", fileFailure("read", path, error).message);
  } finally {
    closeSync(fd);
  }
}

/** Nested groups become dotted names: `{ "verify": { "in": … } }` is `verify.in`. */
function flatten(content: Readonly<Record<string, unknown>>): [string, unknown][] {
  const groups = new Set(
    SETTING_NAMES.flatMap((name) => (name.includes(".") ? [name.slice(0, name.indexOf("."))] : [])),
  );
  return Object.entries(content).flatMap(([key, value]): [string, unknown][] => {
    if (!groups.has(key) || typeof value !== "object" || value === null || Array.isArray(value)) return [[key, value]];
    return Object.entries(value).map(([inner, one]): [string, unknown] => [`${key}.${inner}`, one]);
  });
}

function isGranted(name: SettingName, wish: unknown, granted: unknown): boolean {
  if (name === "policy.rules") return Array.isArray(wish) && wish.every((rule) => rule.verdict !== "allow");
  if (Array.isArray(wish) && Array.isArray(granted)) return wish.every((one) => granted.includes(one));
  return JSON.stringify(wish) === JSON.stringify(granted);
}

function ignoredPart(name: SettingName): string {
  return Array.isArray(SETTINGS[name].fallback) ? "partly " : "";
}

function fileKeys(who: "person" | "project"): string[] {
  return SETTING_NAMES.filter((name) => {
    const spec = SETTINGS[name] as Setting<unknown>;
    return spec.environmentOnly !== true && (who === "person" || spec.tighten !== undefined);
  });
}

function badValue(place: string, spec: Setting<unknown>): { ok: false; reason: string; message: string } {
  return failure("config-value", `${place} has a value that is not allowed. Allowed: ${spec.kind.allowed}.`);
}

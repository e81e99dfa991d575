/** The settings for people: what `policy show`, `doctor` and the documentation print. Secrets never appear. */
import type { Config, Origin } from "./config.ts";
import { SETTING_NAMES, SETTINGS, type Setting, type SettingName } from "./config-settings.ts";
import { showDuration } from "./config-values.ts";

export interface SettingDescription {
  name: SettingName;
  allowed: string;
  /** As it would be written; `none` where there is no default. */
  fallback: string;
  variable?: string;
  /** Where it may stand: flags and environment aside. */
  files: "none" | "person" | "person and project";
}

export interface ShownSetting {
  name: SettingName;
  value: string;
  origin: Origin;
}

export function describeSettings(): SettingDescription[] {
  return SETTING_NAMES.map((name) => {
    const spec = SETTINGS[name] as Setting<unknown>;
    const files = spec.environmentOnly ? "none" : spec.tighten ? "person and project" : "person";
    return {
      name,
      allowed: spec.kind.allowed,
      fallback: shownValue(name, spec.fallback),
      files,
      ...(spec.variable ? { variable: spec.variable } : {}),
    };
  });
}

/** Every setting in effect and where it comes from. */
export function showConfig(config: Config): ShownSetting[] {
  return SETTING_NAMES.map((name) => ({
    name,
    value: shownValue(name, config.settings[name]),
    origin: config.origins[name],
  }));
}

function shownValue(name: SettingName, value: unknown): string {
  const spec = SETTINGS[name] as Setting<unknown>;
  if (value === undefined) return "none";
  if (spec.secret) return "(set)";
  if (typeof value === "number" && spec.kind.allowed.startsWith("a duration")) return showDuration(value);
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** The JSON Schema of `supervisor.json`, made from the one table of settings: for editors, and docs/supervisor.schema.json. */
import { SETTING_NAMES, SETTINGS, type Setting } from "./config-settings.ts";
import { showDuration } from "./config-values.ts";

type Schema = Record<string, unknown>;

/** What stands in files; a dot in a setting's name is a nested object. */
export function configSchema(): Schema {
  const root = objectSchema();
  for (const name of SETTING_NAMES) {
    const spec = SETTINGS[name] as Setting<unknown>;
    if (spec.environmentOnly) continue;
    const parts = name.split(".");
    const last = parts.pop() ?? name;
    const parent = parts.reduce((at, part) => {
      at.properties[part] ??= objectSchema();
      return at.properties[part] as typeof at;
    }, root);
    parent.properties[last] = leaf(spec);
  }
  return {
    $schema: "http://json-schema.org/draft-07/schema#",
    title: "supervisor.json of pi-claude-supervisor",
    ...root,
  };
}

function objectSchema() {
  return { type: "object", additionalProperties: false, properties: {} as Record<string, Schema> };
}

function leaf(spec: Setting<unknown>): Schema {
  const { kind, fallback, variable, tighten } = spec;
  const project = tighten ? "A project may only tighten it." : "Not in a project's file.";
  const also = variable === undefined ? "" : ` Also by ${variable}.`;
  const isDuration = kind.allowed.startsWith("a duration") && typeof fallback === "number";
  return {
    ...kind.schema,
    description: `Allowed: ${kind.allowed}. ${project}${also}`,
    ...(fallback === undefined ? {} : { default: isDuration ? showDuration(fallback) : fallback }),
  };
}

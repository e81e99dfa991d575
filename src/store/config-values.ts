/** Kinds of configuration values: what is allowed, in words, and how a raw JSON value becomes a value of ours. */
import { isAbsolute } from "node:path";

export interface ValueKind<T> {
  /** Completes the sentence "allowed: …". */
  allowed: string;
  /** The same for programs, as JSON Schema: it may accept a little more than `parse`. */
  schema?: Readonly<Record<string, unknown>>;
  /** `undefined` = not allowed. */
  parse(raw: unknown): T | undefined;
}

export function oneOf<const T extends string>(...words: readonly T[]): ValueKind<T> {
  return { allowed: words.join(", "), schema: { enum: words }, parse: (raw) => words.find((word) => word === raw) };
}

export function whole(min: number, max: number): ValueKind<number> {
  return {
    allowed: `a whole number from ${min} to ${max}`,
    schema: { type: "integer", minimum: min, maximum: max },
    parse: (raw) => (typeof raw === "number" && Number.isInteger(raw) && raw >= min && raw <= max ? raw : undefined),
  };
}

export function amount(max: number): ValueKind<number> {
  return {
    allowed: `a number above 0, up to ${max}`,
    schema: { type: "number", exclusiveMinimum: 0, maximum: max },
    parse: (raw) => (typeof raw === "number" && raw > 0 && raw <= max ? raw : undefined),
  };
}

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** `500ms 2s 10m 1h 7d` in milliseconds; `undefined` for anything else. */
export function parseDuration(text: string): number | undefined {
  const found = /^(\d{1,9}(?:\.\d{1,3})?)(ms|s|m|h|d)$/.exec(text.trim());
  const unit = UNITS[found?.[2] ?? ""];
  return found?.[1] === undefined || unit === undefined ? undefined : Math.round(Number(found[1]) * unit);
}

/** Milliseconds. */
export function duration(minMs: number, maxMs: number): ValueKind<number> {
  return {
    allowed: `a duration such as 500ms, 2s, 10m or 1h, from ${showDuration(minMs)} to ${showDuration(maxMs)}`,
    schema: { type: "string", pattern: "^\\s*\\d{1,9}(\\.\\d{1,3})?(ms|s|m|h|d)\\s*$" },
    parse(raw) {
      const ms = typeof raw === "string" ? parseDuration(raw) : undefined;
      return ms !== undefined && ms >= minMs && ms <= maxMs ? ms : undefined;
    },
  };
}

export const flag: ValueKind<boolean> = {
  allowed: "true, false",
  schema: { type: "boolean" },
  parse: (raw) => (typeof raw === "boolean" ? raw : undefined),
};

export function text(most: number): ValueKind<string> {
  return {
    allowed: `a text of 1 to ${most} characters on one line`,
    schema: { type: "string", minLength: 1, maxLength: most },
    parse: (raw) =>
      typeof raw === "string" && raw.trim() !== "" && raw.length <= most && !/[\u0000-\u001f\u007f]/.test(raw)
        ? raw
        : undefined,
  };
}

export const absolutePath: ValueKind<string> = {
  allowed: "an absolute path",
  schema: { type: "string", pattern: "^/" },
  parse: (raw) => (typeof raw === "string" && isAbsolute(raw) && !raw.includes("\0") ? raw : undefined),
};

/** A word or path as a shell would find it: `claude`, `/usr/bin/claude`. */
export const executable: ValueKind<string> = {
  allowed: "a program name or an absolute path",
  schema: { type: "string", minLength: 1 },
  parse: (raw) =>
    typeof raw === "string" && (/^[\w.+-]+$/.test(raw) || (isAbsolute(raw) && !raw.includes("\0"))) ? raw : undefined,
};

export const httpUrl: ValueKind<string> = {
  allowed: "an http or https address",
  schema: { type: "string", pattern: "^[Hh][Tt][Tt][Pp][Ss]?:" },
  parse(raw) {
    if (typeof raw !== "string" || !URL.canParse(raw)) return undefined;
    return ["http:", "https:"].includes(new URL(raw).protocol) ? raw : undefined;
  },
};

export function listOf<T>(item: ValueKind<T>, most: number): ValueKind<readonly T[]> {
  return {
    allowed: `a list of at most ${most}, each ${item.allowed}`,
    schema: { type: "array", maxItems: most, items: item.schema ?? {} },
    parse(raw) {
      if (!Array.isArray(raw) || raw.length > most) return undefined;
      const values = raw.map((one) => item.parse(one));
      return values.every((one) => one !== undefined) ? (values as T[]) : undefined;
    },
  };
}

export const variableName: ValueKind<string> = {
  allowed: "the name of a variable",
  schema: { type: "string", pattern: "^[A-Za-z_][A-Za-z0-9_]*$" },
  parse: (raw) => (typeof raw === "string" && /^[A-Za-z_][A-Za-z0-9_]{0,127}$/.test(raw) ? raw : undefined),
};

/** What no worker may inherit, whoever lists it. */
const REFUSED_NAMES = ["CLAUDECODE", "NODE_OPTIONS", "IS_SANDBOX", "CLAUDE_CODE_BUBBLEWRAP"];

export const workerVariableName: ValueKind<string> = {
  allowed: `the name of a variable, not ${REFUSED_NAMES.join(", ")} or PI_CLAUDE_SUPERVISOR_*`,
  schema: { type: "string", pattern: "^(?!PI_CLAUDE_SUPERVISOR_)[A-Za-z_][A-Za-z0-9_]*$" },
  parse(raw) {
    const name = variableName.parse(raw);
    if (name === undefined || REFUSED_NAMES.includes(name)) return undefined;
    return name.startsWith("PI_CLAUDE_SUPERVISOR_") ? undefined : name;
  },
};

/** The folder or file name of something inside the workspace's root. */
export const plainName: ValueKind<string> = {
  allowed: "a folder name without a slash",
  schema: { type: "string", pattern: "^[^/]{1,255}$" },
  parse: (raw) =>
    typeof raw === "string" && /^[^/\0]{1,255}$/.test(raw) && raw !== "." && raw !== ".." && raw !== ".git"
      ? raw
      : undefined,
};

export const hostName: ValueKind<string> = {
  allowed: "a host name such as docs.example.org or *.example.org",
  schema: { type: "string", minLength: 1 },
  parse: (raw) =>
    typeof raw === "string" && /^(\*\.)?[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/i.test(raw)
      ? raw.toLowerCase()
      : undefined,
};

export function showDuration(ms: number): string {
  for (const unit of ["d", "h", "m", "s"]) {
    const size = UNITS[unit] ?? 1;
    if (ms >= size && ms % size === 0) return `${ms / size}${unit}`;
  }
  return `${ms}ms`;
}

/** Redaction of structured data: strings like texts, and values by the names of their keys. */
import { isSecretValue } from "./accept.ts";
import { secretName } from "./names.ts";
import { type Place, placeAt } from "./place.ts";

/** Deeper data is cut off there; a person reads no deeper, and the stack of a process ends some time. */
const MAX_DEPTH = 200;
const NAME_FIELDS = ["name", "key", "Name", "Key", "id", "variable"];
const VALUE_FIELDS = new Set(["value", "Value", "val", "default", "defaultValue", "stringValue", "content"]);

export interface DataTools {
  text(value: string): string;
  /** Marker for a value that its key gives away. */
  mark(kind: string, secret: string): string;
}

/** Deep copy; cycles become `[circular]`, what lies too deep `[too deep]`. Objects with `toJSON` are taken as that. */
export function redactData(tools: DataTools, value: unknown): unknown {
  return copy(tools, value, undefined, new Set(), 0);
}

function copy(tools: DataTools, value: unknown, name: string | undefined, open: Set<object>, depth: number): unknown {
  if (typeof value === "string") return copyString(tools, value, name);
  if (typeof value === "number" || typeof value === "bigint") return copyNumber(tools, value, name);
  if (typeof value !== "object" || value === null)
    return typeof value === "function" || typeof value === "symbol" ? undefined : value;
  if (open.has(value)) return "[circular]";
  if (depth >= MAX_DEPTH) return "[too deep]";
  open.add(value);
  const result = copyObject(tools, value, name, open, depth);
  open.delete(value);
  return result;
}

function copyObject(
  tools: DataTools,
  value: object,
  name: string | undefined,
  open: Set<object>,
  depth: number,
): unknown {
  if (Array.isArray(value)) {
    return value.map((item: unknown, index) => copy(tools, item, nameBefore(value, index) ?? name, open, depth + 1));
  }
  if (value instanceof Error) return copyError(tools, value, open, depth);
  if ("toJSON" in value && typeof value.toJSON === "function")
    return copy(tools, value.toJSON(), name, open, depth + 1);
  const entries: [string, unknown][] = Object.entries(value);
  const announced = announcedName(value);
  const result: Record<string, unknown> = {};
  for (const [key, item] of entries) {
    const itemName = announced !== undefined && VALUE_FIELDS.has(key) ? announced : childName(key, item, name);
    put(result, tools.text(key), copy(tools, item, itemName, open, depth + 1));
  }
  return result;
}

function copyError(tools: DataTools, error: Error, open: Set<object>, depth: number): unknown {
  const { name, message, stack, cause } = error;
  const rest: [string, unknown][] = Object.entries(error);
  const shown: Record<string, unknown> = { name, message, stack, ...(cause === undefined ? {} : { cause }) };
  for (const [key, item] of rest) put(shown, key, item);
  return copy(tools, shown, undefined, open, depth + 1);
}

/** The key; below a key of many secrets (`secrets`, `passwords`) that one, so that its children count too. */
function childName(key: string, item: unknown, parent: string | undefined): string {
  const isBelow = parent !== undefined && typeof item === "string" && secretName(key) === undefined;
  return isBelow && /^(?:secrets|passwords|tokens|stringData|apiKeys|api_keys)$/.test(parent) ? parent : key;
}

/** `{ name: "API_SECRET", value: "..." }`. */
function announcedName(value: object): string | undefined {
  for (const field of NAME_FIELDS) {
    const name: unknown = Object.hasOwn(value, field) ? Reflect.get(value, field) : undefined;
    if (typeof name === "string" && name.length <= 80 && isValueName(name)) return name;
  }
  return undefined;
}

function isValueName(name: string): boolean {
  return typeof secretName(name) === "object";
}

/** In lists: the value after `--token`, after `Authorization`; marked by a comma before the name. */
function nameBefore(list: readonly unknown[], index: number): string | undefined {
  const before = index > 0 ? list[index - 1] : undefined;
  if (typeof before !== "string" || before.length > 80 || !/^-{0,2}[A-Za-z][\w.-]*$/.test(before)) return undefined;
  const isOption = before.startsWith("-");
  return isOption || secretName(before) !== undefined ? `${isOption ? "" : ","}${before}` : undefined;
}

function copyString(tools: DataTools, value: string, name: string | undefined): string {
  if (name !== undefined && value.length > 0) {
    const secret = secretName(name);
    if (secret === "authorization" || secret === "cookie")
      return afterPrefix(tools, `${name.replace(",", "")}: `, value);
    if (secret && secret.strength !== "query") {
      const place: Place = { ...placeAt(0), by: placeOf(name), nameQuote: '"' };
      const span = { start: 0, end: value.length, isQuoted: true, isOpen: false, next: -1 };
      if (isSecretValue({ name, secret, place, value: span, text: value })) return tools.mark(secret.kind, value);
    }
    if (/^--?(?:u|user|proxy-user)$/i.test(name)) return afterPrefix(tools, `curl ${name} `, value);
  }
  return tools.text(value);
}

function placeOf(name: string): Place["by"] {
  if (name.startsWith(",")) return ",";
  return name.startsWith("-") ? "flag" : ":";
}

/** Redacts the value as if the prefix stood before it. */
function afterPrefix(tools: DataTools, prefix: string, value: string): string {
  const whole = tools.text(prefix + value);
  return whole.startsWith(prefix) ? whole.slice(prefix.length) : tools.text(value);
}

/** Numbers under the name of a password; a count of tokens stays. */
function copyNumber(tools: DataTools, value: number | bigint, name: string | undefined): unknown {
  const secret = name === undefined ? undefined : secretName(name);
  const text = String(value);
  const isSecret =
    typeof secret === "object" && secret.strength === "strong" && secret.kind === "password" && text.length >= 4;
  return isSecret ? tools.mark(secret.kind, text) : value;
}

/** A key named `__proto__` is data too. */
function put(target: Record<string, unknown>, key: string, value: unknown): void {
  if (key === "__proto__")
    Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true });
  else target[key] = value;
}

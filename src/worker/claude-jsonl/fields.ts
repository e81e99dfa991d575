/** Reading fields of messages that somebody else wrote. What has the wrong shape counts as not reported. */

export type Fields = Readonly<Record<string, unknown>>;

export function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function fieldsOf(value: unknown): Fields {
  return isFields(value) ? value : {};
}

export function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** A whole number of something: never negative, never beyond exact doubles. */
export function countOf(value: unknown): number | undefined {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}

/** A finite amount (USD, ms): never negative. JSON has numbers such as 1e999 that read as Infinity. */
export function amountOf(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) && value >= 0 ? value : undefined;
}

export function textsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((entry) => typeof entry === "string") : [];
}

/** `{ key: value }`, or nothing when the value is not reported: spread it into an event. */
export function reported<K extends string, V>(key: K, value: V | undefined): { [P in K]?: V } {
  return (value === undefined ? {} : { [key]: value }) as { [P in K]?: V };
}

/** Deeper input than any tool has; walking it further could end the stack (of ours, or of whoever logs it). */
const MAX_DEPTH = 200;

export function isTooDeep(value: unknown, depth = MAX_DEPTH): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (depth === 0) return true;
  for (const entry of Array.isArray(value) ? value : Object.values(value)) {
    if (isTooDeep(entry, depth - 1)) return true;
  }
  return false;
}

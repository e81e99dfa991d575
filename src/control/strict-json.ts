/**
 * JSON from a file that may have been damaged or edited: valid UTF-8 without BOM, no key twice, no `__proto__`, bounded
 * in size and depth. `JSON.parse` takes the last of two equal keys in silence, and so two readers could read two things.
 */
import { failure, type Result } from "../core/result.ts";

export const MOST_BYTES = 64 * 1024;
const MOST_DEPTH = 16;

/** Reason `damaged`. */
export function parseStrict(bytes: Uint8Array, what: string): Result<{ value: unknown }> {
  const damaged = (why: string) =>
    failure("damaged", `${what} is damaged (${why}). It is left as it is; look at it, then resume at a terminal.`);
  if (bytes.length > MOST_BYTES) return damaged("too large");
  if (bytes.length === 0) return damaged("empty");
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) return damaged("it starts with a byte order mark");
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return damaged("not UTF-8");
  }
  const fault = shapeFault(text);
  if (fault !== undefined) return damaged(fault);
  try {
    return { ok: true, value: JSON.parse(text) };
  } catch {
    return damaged("no JSON");
  }
}

/** One pass over the tokens; what is no JSON at all is left to `JSON.parse`. */
function shapeFault(text: string): string | undefined {
  const open: (Set<string> | undefined)[] = [];
  for (let at = 0; at < text.length; at += 1) {
    const char = text[at];
    if (char === "{" || char === "[") {
      open.push(char === "{" ? new Set() : undefined);
      if (open.length > MOST_DEPTH) return "nested too deeply";
    } else if (char === "}" || char === "]") {
      open.pop();
    } else if (char === '"') {
      const end = stringEnd(text, at);
      if (end === undefined) return "no JSON";
      const keys = open.at(-1);
      if (keys !== undefined && isKey(text, end)) {
        const key = unquote(text.slice(at, end));
        if (key === undefined) return "no JSON";
        if (key === "__proto__") return "a key __proto__";
        if (keys.has(key)) return `the key ${JSON.stringify(key.slice(0, 40))} twice`;
        keys.add(key);
      }
      at = end - 1;
    }
  }
  return undefined;
}

/** Does a colon come next? */
function isKey(text: string, end: number): boolean {
  let at = end;
  while (text[at] === " " || text[at] === "\n" || text[at] === "\r" || text[at] === "\t") at += 1;
  return text[at] === ":";
}

/** The index behind the closing quote. */
function stringEnd(text: string, start: number): number | undefined {
  for (let at = start + 1; at < text.length; at += 1) {
    if (text[at] === "\\") at += 1;
    else if (text[at] === '"') return at + 1;
  }
  return undefined;
}

function unquote(quoted: string): string | undefined {
  try {
    const value: unknown = JSON.parse(quoted);
    return typeof value === "string" ? value : undefined;
  } catch {
    return undefined;
  }
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A counter as we write them: 0 to 2^53 - 2, so that one more is still exact. */
export function isEpoch(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 && value < Number.MAX_SAFE_INTEGER;
}

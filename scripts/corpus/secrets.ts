/**
 * Judges the redactor by a file of recipes (docs/redaction.md describes the fields): each row is expanded with several
 * seeds, redacted whole and in pieces, and checked for leaks, losses, idempotence, JSON, markers and time.
 */
import { readFileSync } from "node:fs";
import type { Redactor } from "../../src/core/contracts/redaction.ts";
import { createRedactor } from "../../src/redaction/index.ts";

type Piece = string | { alphabet: string; length: number };

export interface Placeholder {
  alphabet?: string;
  length?: number;
  prefix?: string;
  suffix?: string;
  wrap?: { every: number; with: string };
  encode?: string;
  parts?: Piece[];
  text?: string;
  repeat?: number;
}

export interface SecretRow {
  id: string;
  family: string;
  template?: string;
  keep?: string;
  placeholders: Record<string, Placeholder>;
  must_hide?: string[];
  keep_parts?: string[];
  known?: string[];
  format?: "json";
  split_at?: "every" | "each-char" | "every-5" | (number | "end")[];
  split_marker?: string;
  truncate_inside?: { of: string; after: number };
  markers?: "equal" | "different";
  max_ms?: number;
  why?: string;
}

/** A random body as it stands in the raw and in the shown form; `wrapped` are its lines. */
interface Secret {
  raw: string;
  shown: string;
  bodies: string[];
  isEncoded: boolean;
}

export interface Expanded {
  text: string;
  secrets: Record<string, Secret>;
  cuts: number[][];
}

const DIGITS = "0123456789";
const LOWER = "abcdefghijklmnopqrstuvwxyz";
const UPPER = LOWER.toUpperCase();
const BASE62 = UPPER + LOWER + DIGITS;
const WORDS = (
  "amber basin cedar delta ember fjord grove heron inlet jetty koala lemon maple nectar otter pebble quartz raven saddle " +
  "tulip umber violet walnut yarrow zephyr"
).split(" ");
const ALPHABETS: Record<string, string> = {
  base62: BASE62,
  alpha: UPPER + LOWER,
  upper: UPPER,
  digits: DIGITS,
  hex: `${DIGITS}abcdef`,
  base32: `${UPPER}234567`,
  base64: `${BASE62}+/`,
  base64url: `${BASE62}-_`,
  password: `${BASE62}!#$%&*+-.=?@^_~`,
  password_plain: `${BASE62}!*+-.=_~`,
  password_url: `${BASE62}!*-._~`,
};
/** No more characters in a row than this less one may be seen of a secret. */
const WINDOW = 12;
const ASIDE = 400;
const SALT = "corpus";
export const SEEDS: readonly number[] = [0, 1, 2, 3, 4, 5, 6, 7];

export function readRows(file: string): SecretRow[] {
  const lines = readFileSync(file, "utf8").split("\n");
  return lines.filter((line) => line.trim() !== "").map((line) => JSON.parse(line) as SecretRow);
}

/** The text of a row for one seed; the same row and seed always give the same text. */
export function expand(row: SecretRow, seed: number): Expanded {
  const next = generator(row.id, seed);
  const secrets: Record<string, Secret> = {};
  for (const [name, placeholder] of Object.entries(row.placeholders)) secrets[name] = build(placeholder, next);
  let text = row.template ?? row.keep ?? "";
  const marker = row.split_marker;
  const marked = marker === undefined ? -1 : text.indexOf(marker);
  if (marker !== undefined) text = text.replace(marker, "");
  const hidden = row.must_hide?.[0];
  const hiddenAt = hidden === undefined ? -1 : text.indexOf(`{${hidden}}`);
  let offset = 0;
  text = text.replace(/\{(\w+)\}/g, (whole, name: string, at: number) => {
    const secret = secrets[name];
    if (!secret) return whole;
    if (at < hiddenAt) offset += secret.shown.length - whole.length;
    return secret.shown;
  });
  const first = hidden === undefined ? undefined : secrets[hidden];
  return { text, secrets, cuts: cutsOf(row, text, first?.shown, hiddenAt + offset, marked) };
}

function build(placeholder: Placeholder, next: (n: number) => number): Secret {
  const pieces: Piece[] = placeholder.parts ?? [];
  const bodies: string[] = [];
  let body = "";
  if (placeholder.text !== undefined) body = placeholder.text.repeat(placeholder.repeat ?? 1);
  else if (pieces.length > 0) {
    for (const piece of pieces) {
      const part = typeof piece === "string" ? piece : pick(piece.alphabet, piece.length, next);
      if (typeof piece !== "string") bodies.push(part);
      body += part;
    }
  } else body = pick(placeholder.alphabet ?? "base62", placeholder.length ?? 0, next);
  const { wrap } = placeholder;
  const lines = wrap ? (body.match(new RegExp(`.{1,${wrap.every}}`, "g")) ?? []) : [];
  const wrapped = wrap ? lines.join(wrap.with) : body;
  if (pieces.length === 0 && placeholder.text === undefined) bodies.push(...(wrap ? lines : [body]));
  const raw = (placeholder.prefix ?? "") + wrapped + (placeholder.suffix ?? "");
  const shown = encode(placeholder.encode, raw);
  return { raw, shown, bodies, isEncoded: placeholder.encode !== undefined };
}

function pick(alphabet: string, length: number, next: (n: number) => number): string {
  if (alphabet === "words") return Array.from({ length }, () => WORDS[next(WORDS.length)]).join("-");
  if (alphabet === "uuid") return uuid(next);
  const characters = ALPHABETS[alphabet] ?? BASE62;
  const plain = [...characters].filter((character) => BASE62.includes(character)).join("");
  let text = "";
  for (let i = 0; i < length; i++) {
    const from = i === 0 || i === length - 1 ? plain : characters;
    text += from[next(from.length)];
  }
  return text;
}

function uuid(next: (n: number) => number): string {
  const hex = (length: number) => Array.from({ length }, () => "0123456789abcdef"[next(16)]).join("");
  return `${hex(8)}-${hex(4)}-4${hex(3)}-a${hex(3)}-${hex(12)}`;
}

function generator(id: string, seed: number): (n: number) => number {
  let hash = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(id)) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  let x = (hash ^ seed) >>> 0 || 1;
  return (n) => {
    x = (x ^ (x << 13)) >>> 0;
    x = (x ^ (x >>> 17)) >>> 0;
    x = (x ^ (x << 5)) >>> 0;
    return x % n;
  };
}

function encode(how: string | undefined, raw: string): string {
  switch (how) {
    case undefined:
      return raw;
    case "base64":
      return Buffer.from(raw, "utf8").toString("base64");
    case "percent":
      return encodeURIComponent(raw);
    case "percent-all":
      return [...Buffer.from(raw, "utf8")]
        .map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, "0")}`)
        .join("");
    case "json-u002d":
      return raw.replaceAll("-", "\\u002d");
    case "json-string":
      return JSON.stringify(raw).slice(1, -1);
    default:
      throw new Error(`Unknown encoding "${how}".`);
  }
}

/** Ways of cutting: the row's own, and some that every text must bear. */
function cutsOf(row: SecretRow, text: string, shown: string | undefined, at: number, marked: number): number[][] {
  const cuts: number[][] = [];
  const length = text.length;
  const steps = (step: number) =>
    Array.from({ length: Math.max(0, Math.ceil(length / step) - 1) }, (_, i) => (i + 1) * step);
  if (marked >= 0) cuts.push([marked]);
  const own = row.split_at;
  if (Array.isArray(own) && shown !== undefined) {
    cuts.push(own.map((each) => at + (each === "end" ? shown.length : each < 0 ? shown.length + each : each)));
  } else if (own === "every" && shown !== undefined) {
    for (let i = 0; i <= shown.length; i++) cuts.push([at + i]);
  }
  if (length > 50_000) return [...cuts, steps(4_096), [length - 50, length - 20]];
  cuts.push(steps(1), steps(2), steps(3), steps(5), steps(7), steps(16), steps(61));
  if (length <= ASIDE) for (let i = 1; i < length; i++) cuts.push([i]);
  return cuts;
}

/** Everything that is wrong with one row under one seed; empty when all is well. */
export function judge(row: SecretRow, seed: number): string[] {
  const { text, secrets, cuts } = expand(row, seed);
  const known = (row.known ?? []).map((name) => secrets[name]?.raw ?? "");
  const redactor = createRedactor({ salt: SALT, known });
  const faults: string[] = [];
  const began = process.cpuUsage();
  const output = redactor.text(text);
  const { user, system } = process.cpuUsage(began);
  const took = (user + system) / 1_000; // other processes do not count
  if (row.max_ms !== undefined && took > row.max_ms) faults.push(`took ${took.toFixed(0)} ms`);
  if (row.keep !== undefined && output !== text) faults.push(`changed to ${excerpt(output)}`);
  for (const name of row.must_hide ?? []) faults.push(...leaks(name, secrets[name], output));
  for (const part of row.keep_parts ?? [])
    if (!output.includes(part)) faults.push(`lost "${part}": ${excerpt(output)}`);
  if (redactor.text(output) !== output)
    faults.push(`second pass changes ${excerpt(output)} to ${excerpt(redactor.text(output))}`);
  if (redactor.hasSecret(text) !== (output !== text)) faults.push("hasSecret disagrees with text");
  if (row.format === "json" && !isJson(output)) faults.push(`no JSON any more: ${excerpt(output)}`);
  faults.push(...cutFaults(redactor, text, output, cuts), ...markerFaults(row, output));
  if (row.truncate_inside) faults.push(...previewFaults(row, secrets, text, output));
  return faults;
}

function cutFaults(redactor: Redactor, text: string, output: string, cuts: number[][]): string[] {
  for (const cut of cuts) {
    const stream = redactor.stream();
    let joined = "";
    let from = 0;
    for (const to of [...cut.filter((each) => each > 0 && each < text.length), text.length]) {
      joined += stream.push(text.slice(from, to));
      from = to;
    }
    joined += stream.end();
    if (joined !== output)
      return [`cut at ${cut.slice(0, 4).join(",")}: ${excerpt(joined)} instead of ${excerpt(output)}`];
  }
  return [];
}

function markerFaults(row: SecretRow, output: string): string[] {
  if (row.markers === undefined) return [];
  const markers = new Set(output.match(/\[redacted:[^\]]*\]/g) ?? []);
  return (row.markers === "equal") === (markers.size === 1) ? [] : [`markers not ${row.markers}: ${excerpt(output)}`];
}

/** A preview is cut from the redacted text: as many characters as would end inside the secret. */
function previewFaults(row: SecretRow, secrets: Record<string, Secret>, text: string, output: string): string[] {
  const { of, after } = row.truncate_inside ?? { of: "", after: 0 };
  const secret = secrets[of];
  if (!secret) return [];
  return leaks(of, secret, output.slice(0, text.indexOf(secret.shown) + after));
}

export function leaks(name: string, secret: Secret | undefined, output: string): string[] {
  if (!secret) return [`no placeholder ${name}`];
  const shown = secret.isEncoded ? [secret.shown.slice(Math.floor(secret.shown.length / 2))] : [];
  for (const body of [...secret.bodies, ...shown]) {
    const size = Math.min(WINDOW, body.length);
    for (let i = 0; i + size <= body.length; i++) {
      if (size > 0 && output.includes(body.slice(i, i + size))) return [`${name} leaks: ${excerpt(output)}`];
    }
  }
  return [];
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch (error) {
    if (error instanceof SyntaxError) return false;
    throw error;
  }
}

function excerpt(text: string): string {
  return JSON.stringify(text.length > 300 ? `${text.slice(0, 200)} ... ${text.slice(-90)}` : text);
}

/** Prints a JSON line for each mismatch, a summary by family, and `{ cases, failed }`; returns the exit code. */
export async function run(file: string): Promise<number> {
  const families = new Map<string, { cases: number; failed: number }>();
  let failed = 0;
  const rows = readRows(file);
  for (const row of rows) {
    const seeds = (row.max_ms ?? 0) > 0 ? SEEDS.slice(0, 2) : SEEDS;
    const wrong = seeds.flatMap((seed) => judge(row, seed).map((fault) => ({ seed, fault })));
    const family = families.get(row.family) ?? { cases: 0, failed: 0 };
    family.cases++;
    if (wrong.length > 0) {
      family.failed++;
      failed++;
      console.log(JSON.stringify({ id: row.id, family: row.family, seeds: wrong.length, ...wrong[0] }));
    }
    families.set(row.family, family);
  }
  for (const [family, counts] of [...families].sort()) console.log(JSON.stringify({ family, ...counts }));
  console.log(JSON.stringify({ cases: rows.length, failed }));
  return failed === 0 ? 0 : 1;
}

/**
 * The latch of the whole account and the epoch floor beside it.
 *
 * The floor is the highest epoch ever given out, and which latches stand: an older latch or record that comes back (from
 * a backup, or put there on purpose), or one that is missing, is told by it. Epoch and latch are written one after the
 * other, so after a crash between the two the higher number counts.
 */
import { failure, type Result } from "../core/result.ts";
import { type Actor, MOST_HISTORY, readActor } from "./record.ts";
import { isEpoch, isObject, parseStrict } from "./strict-json.ts";

export const LATCH_SCHEMA = 1;

export interface LatchEntry {
  at: string;
  state: string;
  epoch: number;
  reason?: string;
}

export interface Latch {
  schema: number;
  state: "clear" | "paused" | "stopped";
  epoch: number;
  how: "now" | "after-call";
  cause: string;
  requestId?: string;
  actor?: Actor;
  reason?: string;
  requestedAt?: string;
  resumedAt?: string;
  history: LatchEntry[];
  extra: Readonly<Record<string, unknown>>;
}

export interface Floor {
  schema: number;
  /** The highest epoch given out. */
  epoch: number;
  /** Epoch of the account latch's last pause or stop. */
  latch: number;
  /** Identities whose own latch stands, with its epoch. */
  standing: Readonly<Record<string, number>>;
  extra: Readonly<Record<string, unknown>>;
}

const LATCH_KEYS = new Set([
  "schema",
  "state",
  "epoch",
  "how",
  "cause",
  "requestId",
  "actor",
  "reason",
  "requestedAt",
  "resumedAt",
  "history",
]);
const FLOOR_KEYS = new Set(["schema", "epoch", "latch", "standing"]);

export function clearLatch(epoch = 0): Latch {
  return { schema: LATCH_SCHEMA, state: "clear", epoch, how: "now", cause: "start", history: [], extra: {} };
}

export function emptyFloor(): Floor {
  return { schema: LATCH_SCHEMA, epoch: 0, latch: 0, standing: {}, extra: {} };
}

/** Reasons: `damaged`, `newer-schema`. */
export function parseLatch(bytes: Uint8Array): Result<{ latch: Latch }> {
  const what = "The latch latch.json";
  const read = readVersioned(bytes, what);
  if (!read.ok) return read;
  const { value } = read;
  const { state, epoch, how, cause } = value;
  const isKnown = state === "clear" || state === "paused" || state === "stopped";
  if (!isKnown || !isEpoch(epoch) || (how !== "now" && how !== "after-call") || typeof cause !== "string") {
    return failure("damaged", `${what} is damaged. Stop again, then resume at a terminal.`);
  }
  const actor = readActor(value["actor"]);
  const latch: Latch = {
    schema: LATCH_SCHEMA,
    state,
    epoch,
    how,
    cause,
    ...(actor ? { actor } : {}),
    history: Array.isArray(value["history"]) ? value["history"].flatMap(readEntry).slice(-MOST_HISTORY) : [],
    extra: Object.fromEntries(Object.entries(value).filter(([key]) => !LATCH_KEYS.has(key))),
  };
  for (const key of ["requestId", "reason", "requestedAt", "resumedAt"] as const) {
    const text = value[key];
    if (typeof text === "string") latch[key] = text;
  }
  return { ok: true, latch };
}

/** Reasons: `damaged`, `newer-schema`. */
export function parseFloor(bytes: Uint8Array): Result<{ floor: Floor }> {
  const what = "The file epoch-floor";
  const read = readVersioned(bytes, what);
  if (!read.ok) return read;
  const { epoch, latch, standing } = read.value;
  if (!isEpoch(epoch) || !isEpoch(latch) || !isObject(standing) || !Object.values(standing).every(isEpoch)) {
    return failure("damaged", `${what} is damaged. Stop again, then resume at a terminal.`);
  }
  return {
    ok: true,
    floor: {
      schema: LATCH_SCHEMA,
      epoch,
      latch,
      standing: Object.fromEntries(Object.entries(standing).map(([name, value]) => [name, Number(value)])),
      extra: Object.fromEntries(Object.entries(read.value).filter(([key]) => !FLOOR_KEYS.has(key))),
    },
  };
}

export function serialize(file: Latch | Floor): string {
  const { extra, ...known } = file;
  return `${JSON.stringify({ ...extra, ...known }, null, 1)}\n`;
}

function readVersioned(bytes: Uint8Array, what: string): Result<{ value: Record<string, unknown> }> {
  const parsed = parseStrict(bytes, what);
  if (!parsed.ok) return parsed;
  if (!isObject(parsed.value)) return failure("damaged", `${what} is damaged (no object).`);
  const { schema } = parsed.value;
  if (typeof schema === "number" && schema > LATCH_SCHEMA) {
    return failure("newer-schema", `${what} was written by a newer version. Use that version.`);
  }
  if (schema !== LATCH_SCHEMA) return failure("damaged", `${what} is damaged (its schema).`);
  return { ok: true, value: parsed.value };
}

function readEntry(value: unknown): LatchEntry[] {
  if (!isObject(value)) return [];
  const { at, state, epoch, reason } = value;
  if (typeof at !== "string" || typeof state !== "string" || typeof epoch !== "number") return [];
  return [{ at, state, epoch, ...(typeof reason === "string" ? { reason } : {}) }];
}

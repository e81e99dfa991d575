/**
 * The record of one identity: what may run under it, who asked it to stop, what came of that. It is read back by
 * programs of other versions and after any crash, so it is checked in full, and fields that we don't know are kept.
 */
import type { ContainmentRecord, ProcessIdentity } from "../core/contracts/worker.ts";
import { failure, type Result } from "../core/result.ts";
import { isSessionId } from "../platform/process/index.ts";
import { type ControlState, isControlState } from "./states.ts";
import { isEpoch, isObject, parseStrict } from "./strict-json.ts";

export const RECORD_SCHEMA = 1;
/** Bounds of one record, so that it stays below 64 KiB. */
export const MOST_RESOURCES = 48;
export const MOST_HISTORY = 32;
const MOST_DETAIL = 240;

/** Who asked. Claimed by the caller, except `uid`, which is the one of the process that wrote the record. */
export interface Actor {
  uid: number;
  kind: "person" | "agent" | "supervisor" | "file";
  tty: boolean;
  host: string;
}

/** Something that must be gone before anyone may say "stopped". Registered before it runs. */
export type SavedResource =
  | { id: string; kind: "tree"; tree: ContainmentRecord; what: string }
  /** A process outside of a containment: it and its descendants. */
  | { id: string; kind: "process"; process: ProcessIdentity; what: string }
  /** Whatever Claude a person runs in this session after a takeover, in whatever terminal, with its descendants. */
  | { id: string; kind: "session"; session: string; what: string };

export interface Remaining {
  kind: string;
  id: string;
  /** Command or path for people. */
  identity: string;
}

export interface CleanupStep {
  resource: string;
  step: string;
  outcome: "done" | "failed" | "unknown";
  detail: string;
  at: string;
}

export interface ControllerInfo extends ProcessIdentity {
  instanceId: string;
  socket?: string;
  since: string;
}

export type EvidenceStatus = "none" | "pending" | "recorded" | "failed";

export interface HistoryEntry {
  at: string;
  state: string;
  cause: string;
  epoch: number;
  reason?: string;
}

export interface ControlRecord {
  schema: number;
  identity: string;
  taskId: string;
  cwd: string;
  state: ControlState;
  desired: "running" | "paused" | "stopped";
  cause: string;
  /** Fencing epoch of the last pause or stop that named this record. */
  epoch: number;
  how: "now" | "after-call";
  requestId?: string;
  actor?: Actor;
  reason?: string;
  requestedAt?: string;
  acknowledgedAt?: string;
  verifiedAt?: string;
  bootId: string;
  controller?: ControllerInfo;
  resources: SavedResource[];
  cleanup: CleanupStep[];
  remaining: Remaining[];
  evidenceStatus: EvidenceStatus;
  evidenceDetail?: string;
  /** The shared folder and the person that the run was begun under. */
  shared?: { folder: string; person: number };
  history: HistoryEntry[];
  /** What a newer version wrote. */
  extra: Readonly<Record<string, unknown>>;
}

const KNOWN = new Set([
  "schema",
  "identity",
  "taskId",
  "cwd",
  "state",
  "desired",
  "cause",
  "epoch",
  "how",
  "requestId",
  "actor",
  "reason",
  "requestedAt",
  "acknowledgedAt",
  "verifiedAt",
  "bootId",
  "controller",
  "resources",
  "cleanup",
  "remaining",
  "evidenceStatus",
  "evidenceDetail",
  "shared",
  "history",
]);

/** Reasons: `damaged`, `newer-schema`. */
export function parseRecord(bytes: Uint8Array, identity: string): Result<{ record: ControlRecord }> {
  const what = `The record of ${identity}`;
  const parsed = parseStrict(bytes, what);
  if (!parsed.ok) return parsed;
  const { value } = parsed;
  const damaged = (why: string) => failure("damaged", `${what} is damaged (${why}). Stop it again, then resume it.`);
  if (!isObject(value)) return damaged("no object");
  if (typeof value["schema"] === "number" && value["schema"] > RECORD_SCHEMA) {
    return failure("newer-schema", `${what} was written by a newer version. Use that version.`);
  }
  if (value["schema"] !== RECORD_SCHEMA) return damaged("its schema");
  if (value["identity"] !== identity) return damaged("it names another identity");
  const { state, desired, epoch, cause, how, evidenceStatus } = value;
  if (!isControlState(state)) return damaged("its state");
  if (desired !== "running" && desired !== "paused" && desired !== "stopped") return damaged("its desired state");
  if (!isEpoch(epoch)) return damaged("its epoch");
  if (how !== "now" && how !== "after-call") return damaged("its manner");
  if (!isEvidenceStatus(evidenceStatus)) return damaged("its evidence status");
  const { taskId, cwd, bootId } = value;
  if (
    typeof cause !== "string" ||
    typeof taskId !== "string" ||
    typeof cwd !== "string" ||
    typeof bootId !== "string"
  ) {
    return damaged("a text is missing");
  }
  const resources = listOf(value["resources"], readResource, MOST_RESOURCES);
  if (resources === undefined) return damaged("its resources");
  const remaining = listOf(value["remaining"], readRemaining, 4096);
  if (remaining === undefined) return damaged("what remains");
  const controller = value["controller"] === undefined ? undefined : readController(value["controller"]);
  if (controller === null) return damaged("its controller");
  const actor = readActor(value["actor"]);
  const shared = readShared(value["shared"]);
  return {
    ok: true,
    record: {
      schema: RECORD_SCHEMA,
      identity,
      taskId,
      cwd,
      state,
      desired,
      cause,
      epoch,
      how,
      bootId,
      ...optionalText(value, ["requestId", "reason", "requestedAt", "acknowledgedAt", "verifiedAt", "evidenceDetail"]),
      ...(actor ? { actor } : {}),
      ...(controller ? { controller } : {}),
      ...(shared ? { shared } : {}),
      resources,
      // These two are for people: an entry that we can't read is dropped rather than the stop with it.
      cleanup: listOf(value["cleanup"], readStep, 4096, "drop") ?? [],
      remaining,
      evidenceStatus,
      history: listOf(value["history"], readHistory, 4096, "drop") ?? [],
      extra: Object.fromEntries(Object.entries(value).filter(([key]) => !KNOWN.has(key))),
    },
  };
}

/** The file's text. Long lists and details are cut to their bounds here. */
export function serializeRecord(record: ControlRecord): string {
  const { extra, ...known } = record;
  return `${JSON.stringify(
    {
      ...extra,
      ...known,
      cleanup: record.cleanup.slice(-MOST_RESOURCES).map((step) => ({ ...step, detail: cut(step.detail) })),
      remaining: record.remaining
        .slice(0, 2 * MOST_RESOURCES)
        .map(({ kind, id, identity }) => ({ kind: cut(kind), id: cut(id), identity: cut(identity) })),
      history: record.history.slice(-MOST_HISTORY),
    },
    null,
    1,
  )}\n`;
}

/** A history with the record's present state added; the oldest entries fall off. */
export function historyWith(record: ControlRecord, at: string): HistoryEntry[] {
  const { state, cause, epoch, reason } = record;
  const entry = { at, state, cause, epoch, ...(reason === undefined ? {} : { reason: cut(reason) }) };
  return [...record.history, entry].slice(-MOST_HISTORY);
}

export function readActor(value: unknown): Actor | undefined {
  if (!isObject(value)) return undefined;
  const { uid, kind, tty, host } = value;
  if (typeof uid !== "number" || typeof tty !== "boolean" || typeof host !== "string") return undefined;
  if (kind !== "person" && kind !== "agent" && kind !== "supervisor" && kind !== "file") return undefined;
  return { uid, kind, tty, host };
}

function isEvidenceStatus(value: unknown): value is EvidenceStatus {
  return value === "none" || value === "pending" || value === "recorded" || value === "failed";
}

function readResource(value: unknown): SavedResource | undefined {
  if (!isObject(value)) return undefined;
  const { id, kind, what } = value;
  if (typeof id !== "string" || typeof what !== "string") return undefined;
  if (kind === "process") {
    const process = readProcess(value["process"]);
    return process && { id, kind, process, what };
  }
  if (kind === "session") {
    const { session } = value;
    return typeof session === "string" && isSessionId(session) ? { id, kind, session, what } : undefined;
  }
  const tree = kind === "tree" ? readTree(value["tree"]) : undefined;
  return tree && { id, kind: "tree", tree, what };
}

/** Only its shape; whether it may be signalled by is judged where signals are sent. */
function readTree(value: unknown): ContainmentRecord | undefined {
  if (!isObject(value)) return undefined;
  const { kind, marker, cgroup } = value;
  const leader = readProcess(value["leader"]);
  const guardian = value["guardian"] === undefined ? undefined : readProcess(value["guardian"]);
  if ((kind !== "cgroup" && kind !== "census") || typeof marker !== "string" || leader === undefined) return undefined;
  if (cgroup !== undefined && typeof cgroup !== "string") return undefined;
  return { kind, marker, leader, ...(cgroup === undefined ? {} : { cgroup }), ...(guardian ? { guardian } : {}) };
}

function readProcess(value: unknown): ProcessIdentity | undefined {
  if (!isObject(value)) return undefined;
  const { pid, startTicks, bootId } = value;
  if (typeof pid !== "number" || typeof startTicks !== "string" || typeof bootId !== "string") return undefined;
  return { pid, startTicks, bootId };
}

function readController(value: unknown): ControllerInfo | null {
  const process = readProcess(value);
  if (process === undefined || !isObject(value)) return null;
  const { instanceId, socket, since } = value;
  if (typeof instanceId !== "string" || typeof since !== "string") return null;
  if (socket !== undefined && typeof socket !== "string") return null;
  return { ...process, instanceId, since, ...(socket === undefined ? {} : { socket }) };
}

function readShared(value: unknown): ControlRecord["shared"] {
  if (!isObject(value)) return undefined;
  const { folder, person } = value;
  return typeof folder === "string" && typeof person === "number" ? { folder, person } : undefined;
}

function readRemaining(value: unknown): Remaining | undefined {
  if (!isObject(value)) return undefined;
  const { kind, id, identity } = value;
  if (typeof kind !== "string" || typeof id !== "string" || typeof identity !== "string") return undefined;
  return { kind, id, identity };
}

function readStep(value: unknown): CleanupStep | undefined {
  if (!isObject(value)) return undefined;
  const { resource, step, outcome, detail, at } = value;
  if (outcome !== "done" && outcome !== "failed" && outcome !== "unknown") return undefined;
  if (typeof resource !== "string" || typeof step !== "string") return undefined;
  if (typeof detail !== "string" || typeof at !== "string") return undefined;
  return { resource, step, outcome, detail, at };
}

function readHistory(value: unknown): HistoryEntry | undefined {
  if (!isObject(value)) return undefined;
  const { at, state, cause, epoch, reason } = value;
  if (typeof at !== "string" || typeof state !== "string" || typeof cause !== "string") return undefined;
  if (typeof epoch !== "number") return undefined;
  return { at, state, cause, epoch, ...(typeof reason === "string" ? { reason } : {}) };
}

function listOf<T>(
  value: unknown,
  read: (item: unknown) => T | undefined,
  most: number,
  bad: "fail" | "drop" = "fail",
): T[] | undefined {
  if (!Array.isArray(value) || value.length > most) return undefined;
  const items = value.map(read).filter((item): item is NonNullable<typeof item> => item !== undefined);
  return bad === "drop" || items.length === value.length ? items : undefined;
}

function optionalText<K extends string>(
  value: Record<string, unknown>,
  keys: readonly K[],
): Partial<Record<K, string>> {
  const found: Partial<Record<K, string>> = {};
  for (const key of keys) {
    const text = value[key];
    if (typeof text === "string") found[key] = text;
  }
  return found;
}

function cut(text: string): string {
  return text.length > MOST_DETAIL ? `${text.slice(0, MOST_DETAIL - 1)}…` : text;
}

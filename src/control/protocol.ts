/**
 * What goes over the socket: one line of JSON each way. The request is durable before anybody is told, so a message is
 * only a nudge to look; it carries the request too, for the case that a full disk kept it from being written. Who
 * speaks is claimed, never proven: Node has no call for peer credentials.
 */
import { failure, type Result } from "../core/result.ts";
import { checkReason } from "./reason.ts";
import { type Actor, readActor } from "./record.ts";
import { isEpoch, isObject, parseStrict } from "./strict-json.ts";

export const PROTOCOL_SCHEMA = 1;
/** Longest line in either direction, bytes. */
export const MOST_LINE = 4096;

export interface Nudge {
  schema: typeof PROTOCOL_SCHEMA;
  requestId: string;
  /** An identity of the controller, or `--all`. */
  scope: string;
  verb: "stop" | "pause" | "status";
  epoch: number;
  how: "now" | "after-call";
  cause: string;
  reason: string;
  requestedAt: string;
  actor: Actor;
}

export interface NudgeReply {
  ok: boolean;
  requestId: string;
  /** Of a refusal. */
  reason?: string;
  /** Identities that latched and sent their abort. */
  acknowledged?: string[];
  /** `status`: what the controller holds. */
  identities?: string[];
}

const KEYS = "actor,cause,epoch,how,reason,requestId,requestedAt,schema,scope,verb";

/** Exactly these fields, each of its kind. Reason `bad-request`. */
export function parseNudge(line: Uint8Array): Result<{ nudge: Nudge }> {
  const bad = (why: string) => failure("bad-request", `The request was refused: ${why}.`);
  if (line.length > MOST_LINE) return bad("it is too long");
  const parsed = parseStrict(line, "The request");
  if (!parsed.ok) return bad("it is no clean JSON");
  const { value } = parsed;
  if (!isObject(value) || Object.keys(value).sort().join() !== KEYS) return bad("its fields");
  const { schema, requestId, scope, verb, epoch, how, cause, reason, requestedAt } = value;
  const actor = readActor(value["actor"]);
  if (schema !== PROTOCOL_SCHEMA) return bad("its schema");
  if (typeof requestId !== "string" || !/^[\w-]{8,64}$/.test(requestId)) return bad("its id");
  if (verb !== "stop" && verb !== "pause" && verb !== "status") return bad("its verb");
  if (how !== "now" && how !== "after-call") return bad("its manner");
  if (typeof scope !== "string" || typeof cause !== "string" || !/^[a-z-]{1,32}$/.test(cause)) return bad("its scope");
  if (!isEpoch(epoch) || actor === undefined || typeof requestedAt !== "string" || requestedAt.length > 40) {
    return bad("a field");
  }
  const checked = checkReason(typeof reason === "string" ? reason : undefined);
  if (!checked.ok) return bad("its reason");
  return {
    ok: true,
    nudge: { schema, requestId, scope, verb, epoch, how, cause, reason: checked.text, requestedAt, actor },
  };
}

export function parseReply(line: Uint8Array, requestId: string): Result<{ reply: NudgeReply }> {
  const parsed = line.length > MOST_LINE ? undefined : parseStrict(line, "The reply");
  const value = parsed?.ok === true ? parsed.value : undefined;
  if (!isObject(value) || typeof value["ok"] !== "boolean" || value["requestId"] !== requestId) {
    return failure("bad-reply", "The controller answered something else. Its processes are ended from outside.");
  }
  const { ok, reason, acknowledged, identities } = value;
  return {
    ok: true,
    reply: {
      ok,
      requestId,
      ...(typeof reason === "string" ? { reason } : {}),
      ...(isTexts(acknowledged) ? { acknowledged } : {}),
      ...(isTexts(identities) ? { identities } : {}),
    },
  };
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === "string");
}

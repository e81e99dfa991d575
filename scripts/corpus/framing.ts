/**
 * Runs a framing corpus through the real reader, control channel and message mapper: each case with its own read sizes
 * and with 1, 7, 4096 and 65536 bytes a read. Prints one JSON line a mismatch and `{ cases, failed }` at the end.
 */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import type { WorkerEvent } from "../../src/core/contracts/worker.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { ClaudeStream } from "../../src/worker/claude-jsonl/claude-stream.ts";
import { RESULT_FIELDS } from "../../src/worker/claude-jsonl/result-message.ts";
import type { FrameError, WireMessage } from "../../src/worker/framing/frame-reader.ts";

const READ_SIZES = [1, 7, 4096, 65536];

interface WantedMessage {
  type: string;
  subtype?: string;
  at?: Record<string, unknown>;
  length_at?: Record<string, number>;
  sha256_at?: Record<string, string>;
  unknown?: true;
}

interface Want {
  messages?: WantedMessage[];
  count?: number;
  noise?: number;
  errors?: string[];
  artifact?: boolean;
  max_buffer_bytes?: number;
  no_result?: boolean;
  absent?: string[];
  unpolluted?: string[];
  duplicates?: number;
  replays?: number;
  replies?: { request_id: unknown; kind: string[] }[];
  run_continues?: boolean;
}

interface Case {
  id: string;
  text?: string;
  bytes_base64?: string;
  gen?: ({ text: string } | { repeat: string; count: number })[];
  chunks?: number[];
  want?: Want;
  any_of?: Want[];
}

interface Reply {
  request_id: unknown;
  kind: string;
}

interface Outcome {
  messages: { value: WireMessage; events: WorkerEvent[] }[];
  noise: number;
  errors: string[];
  brokenLines: FrameError[];
  peakHeldBytes: number;
  events: WorkerEvent[];
  duplicates: number;
  replays: number;
  /** What the adapter wrote by itself. */
  replies: Reply[];
  /** The same, and the supervisor's deny to what was still open at the end. */
  allReplies: Reply[];
}

interface Mismatch {
  field: string;
  want: unknown;
  got: unknown;
}

export async function run(file: string): Promise<number> {
  const rows = readFileSync(file, "utf8")
    .split("\n")
    .filter((line) => line.trim() !== "")
    .map((line) => JSON.parse(line) as Case);
  let failed = 0;
  for (const row of rows) {
    const bytes = bytesOf(row);
    const own = row.chunks === undefined || row.chunks.length === 0 ? [Math.max(1, bytes.length)] : row.chunks;
    let good = true;
    for (const sizes of [own, ...READ_SIZES.map((size) => [size])]) {
      const outcome = await read(bytes, sizes);
      const wants = row.any_of ?? (row.want === undefined ? [] : [row.want]);
      const mismatches = wants.map((want) => compare(want, outcome, bytes));
      if (mismatches.some((list) => list.length === 0)) continue;
      good = false;
      const shown = mismatches[0] ?? [{ field: "want", want: "a want", got: "none" }];
      console.log(JSON.stringify({ id: row.id, chunks: sizes.slice(0, 10), mismatches: shown }));
    }
    if (!good) failed++;
  }
  console.log(JSON.stringify({ cases: rows.length, failed }));
  return failed === 0 ? 0 : 1;
}

function bytesOf(row: Case): Buffer {
  if (row.bytes_base64 !== undefined) return Buffer.from(row.bytes_base64, "base64");
  if (row.text !== undefined) return Buffer.from(row.text, "utf8");
  const pieces = (row.gen ?? []).map((piece) =>
    "text" in piece
      ? Buffer.from(piece.text)
      : Buffer.alloc(Buffer.byteLength(piece.repeat) * piece.count, piece.repeat),
  );
  return Buffer.concat(pieces);
}

async function read(bytes: Buffer, sizes: readonly number[]): Promise<Outcome> {
  const outcome: Outcome = {
    messages: [],
    noise: 0,
    errors: [],
    brokenLines: [],
    peakHeldBytes: 0,
    events: [],
    duplicates: 0,
    replays: 0,
    replies: [],
    allReplies: [],
  };
  const open: string[] = [];
  let replies = outcome.replies;
  let since = 0;
  const stream = new ClaudeStream({
    clock: systemClock,
    write: async (message) => {
      replies.push(replyOf(message));
      return { ok: true };
    },
    publish(event) {
      outcome.events.push(event);
      if (event.type === "hook" || event.type === "ask") open.push(event.callId);
      if (event.type === "protocol-error" && event.code === "bad-control") outcome.errors.push(event.code);
      return true;
    },
    frameError(error) {
      outcome.errors.push(error.code);
      outcome.brokenLines.push(error);
    },
    observe(value, mapped) {
      if (mapped === "duplicate") outcome.duplicates++;
      if (mapped === "replay") outcome.replays++;
      outcome.messages.push({ value, events: outcome.events.slice(since) });
      since = outcome.events.length;
    },
  });
  feed(stream, bytes, sizes);
  stream.end();
  outcome.noise = stream.reader.noise;
  outcome.peakHeldBytes = stream.reader.peakHeldBytes;
  replies = [];
  for (const callId of open) await stream.control.reply(callId, { decision: "deny", reason: "corpus" });
  outcome.allReplies = [...outcome.replies, ...replies];
  return outcome;
}

/** One buffer serves all small reads: a reader that kept a reference to its input would be caught here. */
function feed(stream: ClaudeStream, bytes: Buffer, sizes: readonly number[]): void {
  const small = Buffer.alloc(Math.max(...sizes.filter((size) => size <= 4096), 1));
  for (let at = 0, turn = 0; at < bytes.length && !stream.reader.stopped; turn++) {
    const size = Math.max(1, sizes[turn % sizes.length] ?? 1);
    const end = Math.min(at + size, bytes.length);
    if (size > small.length) stream.push(bytes.subarray(at, end));
    else {
      bytes.copy(small, 0, at, end);
      stream.push(end - at === small.length ? small : small.subarray(0, end - at));
    }
    at = end;
  }
}

function replyOf(message: object): Reply {
  const { response } = message as { response: { request_id: unknown; subtype: string; response?: unknown } };
  if (response.subtype === "error") return { request_id: response.request_id, kind: "error" };
  const body = response.response as { behavior?: string; hookSpecificOutput?: { permissionDecision?: string } };
  const kind = body.behavior ?? body.hookSpecificOutput?.permissionDecision ?? "none";
  return { request_id: response.request_id, kind };
}

function compare(want: Want, got: Outcome, bytes: Buffer): Mismatch[] {
  const checks: Record<keyof Want, () => Mismatch[]> = {
    messages: () => compareMessages(want.messages ?? [], got),
    count: () => same("count", want.count, got.messages.length),
    noise: () => same("noise", want.noise, got.noise),
    errors: () => same("errors", want.errors, got.errors),
    artifact: () => same("artifact", want.artifact, hasWholeLines(got, bytes)),
    max_buffer_bytes: () =>
      got.peakHeldBytes <= (want.max_buffer_bytes ?? 0)
        ? []
        : same("max_buffer_bytes", want.max_buffer_bytes, got.peakHeldBytes),
    no_result: () => same("no_result", want.no_result, !hasResult(got)),
    absent: () =>
      (want.absent ?? []).flatMap((pointer) => same(`absent ${pointer}`, undefined, reportedAt(got, pointer))),
    unpolluted: () =>
      (want.unpolluted ?? []).flatMap((name) =>
        same(`unpolluted ${name}`, undefined, ({} as Record<string, unknown>)[name]),
      ),
    duplicates: () => same("duplicates", want.duplicates, got.duplicates),
    replays: () => same("replays", want.replays, got.replays),
    replies: () => compareReplies(want.replies ?? [], got),
    run_continues: () => same("run_continues", want.run_continues, runContinues(got)),
  };
  return Object.keys(want).flatMap((field) => {
    const check = checks[field as keyof Want];
    return check === undefined ? [{ field, want: "a field that this program knows", got: "unknown" }] : check();
  });
}

function compareMessages(wanted: WantedMessage[], got: Outcome): Mismatch[] {
  const kinds = got.messages.map(({ value }) => [value.type, value.subtype]);
  if (wanted.length !== kinds.length) return [{ field: "messages", want: wanted.map((m) => m.type), got: kinds }];
  return wanted.flatMap((want, index) => {
    const message = got.messages[index];
    if (message === undefined) return [];
    const { value, events } = message;
    const field = `messages/${index}`;
    return [
      ...same(`${field}/type`, want.type, value.type),
      ...(want.subtype === undefined ? [] : same(`${field}/subtype`, want.subtype, value.subtype)),
      ...same(
        `${field}/unknown`,
        want.unknown === true,
        events.some((event) => event.type === "unknown"),
      ),
      ...Object.entries(want.at ?? {}).flatMap(([pointer, exact]) =>
        same(`${field}${pointer}`, exact, at(value, pointer)),
      ),
      ...Object.entries(want.length_at ?? {}).flatMap(([pointer, length]) =>
        same(`${field}${pointer} length`, length, textAt(value, pointer)?.length),
      ),
      ...Object.entries(want.sha256_at ?? {}).flatMap(([pointer, hash]) =>
        same(`${field}${pointer} sha256`, hash, sha256(textAt(value, pointer))),
      ),
    ];
  });
}

/** What waits at the end is the supervisor's to answer, not the adapter's: a case may count that answer or leave it out. */
function compareReplies(wanted: { request_id: unknown; kind: string[] }[], got: Outcome): Mismatch[] {
  const matches = (replies: Reply[]): boolean =>
    replies.length === wanted.length &&
    wanted.every((want, index) => {
      const reply = replies[index];
      return reply !== undefined && reply.request_id === want.request_id && want.kind.includes(reply.kind);
    });
  return matches(got.replies) || matches(got.allReplies)
    ? []
    : [{ field: "replies", want: wanted, got: got.allReplies }];
}

/** Each broken line was kept as it stands in the input, its line end and a byte order mark apart. */
function hasWholeLines(got: Outcome, bytes: Buffer): boolean {
  const lines = splitLines(bytes);
  return got.brokenLines.length > 0 && got.brokenLines.every(({ line }) => lines.some((whole) => whole.equals(line)));
}

function splitLines(bytes: Buffer): Buffer[] {
  const lines: Buffer[] = [];
  for (let from = bytes.indexOf("\ufeff") === 0 ? 3 : 0; from <= bytes.length; ) {
    const end = bytes.indexOf(0x0a, from);
    const line = bytes.subarray(from, end < 0 ? bytes.length : end);
    lines.push(line.at(-1) === 0x0d ? line.subarray(0, -1) : line);
    if (end < 0) break;
    from = end + 1;
  }
  return lines;
}

function hasResult(got: Outcome): boolean {
  return (
    got.messages.some(({ value }) => value.type === "result") || got.events.some((event) => event.type === "result")
  );
}

/** The value that the worker's events report for a place in the message; what no event uses is not reported. */
function reportedAt(got: Outcome, pointer: string): unknown {
  for (const event of got.events) {
    if (event.type === "result" && RESULT_FIELDS[pointer] !== undefined) return RESULT_FIELDS[pointer](event);
    if (event.type === "rate-limit" && pointer === "/rate_limit_info/resetsAt") return event.resetsAt;
    if (event.type === "retry") {
      if (pointer === "/retry_delay_ms") return event.delayMs;
      if (pointer === "/max_retries") return event.maxRetries;
      if (pointer === "/error_status") return event.status;
    }
  }
  return undefined;
}

/** Nothing in the stream ends a turn, a session or the worker. */
function runContinues(got: Outcome): boolean {
  return !got.events.some(
    (event) =>
      event.type === "result" ||
      event.type === "exited" ||
      event.type === "conversation-reset" ||
      (event.type === "rate-limit" && event.status === "rejected") ||
      (event.type === "protocol-error" && event.fatal),
  );
}

function at(value: unknown, pointer: string): unknown {
  let here = value;
  for (const step of pointer.split("/").slice(1)) {
    const key = step.replaceAll("~1", "/").replaceAll("~0", "~");
    if (typeof here !== "object" || here === null || !Object.hasOwn(here, key)) return undefined;
    here = (here as Record<string, unknown>)[key];
  }
  return here;
}

function textAt(value: unknown, pointer: string): string | undefined {
  const found = at(value, pointer);
  return typeof found === "string" ? found : undefined;
}

function sha256(text: string | undefined): string | undefined {
  return text === undefined ? undefined : createHash("sha256").update(text, "utf8").digest("hex");
}

function same(field: string, want: unknown, got: unknown): Mismatch[] {
  return isDeepStrictEqual(want, got) ? [] : [{ field, want, got }];
}

/** What the scripted model answers: data, made by the small constructors below. */

export type ReplyBlock =
  /** `pieces` are streamed as one delta each, so that a test can cut a text (or a secret) wherever it likes. */
  | { type: "text"; pieces: readonly string[] }
  /** `id` is made by the server when absent, unique in its lifetime. */
  | { type: "tool_use"; name: string; input: Readonly<Record<string, unknown>>; id?: string };

export interface MessageReply {
  kind: "message";
  blocks: readonly ReplyBlock[];
  /** Default: `tool_use` when there is such a block, else `end_turn`. */
  stopReason?: string;
  /** Token counts of the reply. Default 10 in, 5 out. */
  usage?: { inputTokens: number; outputTokens: number };
  headers?: Readonly<Record<string, string>>;
}

export type Reply =
  | MessageReply
  | { kind: "error"; status: number; errorType: string; message: string; headers: Readonly<Record<string, string>> }
  /** The TCP connection is reset before one byte of an answer. */
  | { kind: "reset" }
  /** The stream begins and its connection is reset after `events` server-sent events. */
  | { kind: "cut"; message: MessageReply; events: number }
  /** The answer comes once `until` has settled; a client that leaves earlier gets nothing. */
  | { kind: "held"; until: Promise<unknown>; reply: Reply };

export interface ToolUse {
  name: string;
  input: Readonly<Record<string, unknown>>;
  id?: string;
}

/** A turn's last words. Several pieces arrive as several deltas. */
export function text(...pieces: string[]): MessageReply {
  return { kind: "message", blocks: [{ type: "text", pieces }] };
}

/** One tool call, with a sentence before it when `say` is given. */
export function toolUse(
  name: string,
  input: ToolUse["input"],
  options: { id?: string; say?: string } = {},
): MessageReply {
  const call: ReplyBlock = { type: "tool_use", name, input, ...(options.id === undefined ? {} : { id: options.id }) };
  const said: ReplyBlock[] = options.say === undefined ? [] : [{ type: "text", pieces: [options.say] }];
  return { kind: "message", blocks: [...said, call] };
}

/** Several tool calls in one assistant message: Claude runs them in parallel where it can. */
export function toolUses(...calls: ToolUse[]): MessageReply {
  return { kind: "message", blocks: calls.map((call) => ({ type: "tool_use", ...call })) };
}

/** A Bash call of Claude. */
export function bash(command: string, options: { id?: string; say?: string } = {}): MessageReply {
  return toolUse("Bash", { command, description: "scripted" }, options);
}

const ERROR_TYPES: Readonly<Record<number, string>> = {
  400: "invalid_request_error",
  401: "authentication_error",
  403: "permission_error",
  404: "not_found_error",
  429: "rate_limit_error",
  500: "api_error",
  529: "overloaded_error",
};

/** An API failure. `retryAfter` (seconds) sets the header of that name. */
export function apiError(
  status: number,
  options: { message?: string; retryAfter?: number; headers?: Readonly<Record<string, string>> } = {},
): Reply {
  return {
    kind: "error",
    status,
    errorType: ERROR_TYPES[status] ?? "api_error",
    message: options.message ?? `scripted ${status}`,
    headers: {
      ...(options.retryAfter === undefined ? {} : { "retry-after": String(options.retryAfter) }),
      ...options.headers,
    },
  };
}

/** A connection reset instead of an answer. */
export function reset(): Reply {
  return { kind: "reset" };
}

/** A stream that breaks off after `events` events (message_start is the first). */
export function cut(message: MessageReply, events: number): Reply {
  return { kind: "cut", message, events };
}

/** `reply`, once `until` has settled (see `gate()` in until.ts). */
export function held(until: Promise<unknown>, reply: Reply): Reply {
  return { kind: "held", until, reply };
}

/** A model that never answers; the server's `close()` ends it. */
export function hang(): Reply {
  return { kind: "held", until: new Promise(() => undefined), reply: reset() };
}

/**
 * Protocol messages to worker events. Tolerant by design: an unknown type, subtype or field is normal, a missing one is
 * "not reported". Control messages are not its business (see control-channel.ts).
 */
import type { WorkerEvent } from "../../core/contracts/worker.ts";
import type { WireMessage } from "../framing/frame-reader.ts";
import { countOf, type Fields, fieldsOf, isFields, reported, textOf } from "./fields.ts";
import { resultEvent } from "./result-message.ts";
import { SeenMessages } from "./seen-messages.ts";
import { systemEvent } from "./system-message.ts";
import { toolResultEvent } from "./tool-result.ts";

/** `duplicate`: this uuid was here before. `replay`: the echo of something that was said before. Neither is acted on. */
export type Mapped = "mapped" | "duplicate" | "replay";

/** Known types without anything to act on. */
const QUIET = new Set([
  "attachment",
  "auth_status",
  "keep_alive",
  "prompt_suggestion",
  "stream_event",
  "tool_progress",
  "tool_use_summary",
]);

export class MessageMapper {
  readonly #emit: (event: WorkerEvent) => void;
  readonly #seen = new SeenMessages();
  /** The last API failure that an assistant message named, until its turn's `result`. */
  #apiError: string | undefined;

  constructor(emit: (event: WorkerEvent) => void) {
    this.#emit = emit;
  }

  map(message: WireMessage): Mapped {
    if (message.isReplay === true) return "replay";
    if (typeof message.uuid === "string" && !this.#seen.add(message.uuid)) return "duplicate";
    switch (message.type) {
      case "assistant":
        this.#assistant(message);
        break;
      case "user":
        this.#user(message);
        break;
      case "result":
        this.#emit(resultEvent(message, this.#apiError));
        this.#apiError = undefined;
        break;
      case "system": {
        const event = systemEvent(message);
        if (event !== undefined) this.#emit(event);
        break;
      }
      case "command_lifecycle":
        this.#lifecycle(message);
        break;
      case "rate_limit_event":
        this.#emit(rateLimitEvent(message));
        break;
      case "conversation_reset":
        this.#emit({ type: "conversation-reset", ...reported("sessionId", textOf(message.new_conversation_id)) });
        break;
      default:
        if (!QUIET.has(message.type)) this.#unknown(message);
    }
    return "mapped";
  }

  #assistant(message: Fields): void {
    this.#apiError = textOf(message.error) ?? this.#apiError;
    const parent = reported("parentToolUseId", textOf(message.parent_tool_use_id));
    for (const block of blocksOf(message)) {
      if (block.type === "text") {
        const text = textOf(block.text);
        if (text !== undefined) this.#emit({ type: "text", text, ...parent });
      } else if (block.type === "tool_use") {
        const toolUseId = textOf(block.id);
        if (toolUseId === undefined) continue;
        this.#emit({ type: "tool-use", toolUseId, toolName: textOf(block.name) ?? "unknown", ...parent });
      }
    }
  }

  #user(message: Fields): void {
    for (const block of blocksOf(message)) {
      if (block.type !== "tool_result") continue;
      const event = toolResultEvent(block, message);
      if (event !== undefined) this.#emit(event);
    }
  }

  /** Acknowledgements of prompts by their uuid; `cancelled` (named in the SDK types) is a prompt that was dropped. */
  #lifecycle(message: Fields): void {
    const promptId = textOf(message.command_uuid);
    const state = message.state === "cancelled" ? "discarded" : message.state;
    if (promptId !== undefined && isAckState(state)) this.#emit({ type: "prompt-ack", promptId, state });
    else this.#unknown(message);
  }

  #unknown(message: Fields): void {
    const messageType = textOf(message.type) ?? "";
    this.#emit({ type: "unknown", messageType, ...reported("subtype", textOf(message.subtype)) });
  }
}

/** A notice in a healthy session says `allowed` and is no failure. */
function rateLimitEvent(message: Fields): WorkerEvent {
  const info = fieldsOf(message.rate_limit_info);
  const status = info.status === "rejected" ? "rejected" : info.status === "allowed_warning" ? "warning" : "allowed";
  return { type: "rate-limit", status, ...reported("resetsAt", isoOf(info.resetsAt)) };
}

/** `resetsAt` is in seconds since 1970. */
function isoOf(seconds: unknown): string | undefined {
  const count = countOf(seconds);
  if (count === undefined || count > 253_402_300_799) return undefined;
  return new Date(count * 1000).toISOString();
}

type AckState = Extract<WorkerEvent, { type: "prompt-ack" }>["state"];

function isAckState(state: unknown): state is AckState {
  return state === "queued" || state === "started" || state === "completed" || state === "discarded";
}

function blocksOf(message: Fields): Fields[] {
  const content = fieldsOf(message.message).content;
  return Array.isArray(content) ? content.filter(isFields) : [];
}

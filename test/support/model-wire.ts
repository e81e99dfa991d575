/** A scripted reply as Anthropic's Messages API writes it: a stream of server-sent events, or one JSON message. */
import type { MessageReply, ReplyBlock } from "./model-reply.ts";

/** Counters for the ids of one server. */
export interface WireIds {
  message: number;
  toolUse: number;
}

export function serverSentEvents(reply: MessageReply, model: string, ids: WireIds): string[] {
  const usage = reply.usage ?? { inputTokens: 10, outputTokens: 5 };
  const events = [
    event("message_start", {
      message: {
        id: `msg_scripted_${++ids.message}`,
        type: "message",
        role: "assistant",
        model,
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage: { input_tokens: usage.inputTokens, output_tokens: 1 },
      },
    }),
  ];
  reply.blocks.forEach((block, index) => {
    if (block.type === "text") {
      events.push(event("content_block_start", { index, content_block: { type: "text", text: "" } }));
      for (const piece of block.pieces) {
        events.push(event("content_block_delta", { index, delta: { type: "text_delta", text: piece } }));
      }
    } else {
      const content_block = { type: "tool_use", id: toolUseId(block, ids), name: block.name, input: {} };
      const delta = { type: "input_json_delta", partial_json: JSON.stringify(block.input) };
      events.push(event("content_block_start", { index, content_block }));
      events.push(event("content_block_delta", { index, delta }));
    }
    events.push(event("content_block_stop", { index }));
  });
  events.push(
    event("message_delta", {
      delta: { stop_reason: stopReason(reply), stop_sequence: null },
      usage: { output_tokens: usage.outputTokens },
    }),
    event("message_stop", {}),
  );
  return events;
}

export function messageJson(reply: MessageReply, model: string, ids: WireIds): object {
  const usage = reply.usage ?? { inputTokens: 10, outputTokens: 5 };
  return {
    id: `msg_scripted_${++ids.message}`,
    type: "message",
    role: "assistant",
    model,
    content: reply.blocks.map((block) =>
      block.type === "text"
        ? { type: "text", text: block.pieces.join("") }
        : { type: "tool_use", id: toolUseId(block, ids), name: block.name, input: block.input },
    ),
    stop_reason: stopReason(reply),
    stop_sequence: null,
    usage: { input_tokens: usage.inputTokens, output_tokens: usage.outputTokens },
  };
}

function stopReason(reply: MessageReply): string {
  return reply.stopReason ?? (reply.blocks.some((block) => block.type === "tool_use") ? "tool_use" : "end_turn");
}

function toolUseId(block: Extract<ReplyBlock, { type: "tool_use" }>, ids: WireIds): string {
  return block.id ?? `toolu_scripted_${++ids.toolUse}`;
}

function event(type: string, data: object): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`;
}

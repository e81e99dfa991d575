/** `tool_result` blocks of `user` messages. */
import type { WorkerEvent } from "../../core/contracts/worker.ts";
import { type Fields, fieldsOf, textOf } from "./fields.ts";

type ToolResultEvent = Extract<WorkerEvent, { type: "tool-result" }>;

/**
 * Texts that Claude Code 2.1.268 puts in place of a result when a call was cut off: by an interrupt or a signal while it
 * waited, by a stop before its turn, by the end of the process (then seen at the next resume).
 */
const ABORT_TEXTS = [
  "The user doesn't want to proceed with this tool use.",
  "The user doesn't want to take this action right now.",
  "[Request interrupted by user",
  "[Tool use interrupted",
  "Tool permission request failed: AbortError",
];

export function toolResultEvent(block: Fields, message: Fields): ToolResultEvent | undefined {
  const toolUseId = textOf(block.tool_use_id);
  if (toolUseId === undefined) return undefined;
  const text = plainText(block.content);
  const isError = block.is_error === true;
  return {
    type: "tool-result",
    toolUseId,
    isError,
    wrapped: isError && text.startsWith("<tool_use_error>"),
    aborted: isError && (kindOf(message, toolUseId) === "user-rejected" || startsLikeAbort(text)),
    text,
  };
}

/** Why the call did not run: 2.1.268 says `user-rejected` after an interrupt, `permission-rule` after a deny. */
function kindOf(message: Fields, toolUseId: string): string | undefined {
  if (!Array.isArray(message.tool_result_meta)) return undefined;
  const meta = message.tool_result_meta.map(fieldsOf).find((entry) => entry.id === toolUseId);
  return textOf(meta?.non_execution_kind);
}

function startsLikeAbort(text: string): boolean {
  return ABORT_TEXTS.some((start) => text.startsWith(start));
}

/** Content is a string or a list of blocks; images and the like have no text. */
function plainText(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content
    .map((block) => textOf(fieldsOf(block).text))
    .filter((text) => text !== undefined)
    .join("\n");
}

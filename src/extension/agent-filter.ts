/**
 * Pi's own agent may not lift the emergency stop, set up who may set one, or write where it lives. A filter of mistakes:
 * what wants around it gets around it (docs/emergency-stop.md). Loaded at the first call that could do such a thing.
 */
import type { ExtensionContext, ToolCallEvent, ToolCallEventResult } from "@mariozechner/pi-coding-agent";
import { lazy } from "./lazy.ts";

/** Tools of Pi that only look (0.73.1, 1.6.0): nothing is loaded for them. */
const READING = new Set(["read", "grep", "find", "ls"]);

/** For Pi's `tool_call` event. Fails closed: a filter that can't be asked lets nothing through. */
export async function filterToolCall(
  event: Pick<ToolCallEvent, "toolName" | "input">,
  ctx: Pick<ExtensionContext, "cwd">,
): Promise<ToolCallEventResult | undefined> {
  if (READING.has(event.toolName)) return undefined;
  try {
    const { guardedPlaces, guardToolCall } = await lazy.toolGuard();
    const verdict = guardToolCall(
      { toolName: event.toolName, input: event.input },
      guardedPlaces(process.env, ctx.cwd),
    );
    return verdict.block ? { block: true, reason: verdict.reason } : undefined;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return { block: true, reason: `The filter that keeps agents from the emergency stop could not be asked: ${why}` };
  }
}

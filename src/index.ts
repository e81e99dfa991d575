/**
 * pi-claude-supervisor, the Pi extension: what it adds to Pi, and nothing else. Loading it starts no process, timer,
 * socket or watcher; what a command needs is loaded when the command runs (see extension/lazy.ts).
 */
import type { ExtensionAPI } from "@mariozechner/pi-coding-agent";
import { filterToolCall } from "./extension/agent-filter.ts";
import { registerSupervise } from "./extension/command.ts";
import { bindSession, type Instance, leaveSession, noteTranscript } from "./extension/session-binding.ts";
import { registerDashboard } from "./extension/shortcut.ts";
import { registerTools } from "./extension/tools.ts";
import { openTranscript } from "./extension/transcript.ts";

export default function superviseClaude(pi: ExtensionAPI): void {
  const instance: Instance = { startedAt: Date.now(), transcript: openTranscript(pi) };
  registerSupervise(pi, instance);
  registerTools(pi);
  registerDashboard(pi, instance);
  pi.on("session_start", (_event, ctx) => bindSession(instance, ctx));
  pi.on("tool_call", (event, ctx) => filterToolCall(event, ctx));
  pi.on("message_start", () => noteTranscript(instance));
  pi.on("session_shutdown", (event) => leaveSession(instance, event.reason));
}

/**
 * The only runtime import of Pi. Pi 1.6.0 maps this old name to its own copy (its docs/extensions.md promises that), so
 * one import serves both lines. What only one line has is looked up in `host`, never imported by name: a missing name is
 * `undefined` under Pi's jiti and a SyntaxError elsewhere.
 */
import * as host from "@mariozechner/pi-coding-agent";
import { truncateToWidth } from "@mariozechner/pi-tui";

/** Version of the Pi that runs us, or null when it does not say. */
export function piVersion(): string | null {
  return "VERSION" in host && typeof host.VERSION === "string" ? host.VERSION : null;
}

/** Pi's own folder (settings, sessions, logins), or null when Pi does not say. */
export function piAgentDir(): string | null {
  return "getAgentDir" in host && typeof host.getAgentDir === "function" ? host.getAgentDir() : null;
}

/** Cuts a text with colours to that many columns. Pi's screen ends with an error on a line that is too wide. */
export function fitColumns(text: string, columns: number): string {
  return truncateToWidth(text, columns);
}

/** What a session of our own inside Pi needs. Both lines have all of it. */
export const piSessions = {
  createAgentSession: host.createAgentSession,
  DefaultResourceLoader: host.DefaultResourceLoader,
  SessionManager: host.SessionManager,
  SettingsManager: host.SettingsManager,
  getAgentDir: host.getAgentDir,
} as const;

/** Pi's models and logins as a runtime of their own (0.80.8 and later), or null on the older line. */
export function modelRuntimeClass(): unknown {
  return "ModelRuntime" in host ? host.ModelRuntime : null;
}

/** The one slash command. What it does is loaded when it is used. */
import type { ExtensionAPI } from "@mariozechner/pi-coding-agent";
import { lazy } from "./lazy.ts";
import { deliver, type Instance, portFor } from "./session-binding.ts";

export function registerSupervise(pi: ExtensionAPI, instance: Instance): void {
  pi.registerCommand("supervise", {
    description: "Supervise a Claude Code worker: start, status, approve, verify, stop; help shows all",
    getArgumentCompletions: async (prefix) => {
      try {
        return (await lazy.completions()).complete(prefix);
      } catch {
        return null; // a keystroke must not fail; the command itself says what is wrong
      }
    },
    handler: async (args, ctx) => {
      const { cwd } = ctx;
      const port = portFor(instance, ctx);
      try {
        await (await lazy.run()).runCommand(args, cwd, port);
      } catch (error) {
        deliver(
          port,
          `/supervise could not be run: ${error instanceof Error ? error.message : String(error)}`,
          "error",
        );
      }
    },
  });
}

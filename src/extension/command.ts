/** The one slash command. What it does is loaded when it is used. */
import type { ExtensionAPI } from "@mariozechner/pi-coding-agent";
import { lazy } from "./lazy.ts";
import { type PiPort, type Place, placeOf } from "./pi-port.ts";
import { deliver, type Instance, noteModels, portFor } from "./session-binding.ts";

/**
 * Milliseconds that a command may hold the TUI. While a handler runs, the TUI of Pi 0.73.1 drops what is typed and that
 * of 1.6.0 keeps it waiting: a long verification would make `/supervise stop` impossible. What takes longer goes on, and
 * its answer is shown when it is there. In RPC mode commands run side by side; print and JSON mode end with the handler.
 */
const TUI_HOLD_MS = 1_000;

export function registerSupervise(pi: ExtensionAPI, instance: Instance): void {
  pi.registerCommand("supervise", {
    description: "Supervise a Claude Code worker: start, status, approve, verify, stop; help shows all",
    getArgumentCompletions: async (prefix) => {
      try {
        return await (await lazy.completions()).complete(prefix);
      } catch {
        return null; // a keystroke must not fail; the command itself says what is wrong
      }
    },
    handler: async (args, ctx) => {
      const place = placeOf(ctx);
      noteModels(ctx);
      const port = portFor(instance, ctx);
      const running = run(args, place, port);
      await (port.mode === "tui" ? atMost(TUI_HOLD_MS, running) : running);
    },
  });
}

async function run(args: string, place: Place, port: PiPort): Promise<void> {
  try {
    await (await lazy.run()).runCommand(args, place, port);
  } catch (error) {
    deliver(port, `/supervise could not be run: ${error instanceof Error ? error.message : String(error)}`, "error");
  }
}

async function atMost(ms: number, running: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const held = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([running, held]);
  clearTimeout(timer);
}

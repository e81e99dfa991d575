/** One key for the dashboard, wherever the cursor stands. Free on both lines (docs/keybindings.md of 0.73.1 and 1.6.0). */
import type { ExtensionAPI } from "@mariozechner/pi-coding-agent";
import { lazy } from "./lazy.ts";
import { getHub, type Instance, openSupervisor, portFor } from "./session-binding.ts";

export const DASHBOARD_KEY = "alt+s";

export function registerDashboard(pi: ExtensionAPI, instance: Instance): void {
  pi.registerShortcut(DASHBOARD_KEY, {
    description: "Supervised tasks: list, answer, stop",
    handler: async (ctx) => {
      const port = portFor(instance, ctx);
      const hub = getHub();
      const opened = await openSupervisor(hub);
      if (!opened.ok) return void port.show(opened.message, "error");
      const { openDashboard } = await lazy.dashboard();
      openDashboard(hub, port, opened.supervisor, "sessions");
    },
  });
}

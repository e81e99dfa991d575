/** Opens the dashboard over Pi's screen; one at a time. */
import type { Supervisor } from "../../supervisor/api.ts";
import type { PiPort } from "../pi-port.ts";
import type { Hub } from "../session-binding.ts";
import { Dashboard, type DashboardPage } from "./dashboard.ts";

/** False where there is no screen to open it on. */
export function openDashboard(hub: Hub, port: PiPort, supervisor: Supervisor, page: DashboardPage): boolean {
  if (port.mode !== "tui" || hub.terminalGiven || hub.dashboard === true) return false;
  hub.dashboard = true;
  void port
    .screen((host) => new Dashboard(host, supervisor, page))
    .finally(() => {
      hub.dashboard = false;
    });
  return true;
}

/** Every signal, with and without a cgroup, to a real Claude whose Bash tool runs a tree of its own. */
import { test } from "node:test";
import { endBySignal } from "./real-scene.ts";

for (const cgroup of ["auto", "off"] as const) {
  for (const signal of ["SIGTERM", "SIGINT", "SIGKILL"] as const) {
    test(`${signal} to Claude leaves nothing once the worker is stopped (cgroup ${cgroup})`, (t) =>
      endBySignal(t, cgroup, signal));
  }
}

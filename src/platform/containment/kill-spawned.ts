/**
 * SIGKILL for a child of ours, if there is one. `kill()` of a child that could not be spawned must never be called: in
 * Node 20 (libuv 1.46, seen with strace) it signals pid 0, which is our own process group.
 */
export function killSpawned(child: { pid?: number | undefined; kill(signal: "SIGKILL"): boolean }): void {
  if (child.pid !== undefined) child.kill("SIGKILL");
}

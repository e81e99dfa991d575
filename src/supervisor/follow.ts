/** `log --follow`: records as they appear, from disk, so that any process can follow any task. */
import type { StoredEvent } from "../core/events.ts";
import type { Result } from "../core/result.ts";
import { readEvents } from "../store/log-reader.ts";
import type { SupervisorDeps } from "./deps.ts";

const LOOK_MS = 300;

export async function followLog(
  deps: Pick<SupervisorDeps, "layout" | "clock">,
  taskId: string,
  since: number,
  onEvent: (event: StoredEvent) => void,
  signal: AbortSignal,
): Promise<Result> {
  const { log } = deps.layout.task(taskId);
  let from = since;
  while (!signal.aborted) {
    for await (const item of readEvents(log, taskId, { from })) {
      if (!item.ok) return item;
      if (signal.aborted) break;
      onEvent(item.event as StoredEvent);
      from = item.event.seq + 1;
    }
    await pause(deps, signal);
  }
  return { ok: true };
}

function pause(deps: Pick<SupervisorDeps, "clock">, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const cancel = deps.clock.setTimer(LOOK_MS, done);
    signal.addEventListener("abort", done, { once: true });
    function done(): void {
      cancel();
      signal.removeEventListener("abort", done);
      resolve();
    }
  });
}

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
  /* What was checked once is not read again at every look: a large log would keep a core busy. */
  let check: "all" | "from" = "all";
  while (!signal.aborted) {
    let doubt = false;
    for await (const item of readEvents(log, taskId, { from, check })) {
      if (!item.ok && check === "all") return item;
      /* Its owner may have taken back half a record just now: the look from the start says whether it is damage. */
      doubt = !item.ok;
      if (!item.ok) break;
      if (signal.aborted) break;
      onEvent(item.event as StoredEvent);
      from = item.event.seq + 1;
    }
    check = doubt ? "all" : "from";
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

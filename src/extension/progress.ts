/** Shows in Pi's status line what takes long while it runs, and takes it away at its end, however it ends. */
import type { PiPort } from "./pi-port.ts";
import { duration } from "./words-for-people.ts";

/** How often the time that has gone by is shown anew (ms). */
const AGAIN_MS = 5_000;

let shown = 0;

/** `what` is a few words, such as `verifying t-1`. Nothing is shown where nobody sees it. */
export async function whileShown<T>(port: PiPort, what: string, run: () => Promise<T>): Promise<T> {
  if (!port.interactive) return run();
  const key = `supervise-work-${++shown}`;
  const began = performance.now();
  port.setStatus(`supervise: ${what}…`, key);
  const again = setInterval(() => {
    port.setStatus(`supervise: ${what}… ${duration(performance.now() - began)}`, key);
  }, AGAIN_MS);
  again.unref(); // the work itself keeps the process alive, not its display
  try {
    return await run();
  } finally {
    clearInterval(again);
    port.setStatus(undefined, key);
  }
}

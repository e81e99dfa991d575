/** Notices that something changed in a folder: `fs.watch` at once, and a poll for where it is silent (NFS, full queues). */
import { type FSWatcher, watch } from "node:fs";
import type { Cancel, Clock } from "../platform/clock.ts";

export interface FolderWatch {
  close(): void;
}

/** Calls `look` after a change, at most once a tick, and every `pollMs` milliseconds. It keeps no process alive. */
export function watchFolder(path: string, options: { clock: Clock; pollMs: number; look: () => void }): FolderWatch {
  const { clock, pollMs, look } = options;
  let cancel: Cancel = () => undefined;
  let pending: NodeJS.Immediate | undefined;
  let watcher: FSWatcher | undefined;

  const soon = (): void => {
    pending ??= setImmediate(() => {
      pending = undefined;
      look();
    });
  };
  const arm = (): void => {
    cancel = clock.setTimer(
      pollMs,
      () => {
        arm();
        look();
      },
      { background: true },
    );
  };
  try {
    watcher = watch(path, { persistent: false }, soon);
    // A watcher that fails later (folder removed, inotify limit) leaves the poll.
    watcher.on("error", () => {
      watcher?.close();
      watcher = undefined;
    });
  } catch {
    watcher = undefined;
  }
  arm();
  return {
    close() {
      cancel();
      watcher?.close();
      if (pending !== undefined) clearImmediate(pending);
    },
  };
}

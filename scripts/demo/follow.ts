/** Follows a task's `events.jsonl` while others write it, record by record. */
import { open } from "node:fs/promises";
import { JsonLines } from "../../test/support/json-lines.ts";

export interface LogEvent {
  seq: number;
  type: string;
  data: Readonly<Record<string, unknown>>;
}

const POLL_MS = 50;
const CHUNK = 64 * 1024;

/** Calls `onEvent` for each whole record, oldest first, until the signal fires and all that is there has been read. */
export async function follow(path: string, signal: AbortSignal, onEvent: (event: LogEvent) => void): Promise<void> {
  const file = await open(path, "r");
  try {
    const lines = new JsonLines();
    const buffer = Buffer.alloc(CHUNK);
    for (;;) {
      const last = signal.aborted;
      for (;;) {
        const { bytesRead } = await file.read(buffer, 0, CHUNK);
        if (bytesRead === 0) break;
        // Copied: the reader keeps the rest of a line, and the buffer is used again.
        for (const record of lines.push(Buffer.from(buffer.subarray(0, bytesRead)))) {
          onEvent({
            seq: Number(record.seq),
            type: String(record.type),
            data: (record.data ?? {}) as LogEvent["data"],
          });
        }
      }
      if (last) return;
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  } finally {
    await file.close();
  }
}

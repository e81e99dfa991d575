/** `evidence.json` in the folder of a task that is over: what its outcome rests on, without the log. */
import { join } from "node:path";
import type { StoredEvent } from "../core/events.ts";
import type { Result } from "../core/result.ts";
import { durableWrite } from "../platform/durable-write.ts";
import { Collector, evidenceOf } from "../report/index.ts";
import type { TaskPaths } from "../store/layout.ts";
import { readEvents } from "../store/log-reader.ts";
import type { TaskView } from "./api.ts";

export const EVIDENCE_FILE = "evidence.json";

/** Reads the log once, record by record. Reasons: those of the log and of the disk. */
export async function writeEvidence(paths: TaskPaths, view: TaskView, madeAt: string): Promise<Result> {
  const collector = new Collector(view.taskId);
  for await (const item of readEvents(paths.log, view.taskId)) {
    if (!item.ok) return item;
    collector.add(item.event as StoredEvent);
  }
  const text = `${JSON.stringify(evidenceOf(collector.done(view), madeAt), null, 2)}\n`;
  return durableWrite(join(paths.folder, EVIDENCE_FILE), text, { mode: 0o600 });
}

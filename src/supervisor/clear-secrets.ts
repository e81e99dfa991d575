/**
 * Looks at each turn's end at what the turn has left on the disk: a record or an artifact that holds a secret in clear was
 * not redacted (fault `secret-risk`). Off the hot path; one record at a time is in memory, an artifact up to 4 MiB.
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { readEvents } from "../store/log-reader.ts";

export interface ClearSecret {
  kind: string;
  /** The record that holds it, or names the artifact that does. */
  seq: number;
  type: string;
  artifact?: string;
}

interface Place {
  taskId: string;
  log: string;
  artifacts: string;
  from: number;
  to: number;
}

/** Artifacts that are looked into for one turn: the newest word of a worker that writes thousands is not held up. */
const MOST_ARTIFACTS = 32;

/** The first one; null also where the log can't be read, which is somebody else's fault to tell. */
export async function findClearSecret(
  { taskId, log, artifacts, from, to }: Place,
  kindIn: (text: string) => string | null,
): Promise<ClearSecret | null> {
  let looked = 0;
  for await (const item of readEvents(log, taskId, { from, to, check: "from" })) {
    if (!item.ok) return null;
    const { seq, type, data } = item.event;
    const kind = kindIn(JSON.stringify(data));
    if (kind !== null) return { kind, seq, type };
    const artifact = "artifact" in data && typeof data["artifact"] === "string" ? data["artifact"] : undefined;
    if (artifact === undefined || !/^[0-9a-f]{64}$/.test(artifact) || looked++ >= MOST_ARTIFACTS) continue;
    const inIt = kindIn(await readFile(join(artifacts, artifact), "utf8").catch(() => ""));
    if (inIt !== null) return { kind: inIt, seq, type, artifact };
  }
  return null;
}

export function clearSecretDetail({ kind, seq, type, artifact }: ClearSecret): string {
  const where =
    artifact === undefined ? `Record ${seq} (${type})` : `The artifact ${artifact} of record ${seq} (${type})`;
  return `${where} holds a secret in clear (${kind}). Nothing in a log is ever rewritten: make that secret invalid, then see who can read the state folder.`;
}

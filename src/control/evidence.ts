/**
 * The outside recorder (event log, webhook) is told beside the cleanup, never before it: each try has its own short
 * time, and a recorder that hangs, throws or answers after a newer epoch changes nothing of the stop.
 */
import type { Clock } from "../platform/clock.ts";
import type { EvidenceStatus } from "./record.ts";

export interface EvidenceEntry {
  type: "requested" | "acknowledged" | "cleanup" | "verified" | "failed" | "resumed";
  identity: string;
  taskId: string;
  epoch: number;
  reason?: string;
  detail?: string;
}

export type RecordEvidence = (entry: EvidenceEntry) => Promise<void>;

export interface EvidenceOptions {
  clock: Clock;
  /** Milliseconds for one try. Default 2000. */
  tryMs?: number;
  /** Default 3, with 1 s and 2 s between. */
  tries?: number;
}

/** Resolves with what the record should say; at most `tries * (tryMs + pause)` later. Never rejects. */
export async function recordWithPatience(
  record: RecordEvidence,
  entry: EvidenceEntry,
  options: EvidenceOptions,
): Promise<{ status: EvidenceStatus; detail?: string }> {
  const { clock, tryMs = 2000, tries = 3 } = options;
  let detail = "";
  for (let attempt = 1; attempt <= tries; attempt += 1) {
    const outcome = await oneTry(record, entry, clock, tryMs);
    if (outcome === "recorded") return { status: "recorded" };
    detail = outcome;
    if (attempt < tries) await new Promise<void>((go) => clock.setTimer(attempt * 1000, go, { background: true }));
  }
  return { status: "failed", detail };
}

function oneTry(record: RecordEvidence, entry: EvidenceEntry, clock: Clock, tryMs: number): Promise<string> {
  return new Promise((resolve) => {
    const cancel = clock.setTimer(tryMs, () => resolve(`no answer within ${tryMs} ms`), { background: true });
    const settle = (outcome: string): void => {
      cancel();
      resolve(outcome);
    };
    // The recorder may throw before it returns a promise.
    new Promise<void>((begin) => begin(record(entry))).then(
      () => settle("recorded"),
      (error: unknown) => settle(error instanceof Error ? error.message.slice(0, 200) : "it failed"),
    );
  });
}

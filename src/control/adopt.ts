/**
 * A stop that came as a bare file has no epoch. The first controller that sees it gives it one, so that late results of
 * before are told from what comes after, and so that a person can name it when lifting it.
 */
import type { Result } from "../core/result.ts";
import { systemClock } from "../platform/clock.ts";
import { type FileDeps, floorOf, readSnapshot, underLock, writeFloor, writeRecord } from "./files.ts";
import type { ControlFolder } from "./folder.ts";
import type { Actor } from "./record.ts";
import { ALL, type LatchRequest, requested, setLatch } from "./set-latch.ts";
import { isStanding } from "./states.ts";

export interface Adoption {
  folder: ControlFolder;
  files: FileDeps;
  actor: Actor;
  requestId: string;
  reason: string;
}

/** STOP-ALL, or one identity's marker. Several controllers may do it at once: STOP-ALL gets one epoch all the same. */
export async function adoptMarker(scope: string, adoption: Adoption): Promise<Result<{ epoch: number }>> {
  const { folder, files, actor, requestId, reason } = adoption;
  const request: LatchRequest = { verb: "stop", scope, how: "now", reason, cause: "stop-all-file", actor, requestId };
  const set = await setLatch(folder, request, files);
  return set.ok ? { ok: true, epoch: set.latched.epoch } : set;
}

/**
 * The shared folder's stop has its own way of being lifted, so it sets no latch of the account: only the records of the
 * tasks that it halts get an epoch.
 */
export async function adoptShared(
  identities: readonly string[],
  adoption: Adoption,
): Promise<Result<{ epoch: number }>> {
  const { folder, files, actor, requestId, reason } = adoption;
  const at = (files.clock ?? systemClock).now().toISOString();
  const locked = await underLock(folder, files, (): Result<{ epoch: number }> => {
    const read = readSnapshot(folder);
    if (!read.ok) return read;
    const { snapshot } = read;
    const epoch = snapshot.highest + 1;
    const floor = floorOf(snapshot);
    const request: LatchRequest = {
      verb: "stop",
      scope: ALL,
      how: "after-call",
      reason,
      cause: "shared-folder",
      actor,
      requestId,
    };
    for (const identity of identities) {
      const reading = snapshot.records.get(identity);
      if (reading?.state !== "read" || isStanding(reading.value)) continue;
      const written = writeRecord(folder, requested(identity, reading.value, request, epoch, at), reading, files);
      if (!written.ok) return written;
    }
    const written = writeFloor(folder, { ...floor, epoch }, snapshot.floor, files);
    return written.ok ? { ok: true, epoch } : written;
  });
  return locked.ok ? locked.value : locked;
}

/** What the control folder keeps of tasks that are over, and how it is dropped. */
import { unlinkSync } from "node:fs";
import { failure, type Result } from "../core/result.ts";
import { fileFailure } from "../platform/errno.ts";
import { isLockHeld, takeFileLock } from "../platform/file-lock.ts";
import { holderNote, readRecordFile } from "./files.ts";
import { type ControlFolder, instanceLockPath, listIdentities, recordPath } from "./folder.ts";
import { isOrdinaryEnd, isStanding } from "./states.ts";

/** Removes the record of an ended task. Reasons `in-force`, `busy`. */
export function forgetRecord(folder: ControlFolder, identity: string): Result {
  const reading = readRecordFile(folder, identity);
  if (reading.state === "unclear") return reading.fault;
  if (reading.state === "absent") return { ok: true };
  if (isStanding(reading.value)) {
    return failure("in-force", `${identity} is under an emergency stop. A person resumes it first.`);
  }
  const taken = takeFileLock(instanceLockPath(folder, identity), { info: holderNote(), ownership: folder.ownership });
  if (!taken.ok) return isLockHeld(taken) ? failure("busy", taken.message) : taken;
  try {
    unlinkSync(recordPath(folder, identity));
    unlinkSync(instanceLockPath(folder, identity));
    return { ok: true };
  } catch (error) {
    return fileFailure("remove", recordPath(folder, identity), error);
  } finally {
    taken.lock.release();
  }
}

/** The same for every identity of these tasks; what is refused stays. */
export function forgetRecordsOf(folder: ControlFolder, taskIds: ReadonlySet<string>): void {
  const listed = listIdentities(folder);
  for (const identity of listed.ok ? listed.identities : []) {
    const reading = readRecordFile(folder, identity);
    if (reading.state === "read" && taskIds.has(reading.value.taskId)) forgetRecord(folder, identity);
  }
}

/** The task that has the identity and has not ended in the ordinary way. */
export function taskOfRecord(folder: ControlFolder, identity: string): string | undefined {
  const reading = readRecordFile(folder, identity);
  if (reading.state !== "read" || isOrdinaryEnd(reading.value)) return undefined;
  return reading.value.taskId;
}

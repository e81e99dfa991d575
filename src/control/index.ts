/**
 * The emergency stop. Inside Pi: `openControl`. From outside: the command `pi-claude-supervisor-control`, which works from
 * the files alone. `docs/emergency-stop.md` says what is guaranteed.
 */
export type { SharedCheck, SharedPin, StopCheck, StopClear, StopHeld } from "./check.ts";
export type { ControlPort, OpenControlOptions } from "./control-port.ts";
export { openControl } from "./controller.ts";
export { type DrillReport, runDrill } from "./drill.ts";
export type { EnrollInput } from "./enroll.ts";
export type { EvidenceEntry, RecordEvidence } from "./evidence.ts";
export {
  CONTROL_DIR_VARIABLE,
  type ControlFolder,
  controlPaths,
  openControlFolder,
  refuseWorkspace,
  SOCKET_DIR_VARIABLE,
  stopAllPath,
} from "./folder.ts";
export { CONTROL_ID_VARIABLE, checkIdentity } from "./identity.ts";
export type { StopOrder } from "./orders.ts";
export { actorOf, type Caller, hostMarker, requirePerson } from "./person.ts";
export type { Actor, ControlRecord, Remaining, SavedResource } from "./record.ts";
export type { RecordReport, StopReport } from "./request.ts";
export { ALL } from "./set-latch.ts";
export { configFolderOf, digestFolderOf, stopFolderOf } from "./shared-names.ts";
export { type HaltedRun, type PageEntry, readPages, writePage } from "./shared-page.ts";
export { type ControlStatus, LIMITS, type RecordStatus } from "./status.ts";
export type { StopResults, TaskControl } from "./task-control.ts";
export { type GuardedPlaces, guardToolCall, type ToolVerdict } from "./tool-guard.ts";

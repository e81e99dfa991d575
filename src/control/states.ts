/** The states of a record and the legal moves between them. Everything else is refused and leaves the record alone. */

export const CONTROL_STATES = [
  "running",
  "pausing",
  "paused",
  "resuming",
  "stopping",
  "stopped",
  "failed-to-stop",
] as const;

export type ControlState = (typeof CONTROL_STATES)[number];

/** `resuming`: the latch is cleared by a person, and the task waits for an explicit recover. */
const MOVES: Readonly<Record<ControlState, readonly ControlState[]>> = {
  running: ["pausing", "stopping", "stopped", "failed-to-stop"],
  pausing: ["pausing", "paused", "stopping", "failed-to-stop"],
  paused: ["pausing", "paused", "resuming", "stopping"],
  resuming: ["running", "pausing", "stopping", "stopped"],
  stopping: ["stopping", "stopped", "failed-to-stop"],
  stopped: ["stopping", "stopped", "resuming", "running"],
  "failed-to-stop": ["pausing", "paused", "stopping", "stopped", "failed-to-stop"],
};

export function mayMove(from: ControlState, to: ControlState): boolean {
  return MOVES[from].includes(to);
}

export function isControlState(value: unknown): value is ControlState {
  return CONTROL_STATES.some((state) => state === value);
}

/** Why a record is in its state. */
export const CAUSES = ["completed", "ended", "start", "operator", "agent", "stop-all-file", "shared-folder"] as const;
export type Cause = (typeof CAUSES)[number];

const ORDINARY = ["completed", "ended", "shared-folder"];

/**
 * Reusing the identity needs nobody: it ended in the ordinary way, or by the shared folder's stop, which is lifted there
 * and refuses a start for as long as it stands.
 */
export function isOrdinaryEnd(record: { state: ControlState; cause: string }): boolean {
  return record.state === "stopped" && ORDINARY.includes(record.cause);
}

/** Whether the record itself forbids that its task goes on or starts again. */
export function isStanding(record: { state: ControlState; cause: string }): boolean {
  return record.state !== "running" && record.state !== "resuming" && !isOrdinaryEnd(record);
}

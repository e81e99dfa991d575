/** What was last asked of an identity: for the log of a task that nobody drove when the stop came. */
import { readRecordFile } from "./files.ts";
import type { ControlFolder } from "./folder.ts";
import type { ControlRecord } from "./record.ts";
import { isStanding } from "./states.ts";

export interface LastRequest {
  epoch: number;
  verb: "stop" | "pause";
  reason?: string;
}

/** `undefined` where no pause and no stop has ever named it, or its record can't be read. */
export function lastRequestOf(folder: ControlFolder, identity: string): LastRequest | undefined {
  const reading = readRecordFile(folder, identity);
  if (reading.state !== "read" || reading.value.epoch === 0) return undefined;
  const { epoch } = reading.value;
  const standing = isStanding(reading.value) ? present(reading.value) : past(reading.value);
  if (standing === undefined) return undefined;
  const { state, reason } = standing;
  const verb = state === "pausing" || state === "paused" ? "pause" : "stop";
  return { epoch, verb, ...(reason === undefined ? {} : { reason }) };
}

type Asked = { state: string; reason?: string };

function present({ desired, reason }: ControlRecord): Asked {
  return { state: desired, ...(reason === undefined ? {} : { reason }) };
}

/** After a resume the history alone remembers it. */
function past({ epoch, history }: ControlRecord): Asked | undefined {
  return history.findLast((entry) => entry.epoch === epoch && /^(stop|paus|failed)/.test(entry.state));
}

/** One event of a log as one line for people. */
import type { StoredEvent } from "../core/events.ts";
import { oneLine } from "./inert.ts";

/** Fields that say most, in this order; the rest is in the log itself. */
const TELLING = [
  "state",
  "toolName",
  "verdict",
  "rule",
  "requestId",
  "decision",
  "outcome",
  "round",
  "source",
  "subtype",
  "exitReason",
  "reason",
  "message",
  "text",
  "preview",
  "detail",
] as const;

export function eventLine(event: StoredEvent, max = 200): string {
  const data = typeof event.data === "object" && event.data !== null ? (event.data as Record<string, unknown>) : {};
  const parts = TELLING.flatMap((key) => {
    const value = data[key];
    return typeof value === "string" || typeof value === "number" ? [`${key}=${oneLine(String(value), 120)}`] : [];
  });
  const late = data.late === true ? " (late)" : "";
  return oneLine(`${event.seq} ${event.at.slice(11, 19)} ${event.type}${late} ${parts.join(" ")}`, max);
}

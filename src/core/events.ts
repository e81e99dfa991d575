/** Event types without their schemas: what pure code and the control CLI import. Nothing here loads TypeBox. */
import type { EventMap } from "./schema/events.ts";

export type { EventMap };
export type EventType = keyof EventMap;

/** One line of `events.jsonl`. */
export interface StoredEvent<T extends string = string, D = unknown> {
  v: 1;
  seq: number;
  taskId: string;
  workerId: string | null;
  /** ISO 8601, UTC. */
  at: string;
  /** Milliseconds since the owner's start. */
  mono: number;
  type: T;
  data: D;
  idempotencyKey?: string;
  artifact?: string;
  /** Lower-case hex SHA-256 of the previous line's bytes without its LF. */
  prev: string;
}

/** An event of a known type; `step` switches over `type`. */
export type TaskEvent = {
  [K in EventType]: Pick<StoredEvent<K, EventMap[K]>, "seq" | "at" | "mono" | "type" | "data" | "taskId">;
}[EventType];

export type EventDraft = { [K in EventType]: { type: K; data: EventMap[K] } }[EventType];

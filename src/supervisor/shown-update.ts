import type { EventMap, StoredEvent } from "../core/events.ts";
import { initialState } from "../core/machine/state.ts";
import type { TaskUpdate } from "./api.ts";

/** A notice that only listeners see: it is in no log. */
export function shownUpdate(taskId: string, data: EventMap["notice"], state = initialState(taskId)): TaskUpdate {
  const event: StoredEvent = {
    v: 1,
    seq: 0,
    taskId: "",
    workerId: null,
    at: "",
    mono: 0,
    type: "notice",
    data,
    prev: "",
  };
  return { taskId, event, before: state, after: state };
}

/** The filter on Pi's own agent, with nothing else of this room: it is loaded in every Pi whose agent runs a command. */
export { guardedPlaces } from "./guarded-places.ts";
export { guardToolCall } from "./tool-guard.ts";

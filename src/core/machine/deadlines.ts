/**
 * Every clock that runs for a task, derived from its state: the supervisor arms one timer for the nearest, and status
 * shows them all. Times are milliseconds on the owner's monotonic clock.
 */
import { wallBegan, wallLength } from "./budgets.ts";
import { closeOutMs } from "./closing.ts";
import { heldRequests } from "./deferral.ts";
import { pendingRequests } from "./requests.ts";
import type { TaskState } from "./state.ts";
import { SETTLE_MS } from "./turn.ts";
import { isActive } from "./verification.ts";

export type DeadlineName =
  | "startup"
  | "retry"
  | "quiet"
  | "tool-cap"
  | "wall"
  | "patience"
  | "settle"
  | "background"
  | "wall-warning"
  | "wrap-up"
  | "close-out";

/** Shares of the wall clock at which a person is told, and the worker. */
export const WARN_AT = 0.8;
export const WRAP_UP_AT = 0.9;

export interface Deadline {
  name: DeadlineName;
  /** When it is reached, on the owner's monotonic clock (ms). */
  due: number;
  /** Its full length (ms), for bars and messages. */
  length: number;
  /** Enforced by the worker adapter or by this timer. */
  by: "adapter" | "supervisor";
  /** What it watches, for people. */
  what: string;
}

export function deadlines(state: TaskState): Deadline[] {
  const { spec } = state;
  if (!spec || state.ended.kind !== "no" || state.stop.kind !== "none") return [];
  const { limits } = spec;
  const list: Deadline[] = [];
  const put = (name: DeadlineName, from: number, length: number, what: string, by: Deadline["by"] = "supervisor") => {
    list.push({ name, due: from + length, length, by, what });
  };
  const { worker: w, turn: t } = state;
  if (state.control.kind !== "supervised") return [];
  if (t.kind === "waiting") put("retry", t.mono, t.due - t.mono, "the model service");
  if (w.kind === "spawning" || w.kind === "handshake")
    put("startup", w.mono, limits.startupMs, "the worker's start", "adapter");
  const asked = pendingRequests(state).length > 0 || state.hold !== null;
  if (w.kind === "live" && !asked) {
    const oldest = oldestRunning(state);
    if (oldest !== null) put("tool-cap", oldest.mono, limits.toolCapMs, `the ${oldest.toolName} call`);
    if (t.kind === "busy" || t.kind === "sending") {
      const inFlight = oldest !== null;
      put(
        "quiet",
        state.progressMono,
        inFlight ? limits.toolQuietMs : limits.quietMs,
        inFlight ? `output while ${oldest.toolName} runs` : "output",
      );
    }
    if (t.kind === "background")
      put("background", Math.max(t.mono, state.progressMono), limits.toolQuietMs, "background tasks");
    if (t.kind === "settling") put("settle", t.mono, SETTLE_MS, "the turn after background tasks");
  }
  const held = heldRequests(state);
  /* What the decider is still asked about would be put off as well: its time is short, and comes first. */
  const deciding = held.length < pendingRequests(state).filter((request) => request.deferral === "none").length;
  if (w.kind === "live" && held.length > 0 && !deciding && limits.patienceMs !== undefined) {
    put("patience", Math.min(...held.map((request) => request.mono)), limits.patienceMs, "your answer");
  }
  putTime(state, put);
  return list;
}

type Put = (name: DeadlineName, from: number, length: number, what: string) => void;

/** The task's own time; it stands still while a person is waited for. */
function putTime(state: TaskState, put: Put): void {
  const { closing: c, budgets, spec, verification } = state;
  if (budgets.resting) return;
  if (c.kind === "close-out") {
    /* A verification has a time limit of its own, and its verdict is what the close-out is for. */
    if (!isActive(verification)) put("close-out", c.since, closeOutMs(state), "the close-out");
    return;
  }
  const began = wallBegan(state);
  const length = wallLength(state);
  if (!budgets.wallWarned) put("wall-warning", began, length * WARN_AT, "the warning that time gets short");
  if (spec?.mode === "auto" && c.kind === "open") put("wrap-up", began, length * WRAP_UP_AT, "the word to wrap up");
  put("wall", began, length, "the task");
}

/** The call that runs longest: calls that wait for an answer do not run. */
function oldestRunning(state: TaskState) {
  const running = Object.values(state.tools).filter((tool) => tool.allowed);
  return running.reduce<(typeof running)[number] | null>(
    (old, tool) => (old && old.mono <= tool.mono ? old : tool),
    null,
  );
}

/** What `step` asks the supervisor to do. Data only; whoever runs an effect reports its outcome as events. */
import type { DecisionKind } from "../contracts/decision.ts";
import type { GateReply } from "../contracts/worker.ts";
import type { EventDraft } from "../events.ts";
import type { EndWhy, PromptSource, TaskState } from "./state.ts";

export type Effect =
  | { kind: "spawn"; resume: boolean; sessionId: string }
  /** `promptId` is null where the supervisor makes one; `text` is what the log may hold. */
  | {
      kind: "send";
      source: PromptSource;
      promptId: string | null;
      text: string;
      redacted: boolean;
      preface?: string;
      /** It says that time is short; `alone`: and nothing else, in the middle of a turn. */
      wrapUp?: true;
      alone?: true;
    }
  | { kind: "reply"; callId: string; toolUseId: string; requestId: string | null; reply: GateReply }
  /** Put this question to the Decision Worker; `requestId` is set when it is about a waiting call. */
  | { kind: "decide"; decisionId: string; about: DecisionKind; requestId: string | null }
  | { kind: "verify"; by: "person" | "auto"; round: number }
  /** Have the reviewer look at the tree that passed. */
  | { kind: "review" }
  /** Record the request by which a person signs the pass. */
  | { kind: "ask-sign-off" }
  /** Look at the tree once more: the same → `task.completed`, another → `verify.stale`. */
  | { kind: "confirm-tree"; treeId: string; by: "person" | "auto"; round: number }
  | { kind: "end-worker"; why: EndWhy; exitMs: number }
  /** The leader is gone: end what it left and prove that nothing remains. */
  | { kind: "sweep" }
  | { kind: "teardown"; how: "graceful" | "now"; graceMs: number }
  /** Append this event before anything else is looked at. */
  | { kind: "record"; event: EventDraft };

/** What one event leads to. */
export interface Step {
  state: TaskState;
  effects: Effect[];
}

export function record(event: EventDraft): Effect {
  return { kind: "record", event };
}

/** What is told to a person who is not looking: one notice when a task needs them. */

/** Why a person is called. A closed set: receivers may route by it. */
export const ESCALATION_REASONS = [
  /** A tool call, question, plan or sign-off waits for an answer. */
  "approval",
  "question",
  "plan",
  "sign-off",
  /** Manual mode: the turn is over. */
  "result",
  /** The decider gave no valid answer, or gave the choice to the person. */
  "decider",
  "stalled",
  "rounds-exhausted",
  /** Turns, time, decisions or money. */
  "budget",
  /** The verification could not run. */
  "verifier",
  "auth",
  "billing",
  /** The model service, after all waiting. */
  "service",
  "worker-exit",
  /** Automation is off until the fault was looked at. */
  "fault",
  /** Something other than a person paused the task. */
  "paused",
  /** The person's switch in `supervisor.json`. */
  "automation-off",
  "failed",
  "failed-to-stop",
  /** Only when asked for (`webhook.completed`). */
  "completed",
  "other",
] as const;

export type EscalationReason = (typeof ESCALATION_REASONS)[number];

/** One call of a person, for whoever shows it on this machine; redacted like the log that it comes from. */
export interface PersonCalled {
  taskId: string;
  reason: EscalationReason;
  /** One line: what is the matter. */
  title: string;
  /** What the task is about, shortened. */
  goal: string;
  /** What the person's `terminalNotices` wants. */
  terminal: "auto" | "bell";
}

/** Texts may hold anything: they are redacted, cleaned and cut before they are sent. */
export interface Notice {
  /** Same notice, same id: receivers drop repeats by it (also the `Idempotency-Key` header). */
  id: string;
  /** When it happened. */
  at: Date;
  reason: EscalationReason;
  taskId: string;
  /** The task's state, e.g. `human_required`. */
  state: string;
  /** One line: what is the matter. */
  title: string;
  /** More, in a few lines. */
  text?: string;
  /** What the person can type to go on. */
  next?: readonly string[];
  request?: { requestId: string; kind: string; toolName?: string };
  /** Name of this machine. */
  host?: string;
}

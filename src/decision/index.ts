/** The Decision Worker: its questions, its session, and how strictly its answers are read. */
export { createDecisionWorker, DECISION_TIMEOUT_MS, type DecisionWorkerOptions } from "./decision-worker.ts";
export { createReviewer, REVIEW_TIMEOUT_MS, type ReviewerOptions } from "./reviewer.ts";
export { type DecisionSessionStore, decisionSessionStore, type KeptSession } from "./session-store.ts";

/**
 * The reviewer: a fresh session for each candidate, with one verdict tool and eyes for the verified tree. It lives in this
 * room because it is the same craft as the decider: a lent Pi session, data blocks, one strict answer. Every way in which
 * it can fail ends as `unavailable`; what a model says after a stop or after the time limit is never heard.
 *
 * Memory: one conversation of at most about 450,000 characters.
 */
import { randomBytes } from "node:crypto";
import type { DecisionCall, DecisionSession, DecisionSessionFactory } from "../core/contracts/decision.ts";
import type { Redactor } from "../core/contracts/redaction.ts";
import type { Reviewer, ReviewFault, ReviewInput, ReviewOutcome } from "../core/contracts/review.ts";
import { cut, visible } from "../core/text.ts";
import type { Clock } from "../platform/clock.ts";
import { REVIEW_SYSTEM_PROMPT, reviewPrompt } from "./review-prompt.ts";
import { type Judged, judgeReview, reviewTool } from "./review-tool.ts";
import { type TreeTools, treeTools } from "./tree-tools.ts";

/** Milliseconds for one review, waits for the model service included. */
export const REVIEW_TIMEOUT_MS = 10 * 60_000;
/** Milliseconds that a voided prompt gets to end before its session is given up. */
const VOIDED_GRACE_MS = 2_000;

export interface ReviewerOptions {
  /** The session's own folder (0700, real path): no project speaks to it, and nothing is written there. */
  folder: string;
  /** `provider/id`; absent = Pi's current model. */
  model?: string;
  /** Default: `REVIEW_TIMEOUT_MS`. */
  timeoutMs?: number;
  factory: DecisionSessionFactory;
  redactor: Redactor;
  clock: Clock;
  /** Unguessable characters for a tag. Default: 16 hexadecimal digits of the system's random source. */
  random?: () => string;
}

export function createReviewer(options: ReviewerOptions): Reviewer {
  return { review: (input, { signal }) => review(options, input, signal) };
}

async function review(options: ReviewerOptions, given: ReviewInput, stopped: AbortSignal): Promise<ReviewOutcome> {
  const { clock, redactor, timeoutMs = REVIEW_TIMEOUT_MS } = options;
  const begun = clock.mono();
  const end = new AbortController();
  const stop = (): void => end.abort();
  const trail: Trail = { eyes: treeTools(given.root, redactor) };
  const fault = (code: ReviewFault, reason: string): Judged => ({
    verdict: "unavailable",
    code,
    reason: cut(visible(redactor.text(reason)), 500),
  });
  /* The first cause stands: what comes after a stop or the limit is not heard. */
  const over = new Promise<Judged>((resolve) => {
    const aborted = (): void => resolve(fault("aborted", "The review was stopped."));
    if (stopped.aborted) aborted();
    stopped.addEventListener("abort", aborted, { once: true });
    trail.cancel = clock.setTimer(timeoutMs, () => {
      resolve(fault("timeout", `The reviewer gave no verdict within ${Math.round(timeoutMs / 1000)} s.`));
      end.abort();
    });
  });
  stopped.addEventListener("abort", stop, { once: true });
  const work = stopped.aborted ? over : look(options, given, end.signal, trail, fault);
  try {
    const judged = await Promise.race([over, work.catch((error: unknown) => fault("model-error", messageOf(error)))]);
    const { usd, session, eyes } = trail;
    return {
      ...judged,
      durationMs: Math.round(clock.mono() - begun),
      looks: eyes.looks,
      ...(usd === undefined ? {} : { usd }),
      ...(session === undefined ? {} : { model: session.model }),
    };
  } finally {
    trail.cancel?.();
    stopped.removeEventListener("abort", stop);
    end.abort();
    /* Nobody waits for it: what it still says is void. */
    void letGo(work, clock).then(() => trail.session?.dispose());
  }
}

/** What is left behind on the way, whatever ends it. */
interface Trail {
  eyes: TreeTools;
  session?: DecisionSession;
  usd?: number;
  cancel?: () => void;
}

async function look(
  options: ReviewerOptions,
  given: ReviewInput,
  signal: AbortSignal,
  trail: Trail,
  fault: (code: ReviewFault, reason: string) => Judged,
): Promise<Judged> {
  const { factory, folder, model, redactor } = options;
  const opened = await factory.open({
    folder,
    systemPrompt: REVIEW_SYSTEM_PROMPT,
    tool: reviewTool,
    helpers: trail.eyes.tools,
    isKept: false,
    ...(model === undefined ? {} : { model }),
  });
  if (!opened.ok) return fault(opened.reason === "no-model" ? "no-model" : "model-error", opened.message);
  trail.session = opened.session;
  if (signal.aborted) return fault("aborted", "The review was stopped.");
  const { root, ...shown } = given;
  const random = options.random ?? (() => randomBytes(8).toString("hex"));
  const turn = await opened.session.prompt(reviewPrompt({ root, ...redactor.data(shown) }, random), signal);
  if (turn.usd !== undefined) trail.usd = turn.usd;
  if (turn.error !== undefined) return fault("model-error", `The reviewer's model failed: ${turn.error}`);
  return judgeReview(turn.calls.map((call) => redacted(call, redactor)));
}

/** A reviewer may repeat what it saw, and what it says goes to the log, to people and to the worker. */
function redacted({ name, arguments: given }: DecisionCall, redactor: Redactor): DecisionCall {
  const plain: unknown = given === undefined ? undefined : JSON.parse(JSON.stringify(given));
  return { name, arguments: redactor.data(plain) };
}

/** A session that does not hear the abort is left behind after a moment; its words are void. */
async function letGo(work: Promise<unknown>, clock: Clock): Promise<void> {
  let cancel = (): void => undefined;
  const grace = new Promise<void>((resolve) => {
    cancel = clock.setTimer(VOIDED_GRACE_MS, resolve, { background: true });
  });
  await Promise.race([work.catch(() => undefined), grace]);
  cancel();
}

function messageOf(error: unknown): string {
  return `The reviewer failed: ${error instanceof Error ? error.message : String(error)}`;
}

/**
 * One task's decider: puts questions to a model, one after the other, in a session that is kept and gone on with after
 * a restart. Every way in which this can fail ends as `unavailable`, and the first cause stands: what a model says after
 * a stop or after the time limit is never heard.
 *
 * Memory: one conversation, renewed at about 100,000 tokens, beside the questions that wait.
 */
import { randomBytes } from "node:crypto";
import type {
  Decision,
  DecisionBrief,
  DecisionOutcome,
  DecisionQuestion,
  DecisionSession,
  DecisionSessionFactory,
  DecisionTurn,
  DecisionWorker,
  Unavailable,
} from "../core/contracts/decision.ts";
import type { Redactor } from "../core/contracts/redaction.ts";
import type { Result } from "../core/result.ts";
import type { Clock } from "../platform/clock.ts";
import { decideTool } from "./decide-tool.ts";
import { judge, unavailable } from "./judge.ts";
import { promptFor, SYSTEM_PROMPT } from "./prompt.ts";
import type { DecisionSessionStore } from "./session-store.ts";

/** Milliseconds for one question, the waits for a rate limit or an overload included. */
export const DECISION_TIMEOUT_MS = 120_000;
/** Milliseconds that a voided prompt gets to end before its session is given up. */
const VOIDED_GRACE_MS = 2_000;
/** A conversation of so many tokens, or of this share of the model's window, is not gone on with. */
const MAX_CONTEXT_TOKENS = 100_000;
const MAX_CONTEXT_SHARE = 0.6;
/** A session whose model failed so often in a row is not gone on with: its conversation may be the reason. */
const MAX_FAILURES = 2;

export interface DecisionWorkerOptions {
  taskId: string;
  brief: DecisionBrief;
  /** `provider/id`; absent = Pi's current model. */
  model?: string;
  /** Default: `DECISION_TIMEOUT_MS`. */
  timeoutMs?: number;
  factory: DecisionSessionFactory;
  store: DecisionSessionStore;
  redactor: Redactor;
  clock: Clock;
  /** Told when a damaged session was set aside, one could not go on, or a restart will not find one. Redacted. */
  onNote?: (note: string) => void;
  /** Unguessable characters for a tag. Default: 16 hexadecimal digits of the system's random source. */
  random?: () => string;
}

interface Open {
  session: DecisionSession;
  /** The brief was told in this session. */
  isBriefed: boolean;
  /** The last message may stand without a valid answer. */
  isOpenEnded: boolean;
  failures: number;
}

type Verdict = Decision | Unavailable;
type Give = (verdict: Verdict, usd?: number) => void;

export function createDecisionWorker(options: DecisionWorkerOptions): DecisionWorker {
  const { factory, store, redactor, clock, timeoutMs = DECISION_TIMEOUT_MS } = options;
  const random = options.random ?? (() => randomBytes(8).toString("hex"));
  const brief = redactor.data(options.brief);
  const disposed = new AbortController();
  let open: Open | undefined;
  let isFresh = false;
  let queue: Promise<void> = Promise.resolve();
  let isBusy = false;
  let decisions = 0;
  let usd = 0;
  let isPriceKnown = true;

  const note = (text: string): void => options.onNote?.(redactor.text(text));

  function close(): void {
    open?.session.dispose();
    open = undefined;
  }

  /** The next question begins a new conversation. */
  function renew(): void {
    close();
    isFresh = true;
  }

  async function openSession(): Promise<Result<{ mine: Open }>> {
    if (open) return { ok: true, mine: open };
    const found = store.find(options.taskId);
    if (!found.ok) return found;
    const { folder, file, notes } = found.kept;
    notes.forEach(note);
    const common = {
      folder,
      systemPrompt: SYSTEM_PROMPT,
      tool: decideTool,
      ...(options.model === undefined ? {} : { model: options.model }),
    };
    let opened = await factory.open(file === undefined || isFresh ? common : { ...common, file });
    if (!opened.ok && opened.reason === "session" && file !== undefined && !isFresh) {
      note(`The decider's earlier session does not go on: ${opened.message}`);
      opened = await factory.open(common);
    }
    if (!opened.ok) return opened;
    const { session } = opened;
    isFresh = false;
    open = { session, isBriefed: session.resumed, isOpenEnded: session.resumed, failures: 0 };
    const kept = session.file === undefined ? undefined : store.keep(options.taskId, session.file);
    if (kept?.ok === false) note(`After a restart the decider begins a new session: ${kept.message}`);
    return { ok: true, mine: open };
  }

  async function put(question: DecisionQuestion, end: AbortSignal, give: Give): Promise<void> {
    const opened = await openSession();
    if (!opened.ok) {
      const code = opened.reason === "no-model" ? "no-model" : "model-error";
      return give(unavailable(code, redactor.text(opened.message)));
    }
    if (end.aborted) return;
    const { mine } = opened;
    const { session } = mine;
    const prompt = promptFor(redactor.data(question), {
      random,
      isOpenEnded: mine.isOpenEnded,
      ...(mine.isBriefed ? {} : { brief }),
    });
    mine.isBriefed = true;
    mine.isOpenEnded = true;
    const turn = await session.prompt(prompt.text, end);
    if (turn.usd === undefined) isPriceKnown = false;
    else usd += turn.usd;
    if (session.file !== undefined) store.protect(session.file);
    if (end.aborted) return;

    if (turn.error !== undefined) {
      give(unavailable("model-error", `The decider's model failed: ${redactor.text(turn.error)}`), turn.usd);
      mine.failures += 1;
      if (mine.failures >= MAX_FAILURES) renew();
      return;
    }
    const calls = turn.calls.map((call) => ({ name: call.name, arguments: redacted(call.arguments, redactor) }));
    const verdict = judge(prompt.asked, calls);
    mine.failures = 0;
    mine.isOpenEnded = verdict.decision === "unavailable";
    decisions += 1;
    give(verdict, turn.usd);
    if (isFull(session, turn)) renew();
  }

  async function run(question: DecisionQuestion, stopped: AbortSignal, give: Give): Promise<void> {
    const end = new AbortController();
    const cancelDeadline = clock.setTimer(timeoutMs, () => {
      give(unavailable("timeout", `The decider did not answer within ${Math.round(timeoutMs / 1000)} s.`));
      end.abort();
    });
    const stop = (): void => end.abort();
    stopped.addEventListener("abort", stop, { once: true });
    let cancelGrace = (): void => undefined;
    const givenUp = new Promise<"given up">((resolve) => {
      end.signal.addEventListener("abort", () => {
        cancelGrace = clock.setTimer(VOIDED_GRACE_MS, () => resolve("given up"), { background: true });
      });
    });
    try {
      const work = put(question, end.signal, give);
      if ((await Promise.race([work, givenUp])) === "given up") {
        work.catch(() => undefined); // nobody waits for it any more, and its answer is void
        renew();
      }
    } catch (error) {
      give(unavailable("model-error", `The decider failed: ${redactor.text(messageOf(error))}`));
      close();
    } finally {
      cancelDeadline();
      cancelGrace();
      stopped.removeEventListener("abort", stop);
      if (disposed.signal.aborted) close();
    }
  }

  return {
    ask: (question, { signal }) =>
      new Promise<DecisionOutcome>((resolve) => {
        const asked = clock.mono();
        let isGiven = false;
        const stopped = AbortSignal.any([signal, disposed.signal]);
        const give: Give = (verdict, cost) => {
          if (isGiven) return;
          isGiven = true;
          stopped.removeEventListener("abort", abort);
          const durationMs = Math.round(clock.mono() - asked);
          resolve({ ...verdict, durationMs, ...(cost === undefined ? {} : { usd: cost }) });
        };
        const abort = (): void => give(unavailable("aborted", "The question was taken back."));
        stopped.addEventListener("abort", abort, { once: true });
        if (stopped.aborted) return abort();
        queue = queue.then(async () => {
          if (stopped.aborted) return;
          isBusy = true;
          await run(question, stopped, give);
          isBusy = false;
        });
      }),
    prepare() {
      queue = queue.then(async () => {
        if (disposed.signal.aborted || open) return;
        isBusy = true;
        try {
          await openSession(); // why it does not open is said with the first question
        } catch (error) {
          note(`The decider's session could not be opened: ${messageOf(error)}`);
        }
        isBusy = false;
        if (disposed.signal.aborted) close();
      });
      return queue;
    },
    cost: () => (isPriceKnown && usd > 0 ? { usd, decisions } : { decisions }),
    dispose() {
      disposed.abort();
      // Else the running question closes it, once its prompt has let go.
      if (!isBusy) close();
    },
  };
}

function isFull(session: DecisionSession, turn: DecisionTurn): boolean {
  const max = Math.min(MAX_CONTEXT_TOKENS, MAX_CONTEXT_SHARE * (session.contextWindow ?? Number.POSITIVE_INFINITY));
  return (turn.contextTokens ?? 0) > max;
}

/**
 * The decider may repeat what it was shown, and what it says goes to the log, to people and to the worker. Redacted whole,
 * before anything is cut: half a secret would no longer be known. Names of fields stay and count for nothing: a question's
 * text is one ("Which password rule?").
 */
function redacted(value: unknown, redactor: Redactor, depth = 0): unknown {
  if (typeof value === "string") return redactor.text(value);
  if (typeof value !== "object" || value === null || depth > 3) return undefined;
  if (Array.isArray(value)) return value.map((entry: unknown) => redacted(entry, redactor, depth + 1));
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, redacted(entry, redactor, depth + 1)]));
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

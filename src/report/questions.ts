/** What the gate did not answer by itself, and what the Decision Worker is asked beside: who decided it, and how. */
import type { EventMap } from "../core/events.ts";
import { cut } from "../core/text.ts";
import { bounded } from "./call.ts";
import type { Chapters } from "./chapters.ts";
import type { Call, CallAnswer, Question } from "./model.ts";
import type { Refusals } from "./refusals.ts";
import { remember, Tail } from "./tail.ts";

const MAX_QUESTIONS = 300;
const MAX_STEPS = 10;

export class Questions {
  readonly #list = new Tail<Question>(MAX_QUESTIONS);
  /** By request, and by decision where it is about no request. */
  readonly #asked = new Map<string, { question: Question; call: Call | null }>();
  readonly #chapters: Chapters;
  readonly #refusals: Refusals;

  constructor(chapters: Chapters, refusals: Refusals) {
    this.#chapters = chapters;
    this.#refusals = refusals;
  }

  /** The newest questions; those among `pending` that nobody has answered are open. */
  done(pending: ReadonlySet<string>): { questions: Question[]; moreQuestions: number } {
    for (const question of this.#list.items)
      question.open =
        question.requestId !== null && pending.has(question.requestId) && question.steps.every(isNoAnswer);
    return { questions: this.#list.items, moreQuestions: this.#list.more };
  }

  /** The gate asks; `askedOf`: whom. A call that is asked again keeps its question. */
  ask(seq: number, at: string, { requestId, call, askedOf }: { requestId: string; call: Call; askedOf: string }): void {
    const known = this.#asked.get(requestId);
    if (known !== undefined) {
      known.call = call;
      const last = known.question.steps.at(-1);
      if (last !== undefined) call.answer = last;
      return;
    }
    const question: Question = {
      seq,
      at,
      requestId,
      what: `${call.tool} ${call.subject}`,
      rule: call.rule,
      askedOf,
      steps: [],
      open: false,
    };
    this.#list.add(question);
    remember(this.#asked, requestId, { question, call });
  }

  signOff(seq: number, at: string, data: EventMap["signoff.requested"]): void {
    const { requestId, round, treeId } = data;
    const what = `Sign-off of round ${round}, tree ${cut(treeId, 80)}`;
    const question: Question = {
      seq,
      at,
      requestId,
      what,
      rule: data.why,
      askedOf: "person",
      signs: true,
      steps: [],
      open: false,
    };
    this.#list.add(question);
    remember(this.#asked, requestId, { question, call: null });
  }

  answered(seq: number, at: string, data: EventMap["request.answered"]): void {
    const answers =
      data.answers === undefined
        ? ""
        : Object.entries(data.answers)
            .map(([q, a]) => `${q}: ${a}`)
            .join("\n");
    const note = [data.note ?? "", answers].filter((text) => text !== "").join("\n");
    const answer: CallAnswer = {
      at,
      decision: data.decision,
      by: data.by,
      via: data.via,
      ...(note !== "" && { note: bounded(note, 2_000) }),
    };
    const asked = this.#asked.get(data.requestId);
    /* The decider's word and the answer that it led to are one step for people. */
    const last = asked?.question.steps.at(-1);
    const isSaid = data.by === "decider" && last?.by === "decider" && last.decision === answer.decision;
    if (!isSaid) addStep(asked?.question, answer);
    if (asked?.call) asked.call.answer = answer;
    const title = `${asked?.question.what ?? data.requestId}: ${ANSWERED[data.decision]} by ${WHO[data.by]}`;
    this.#chapters.add(
      {
        seq,
        at,
        kind: "answer",
        title: cut(title, 600),
        ...(answer.note !== undefined && { detail: answer.note }),
        ...(data.decision === "deny" && { tone: "bad" as const }),
      },
      false,
    );
    if (data.decision === "deny" && asked?.call)
      this.#refusals.add(asked.call, { seq, at, by: WHO[data.by], reason: answer.note });
  }

  /** A question about a call is there already; one about the conversation begins here. */
  deciderAsked(seq: number, at: string, { decisionId, kind, requestId }: EventMap["decision.asked"]): void {
    if (requestId !== undefined && this.#asked.has(requestId)) return;
    const what = ABOUT[kind] ?? kind;
    const question: Question = { seq, at, requestId: null, what, rule: "", askedOf: "decider", steps: [], open: false };
    this.#list.add(question);
    remember(this.#asked, keyOf(decisionId), { question, call: null });
  }

  decided(seq: number, at: string, data: EventMap["decision.made"]): void {
    const note = decisionNote(data);
    const step: CallAnswer = {
      at,
      decision: cut(data.decision, 100),
      by: "decider",
      via: "decision",
      ...(note !== "" && { note: bounded(note, 2_000) }),
    };
    const byRequest = data.requestId === undefined ? undefined : this.#asked.get(data.requestId);
    const asked = byRequest ?? this.#asked.get(keyOf(data.decisionId));
    const what =
      asked?.question.what ?? (data.kind === undefined ? "what comes next" : (ABOUT[data.kind] ?? data.kind));
    if (asked !== undefined) addStep(asked.question, step);
    else this.#list.add({ seq, at, requestId: null, what, rule: "", askedOf: "decider", steps: [step], open: false });
    this.#chapters.add(
      {
        seq,
        at,
        kind: "answer",
        title: cut(`Decision Worker on ${what}: ${step.decision}`, 600),
        ...(step.note !== undefined && { detail: step.note }),
        ...((data.decision === "unavailable" || data.decision === "escalate") && { tone: "warn" as const }),
      },
      false,
    );
  }
}

const ANSWERED = { approve: "approved", deny: "denied", answer: "answered" } as const;

const WHO = { person: "a person", decider: "the Decision Worker", supervisor: "the supervisor" } as const;

const ABOUT: Readonly<Record<string, string>> = {
  tool: "a call",
  question: "a question of Claude",
  plan: "a plan of Claude",
  "turn-end": "the end of the turn",
  exit: "Claude's unexpected end",
};

function keyOf(decisionId: string | undefined): string {
  return `decision ${decisionId ?? ""}`;
}

/** The reason, and what became of the decision where it did not stand as it was. */
function decisionNote({ reason, code, category, meant, message, late }: EventMap["decision.made"]): string {
  return [
    reason ?? "",
    code === undefined ? "" : `(${code})`,
    meant === undefined ? "" : `It would have said "${meant}", but ${category ?? "this"} is a person's to decide.`,
    message === undefined ? "" : `To Claude: ${message}`,
    late === true ? "It came too late and changed nothing." : "",
  ]
    .filter((text) => text !== "")
    .join("\n");
}

/** A question that is asked and answered over and over keeps its first and newest answers. */
function addStep(question: Question | undefined, step: CallAnswer): void {
  if (question === undefined) return;
  question.steps.push(step);
  if (question.steps.length > MAX_STEPS) question.steps.splice(1, 1);
}

function isNoAnswer(step: CallAnswer): boolean {
  return step.via === "decision";
}

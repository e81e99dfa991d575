/**
 * The events of one task, one by one, into what a report tells. Memory is bounded by the limits of the lists, whatever
 * the length of the log: about 40 MB for the worst log, 3 MB for one of 2,000 records.
 */
import type { EventMap, StoredEvent, TaskEvent } from "../core/events.ts";
import { foldOne, isKnown } from "../core/fold.ts";
import { costUsd } from "../core/machine/budgets.ts";
import { initialState, type TaskState } from "../core/machine/state.ts";
import { cut } from "../core/text.ts";
import { bounded, inputText, subjectOf } from "./call.ts";
import { Chapters } from "./chapters.ts";
import { Clockwork } from "./clockwork.ts";
import type { ReportView } from "./history.ts";
import type {
  Call,
  CallAnswer,
  Changes,
  Entry,
  FileChange,
  Question,
  Refusal,
  Report,
  Round,
  Verdict,
} from "./model.ts";
import { tell } from "./tell.ts";
import { tokensOf, UsageLine } from "./usage.ts";
import { number } from "./words.ts";

const MAX_REFUSALS = 300;
const MAX_QUESTIONS = 300;
const MAX_ROUNDS = 100;
const MAX_COMMANDS = 40;
const MAX_FINDINGS = 200;
const MAX_FILES = 500;
const MAX_NOTICES = 100;
const MAX_OPEN = 1_000;
const MAX_STEPS = 10;
const MAX_NAMES = 200;

export class Collector {
  #state: TaskState;
  #records = 0;
  readonly #chapters = new Chapters();
  readonly #clock = new Clockwork();
  readonly #usage = new UsageLine();
  readonly #calls: Report["calls"] = { byTool: {}, errors: 0, notRun: 0, nested: 0 };
  /** Calls that wait for their result, by tool_use_id; and those that somebody is asked about, by request. */
  readonly #open = new Map<string, Call>();
  readonly #asked = new Map<string, { question: Question; call: Call | null }>();
  readonly #refusals = new Tail<Refusal>(MAX_REFUSALS);
  readonly #refusalsByRule: Record<string, number> = {};
  readonly #questions = new Tail<Question>(MAX_QUESTIONS);
  readonly #rounds = new Tail<Round>(MAX_ROUNDS);
  readonly #notices = new Tail<Entry>(MAX_NOTICES);
  #changes: Changes | null = null;

  constructor(taskId: string) {
    this.#state = initialState(taskId);
  }

  /** The next record of the log. */
  add(stored: StoredEvent): void {
    const before = this.#state;
    this.#state = foldOne(before, stored);
    this.#records += 1;
    this.#clock.pass(before, stored.at, stored.type === "owner.claimed");
    if (isKnown(stored.type)) this.#take(stored as TaskEvent);
  }

  /** `damage`: why the log could be read only up to here. */
  done(view: ReportView, damage: string | null = null): Report {
    const pending = new Set(view.requests.map((request) => request.requestId));
    for (const question of this.#questions.items)
      question.open =
        question.requestId !== null && pending.has(question.requestId) && question.steps.every(isNoAnswer);
    return {
      view,
      state: this.#state,
      records: this.#records,
      lastSeq: this.#state.seq,
      damage,
      ...this.#chapters.done(),
      calls: this.#calls,
      refusals: this.#refusals.items,
      refusalsByRule: this.#refusalsByRule,
      moreRefusals: this.#refusals.more,
      questions: this.#questions.items,
      moreQuestions: this.#questions.more,
      rounds: this.#rounds.items,
      moreRounds: this.#rounds.more,
      usage: this.#usage.done(),
      changes: this.#changes,
      time: this.#clock.done(),
      notices: this.#notices.items,
      moreNotices: this.#notices.more,
    };
  }

  #take(event: TaskEvent): void {
    const { seq, at } = event;
    switch (event.type) {
      case "prompt.intent":
        this.#chapters.begin(seq, at, event.data.source, bounded(event.data.text));
        return;
      case "gate.verdict":
        this.#verdict(seq, at, event.data);
        return;
      case "gate.not-run": {
        this.#calls.notRun += 1;
        const call = this.#open.get(event.data.toolUseId);
        if (call) call.notRun = event.data.why;
        return;
      }
      case "tool.result":
        this.#result(at, event.data);
        return;
      case "request.answered":
        this.#answered(seq, at, event.data);
        return;
      case "decision.made":
        this.#decided(seq, at, event.data);
        return;
      case "turn.result":
        this.#turnOver(at, event.data);
        break;
      case "signoff.requested":
        this.#signOff(seq, at, event.data);
        break;
      case "verify.finished":
        this.#round(seq, at, event.data);
        break;
      default:
        break;
    }
    const told = tell(event);
    if (told === null) return;
    const { ordinary, ...rest } = told;
    const entry: Entry = { seq, at, ...rest, title: cut(rest.title, 600) };
    this.#chapters.add(entry, ordinary === true);
    if (entry.kind === "trouble" && ordinary !== true) this.#notices.add(entry);
  }

  #verdict(seq: number, at: string, data: EventMap["gate.verdict"]): void {
    const call: Call = {
      tool: cut(data.toolName, 100),
      subject: subjectOf(data.input, this.#state.spec?.cwd ?? ""),
      input: inputText(data.input),
      verdict: data.verdict,
      rule: cut(data.rule, 200),
      reason: bounded(data.reason, 1_000),
      nested: data.agentId !== undefined,
      late: data.late === true,
      ...(data.requestId !== undefined && { requestId: data.requestId }),
    };
    count(this.#calls.byTool, call.tool, data.verdict);
    if (call.nested) this.#calls.nested += 1;
    const tone =
      data.verdict === "deny" ? { tone: "bad" as const } : data.verdict === "allow" ? {} : { tone: "warn" as const };
    this.#chapters.add(
      { seq, at, kind: "call", title: `${call.tool} ${call.subject}`, ...tone, call },
      data.verdict === "allow",
    );
    const chapter = this.#chapters.now(seq, at);
    chapter.calls += 1;
    if (data.verdict === "deny") chapter.refused += 1;
    else if (data.verdict !== "allow") chapter.asked += 1;
    remember(this.#open, data.toolUseId, call);
    if (data.verdict === "deny") this.#refuse({ seq, at, ...ofCall(call), by: "the gate" });
    if (data.requestId !== undefined) this.#ask(seq, at, data.requestId, call);
  }

  #ask(seq: number, at: string, requestId: string, call: Call): void {
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
      askedOf: this.#state.requests[requestId]?.askedOf ?? "person",
      steps: [],
      open: false,
    };
    this.#questions.add(question);
    remember(this.#asked, requestId, { question, call });
  }

  #signOff(seq: number, at: string, data: EventMap["signoff.requested"]): void {
    const { requestId, round, treeId } = data;
    const what = `Sign-off of round ${round}, tree ${cut(treeId, 80)}`;
    const question: Question = { seq, at, requestId, what, rule: data.why, askedOf: "person", steps: [], open: false };
    this.#questions.add(question);
    remember(this.#asked, requestId, { question, call: null });
  }

  #answered(seq: number, at: string, data: EventMap["request.answered"]): void {
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
    addStep(asked?.question, answer);
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
      this.#refuse({
        seq,
        at,
        ...ofCall(asked.call),
        ...(answer.note !== undefined && { reason: answer.note }),
        by: WHO[data.by],
      });
  }

  #decided(seq: number, at: string, data: EventMap["decision.made"]): void {
    const step: CallAnswer = {
      at,
      decision: cut(data.decision, 100),
      by: "decider",
      via: "decision",
      ...(data.reason !== undefined && { note: bounded(data.reason, 2_000) }),
    };
    const asked = data.requestId === undefined ? undefined : this.#asked.get(data.requestId);
    const what = asked?.question.what ?? "What comes next";
    if (asked !== undefined) addStep(asked.question, step);
    else
      this.#questions.add({
        seq,
        at,
        requestId: data.requestId ?? null,
        what,
        rule: "",
        askedOf: "decider",
        steps: [step],
        open: false,
      });
    this.#chapters.add(
      {
        seq,
        at,
        kind: "answer",
        title: `Decision Worker on ${what}: ${step.decision}`,
        ...(step.note !== undefined && { detail: step.note }),
      },
      false,
    );
  }

  #result(at: string, data: EventMap["tool.result"]): void {
    const call = this.#open.get(data.toolUseId);
    if (data.isError && !data.wrapped && !data.aborted) {
      this.#calls.errors += 1;
      this.#chapters.now(this.#state.seq, at).errors += 1;
    }
    if (call === undefined) return;
    call.result = { at, isError: data.isError, preview: bounded(data.preview, 2_000), chars: data.chars };
    this.#open.delete(data.toolUseId);
  }

  #turnOver(at: string, data: EventMap["turn.result"]): void {
    if (data.late === true) return;
    const cost = costUsd(this.#state) ?? null;
    const last = this.#usage.done().at(-1)?.costUsd ?? 0;
    this.#usage.add(at, cost, data.usage);
    const chapter = this.#chapters.now(this.#state.seq, at);
    if (cost !== null) chapter.costUsd = (chapter.costUsd ?? 0) + Math.max(0, cost - last);
    const point = this.#usage.done().at(-1);
    if (point && data.usage !== undefined) chapter.tokens = (chapter.tokens ?? 0) + tokensOfUsage(data.usage);
  }

  #round(seq: number, at: string, data: EventMap["verify.finished"]): void {
    const facts = {
      ...data,
      commands: data.commands.slice(0, MAX_COMMANDS),
      findings: data.findings.slice(0, MAX_FINDINGS),
    };
    this.#rounds.add({ seq, at, facts });
    const files = filesOf(data);
    if (files !== null) this.#changes = files;
  }

  #refuse(refusal: Refusal): void {
    this.#refusals.add(refusal);
    tally(this.#refusalsByRule, refusal.rule);
  }
}

/** The newest of a list, and how many came before them. */
class Tail<T> {
  readonly items: T[] = [];
  more = 0;
  readonly #max: number;

  constructor(max: number) {
    this.#max = max;
  }

  add(item: T): void {
    this.items.push(item);
    if (this.items.length <= this.#max) return;
    this.items.shift();
    this.more += 1;
  }
}

const ANSWERED = { approve: "approved", deny: "denied", answer: "answered" } as const;
const WHO = { person: "a person", decider: "the Decision Worker", supervisor: "the supervisor" } as const;

function ofCall(call: Call): Pick<Refusal, "tool" | "subject" | "rule" | "reason"> {
  const { tool, subject, rule, reason } = call;
  return { tool, subject, rule, reason };
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

function tokensOfUsage(usage: NonNullable<EventMap["turn.result"]["usage"]>): number {
  return tokensOf({
    input: usage.inputTokens ?? 0,
    output: usage.outputTokens ?? 0,
    cacheRead: usage.cacheReadTokens ?? 0,
    cacheCreation: usage.cacheCreationTokens ?? 0,
  });
}

/** Large enough to be named with its size (bytes). */
const LARGE = 1_000_000;

function filesOf({ changes, round }: EventMap["verify.finished"]): Changes | null {
  if (changes === undefined) return null;
  const files = changes.files.slice(0, MAX_FILES).map(({ path, status, kind, size, added, deleted }): FileChange => {
    const notes = [
      ...(kind === "text" ? [] : [kind]),
      ...(kind === "binary" || size > LARGE ? [`${number(size)} bytes`] : []),
    ];
    return {
      path,
      status,
      ...(added !== undefined && { added }),
      ...(deleted !== undefined && { deleted }),
      ...(notes.length > 0 && { note: notes.join(", ") }),
    };
  });
  const more = changes.more + Math.max(0, changes.files.length - MAX_FILES);
  return { files, more, added: changes.added, deleted: changes.deleted, round };
}

function count(table: Record<string, Record<Verdict, number>>, name: string, verdict: Verdict): void {
  const key = Object.hasOwn(table, name) || Object.keys(table).length < MAX_NAMES ? name : "other";
  const row = Object.hasOwn(table, key) ? table[key] : undefined;
  const next = row ?? { allow: 0, review: 0, person: 0, deny: 0 };
  next[verdict] += 1;
  Object.defineProperty(table, key, { value: next, enumerable: true, writable: true, configurable: true });
}

/** Counts a name of the outside; `__proto__` is a name like any other. */
export function tally(table: Record<string, number>, name: string, by = 1): void {
  const key = Object.hasOwn(table, name) || Object.keys(table).length < MAX_NAMES ? name : "other";
  const value = (Object.hasOwn(table, key) ? (table[key] ?? 0) : 0) + by;
  Object.defineProperty(table, key, { value, enumerable: true, writable: true, configurable: true });
}

function remember<V>(map: Map<string, V>, key: string, value: V): void {
  map.set(key, value);
  if (map.size <= MAX_OPEN) return;
  const [oldest] = map.keys();
  if (oldest !== undefined) map.delete(oldest);
}

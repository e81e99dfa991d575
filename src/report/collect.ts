/**
 * The events of one task, one by one, into what a report tells. Memory is bounded by the limits of the lists, whatever
 * the length of the log: 1 MB for 2,000 records, 65 MB for 120,000 that are as wide as they can be.
 */
import type { EventMap, StoredEvent, TaskEvent } from "../core/events.ts";
import { foldOne, isKnown } from "../core/fold.ts";
import { costUsd } from "../core/machine/budgets.ts";
import { initialState, type TaskState } from "../core/machine/state.ts";
import { cut } from "../core/text.ts";
import { bounded, inputText, subjectOf } from "./call.ts";
import { changesOf } from "./changes.ts";
import { Chapters } from "./chapters.ts";
import { Clockwork } from "./clockwork.ts";
import type { ReportView } from "./history.ts";
import type { Call, Changes, Entry, Report, Round, Verdict } from "./model.ts";
import { Questions } from "./questions.ts";
import { Refusals } from "./refusals.ts";
import { MAX_NAMES, remember, Tail } from "./tail.ts";
import { tell } from "./tell.ts";
import { tokensOf, UsageLine } from "./usage.ts";

const MAX_ROUNDS = 100;
const MAX_COMMANDS = 40;
const MAX_FINDINGS = 200;
const MAX_NOTICES = 100;

export class Collector {
  #state: TaskState;
  #records = 0;
  readonly #chapters = new Chapters();
  readonly #clock = new Clockwork();
  readonly #usage = new UsageLine();
  readonly #calls: Report["calls"] = { byTool: {}, errors: 0, notRun: 0, nested: 0 };
  /** Calls that wait for their result, by tool_use_id. */
  readonly #open = new Map<string, Call>();
  readonly #refusals = new Refusals();
  readonly #questions = new Questions(this.#chapters, this.#refusals);
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
    return {
      view,
      state: this.#state,
      records: this.#records,
      lastSeq: this.#state.seq,
      damage,
      ...this.#chapters.done(),
      calls: this.#calls,
      refusals: this.#refusals.items,
      refusalsByRule: this.#refusals.byRule,
      moreRefusals: this.#refusals.more,
      ...this.#questions.done(pending),
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
        this.#questions.answered(seq, at, event.data);
        return;
      case "decision.asked":
        this.#questions.deciderAsked(seq, at, event.data);
        return;
      case "decision.made":
        this.#questions.decided(seq, at, event.data);
        return;
      case "turn.result":
        this.#turnOver(at, event.data);
        break;
      case "signoff.requested":
        this.#questions.signOff(seq, at, event.data);
        break;
      case "verify.finished":
        this.#round(seq, at, event.data);
        break;
      case "review.finished":
        this.#review(seq, at, event.data);
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
    if (data.verdict === "deny") this.#refusals.add(call, { seq, at, by: "the gate" });
    if (data.requestId === undefined) return;
    const askedOf = this.#state.requests[data.requestId]?.askedOf ?? "person";
    this.#questions.ask(seq, at, { requestId: data.requestId, call, askedOf });
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

  #review(seq: number, at: string, data: EventMap["review.finished"]): void {
    const round = this.#rounds.items.findLast(({ facts }) => facts.round === data.round);
    if (round === undefined || data.late === true) return;
    round.review = { seq, at, facts: { ...data, findings: data.findings.slice(0, MAX_FINDINGS) } };
  }

  #round(seq: number, at: string, data: EventMap["verify.finished"]): void {
    const facts = {
      ...data,
      commands: data.commands.slice(0, MAX_COMMANDS),
      findings: data.findings.slice(0, MAX_FINDINGS),
    };
    this.#rounds.add({ seq, at, facts });
    this.#changes = changesOf(data) ?? this.#changes;
  }
}

function tokensOfUsage(usage: NonNullable<EventMap["turn.result"]["usage"]>): number {
  return tokensOf({
    input: usage.inputTokens ?? 0,
    output: usage.outputTokens ?? 0,
    cacheRead: usage.cacheReadTokens ?? 0,
    cacheCreation: usage.cacheCreationTokens ?? 0,
  });
}

function count(table: Record<string, Record<Verdict, number>>, name: string, verdict: Verdict): void {
  const key = Object.hasOwn(table, name) || Object.keys(table).length < MAX_NAMES ? name : "other";
  const row = Object.hasOwn(table, key) ? table[key] : undefined;
  const next = row ?? { allow: 0, review: 0, person: 0, deny: 0 };
  next[verdict] += 1;
  Object.defineProperty(table, key, { value: next, enumerable: true, writable: true, configurable: true });
}

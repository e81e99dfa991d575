/** What counts as no progress, what does not, and what each budget comes to: at its warning, at its end, and after it. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { EventDraft, EventMap, StoredEvent } from "../../src/core/events.ts";
import { fold } from "../../src/core/fold.ts";
import { waitsFor } from "../../src/core/machine/project.ts";
import type { TaskSpec, TaskState } from "../../src/core/machine/state.ts";
import { finished, type Play, recovering, result, review, sent, verifying, working } from "./play.ts";
import { spec } from "./random-events.ts";

const limits = (more: Partial<TaskSpec["limits"]>): Partial<EventMap["task.created"]> => ({
  limits: { ...spec().limits, maxRounds: 20, ...more },
});

const replayed = (play: Play): TaskState => fold("t", play.log as unknown as StoredEvent[]);

interface Turn {
  said?: string;
  tree: string;
  /** What came of its verification; `continue`: the decider had the worker go on instead. */
  end?: "fail" | "pass" | "continue";
  /** A person's act after it. */
  act?: EventDraft;
}

const message: EventDraft = {
  type: "prompt.queued",
  data: { promptId: "own", source: "person", text: "another way", redacted: false },
};

/** Each turn ends with these words on this tree; the last one's verification is looked at. */
function turns(list: readonly Turn[]): Play {
  const play = working(limits({}));
  play.verifies = false;
  for (const [index, { said, tree, end = "fail", act }] of list.entries()) {
    play.feed(result(said === undefined ? {} : { said, chars: said.length }));
    const asked = play.effects.find((effect) => effect.kind === "decide");
    const decisionId = asked?.kind === "decide" ? asked.decisionId : "";
    const decision = end === "continue" ? ("continue" as const) : ("verify" as const);
    const more = end === "continue" ? { message: "go on" } : {};
    if (asked) {
      play.feed(
        { type: "decision.asked", data: { decisionId, kind: "turn-end", treeId: tree } },
        { type: "decision.made", data: { decisionId, kind: "turn-end", decision, reason: "r", ...more } },
      );
    }
    if (end !== "continue") play.feed(verifying, finished(end, { treeId: tree }));
    if (play.held !== undefined && act === undefined) return play;
    if (act) play.feed(act);
    const source = end === "continue" ? "decider" : act?.type === "prompt.queued" ? "person" : "verifier";
    play.feed(...sent(source === "person" ? "own" : `p${index + 2}`, source));
  }
  return play;
}

describe("the end of two turns", () => {
  const table: { what: string; list: Turn[]; stalls: boolean }[] = [
    {
      what: "with the same words on an unchanged tree",
      list: [
        { said: "a", tree: "t1" },
        { said: "a", tree: "t1" },
      ],
      stalls: true,
    },
    {
      what: "with other words",
      list: [
        { said: "a", tree: "t1" },
        { said: "b", tree: "t1" },
      ],
      stalls: false,
    },
    {
      what: "with the same words on a changed tree",
      list: [
        { said: "a", tree: "t1" },
        { said: "a", tree: "t2" },
      ],
      stalls: false,
    },
    {
      what: "with the same words on a tree that went and came back",
      list: [
        { said: "a", tree: "t1" },
        { said: "b", tree: "t2" },
        { said: "a", tree: "t1" },
      ],
      stalls: false,
    },
    { what: "without any words", list: [{ tree: "t1" }, { tree: "t1" }], stalls: false },
    {
      what: "with the same words, when the decider had the worker go on between them",
      list: [
        { said: "a", tree: "t1", end: "continue" },
        { said: "a", tree: "t1" },
      ],
      stalls: true,
    },
    {
      what: "with the same words, when the second passes",
      list: [
        { said: "a", tree: "t1" },
        { said: "a", tree: "t1", end: "pass" },
      ],
      stalls: false,
    },
    {
      what: "with the same words, when a person said something between them",
      list: [
        { said: "a", tree: "t1", act: message },
        { said: "a", tree: "t1" },
      ],
      stalls: false,
    },
  ];
  for (const { what, list, stalls } of table)
    test(`${what} ${stalls ? "waits for a person" : "is no stall"}`, () => {
      const play = turns(list);
      assert.equal(play.held, stalls ? "stalled" : undefined, play.state.hold?.message);
      if (stalls) assert.deepEqual([play.name, waitsFor(play.state)], ["human_required", "person"]);
    });

  test("one turn that is looked at twice (by the decider, by the verification) counts once", () => {
    assert.equal(turns([{ said: "a", tree: "t1" }]).state.stall.results?.times, 1);
  });

  test("after a stall and a person's message the count begins anew; after a recovery too", () => {
    const equal: Turn = { said: "a", tree: "t1" };
    assert.equal(turns([equal, { ...equal, act: message }, equal]).held, undefined);
    const play = turns([equal, equal]).feed(recovering);
    assert.equal(play.state.stall.results, null);
  });

  test("of another release, whose log has no words' hashes, is never taken for a stall", () => {
    const play = turns([{ tree: "t1" }, { said: "a", tree: "t1" }, { tree: "t1" }]);
    assert.equal(play.state.stall.results, null);
    assert.equal(play.held, "stalled", "three failing rounds on one tree still are");
    assert.match(play.state.hold?.message ?? "", /3 times on the same tree/);
  });

  test("replayed from its log is the same stall", () => {
    const play = turns([
      { said: "a", tree: "t1", end: "continue" },
      { said: "a", tree: "t1" },
    ]);
    const again: TaskState = replayed(play);
    assert.deepEqual(again, play.state);
  });
});

describe("a worker that loops on a denied ask", () => {
  const denied = (n: number): EventDraft => ({
    type: "gate.verdict",
    data: {
      callId: `c${n}`,
      via: "hook",
      toolUseId: `t${n}`,
      toolName: "Bash",
      verdict: "deny",
      rule: "r",
      reason: "no",
      input: {},
      cwd: "/workspace",
      ask: "same",
    },
  });
  test("is stopped by the third denial: its turn is ended, nothing more is sent, and later calls are denied too", () => {
    const play = working();
    const ends = [1, 2, 3, 4, 5].map((n) => {
      play.feed(denied(n));
      return play.effects.some((effect) => effect.kind === "reply" && effect.reply.endTurn === true);
    });
    assert.deepEqual(ends, [false, false, true, true, true]);
    assert.equal(play.held, "stalled");
    assert.deepEqual(play.feed(result({ terminalReason: "hook_stopped" })).kinds(), []);
  });
});

interface Budget {
  what: string;
  more: Partial<TaskSpec["limits"]>;
  /** At four fifths of it. */
  near: EventDraft[];
  warning: string | null;
  /** At its end, from the beginning. */
  over: EventDraft[];
  /** What stands then. */
  comesTo: (play: Play) => unknown;
  is: unknown;
}

const round = (n: number): EventDraft[] => [
  result({ said: `w${n}` }),
  verifying,
  finished("fail", { treeId: `t${n}` }),
  ...sent(`p${n + 1}`, "verifier"),
];
const rounds = (count: number): EventDraft[] =>
  Array.from({ length: count }, (_, n) => round(n + 1))
    .flat()
    .slice(0, -2);
const fired = (name: string): EventDraft => ({ type: "timer.fired", data: { name } });
const reason = (play: Play): unknown => play.held;
/** The decider answers one call: as often as it is fed. */
const judged = (n: number): EventDraft[] => [review(`r${n}`, `tool${n}`)];

const BUDGETS: Budget[] = [
  {
    what: "rounds",
    more: { maxRounds: 5 },
    near: rounds(4),
    warning: "rounds",
    over: rounds(5),
    comesTo: reason,
    is: "rounds-exhausted",
  },
  {
    what: "turns of one run",
    more: { maxTurns: 10 },
    near: [result({ numTurns: 8 })],
    warning: "turns",
    over: [result({ subtype: "error_max_turns", isError: true, terminalReason: "max_turns", numTurns: 10 })],
    comesTo: reason,
    is: "turns-exhausted",
  },
  {
    what: "wall clock",
    more: {},
    near: [fired("wall-warning")],
    warning: "wall-clock",
    over: [fired("wall"), fired("close-out")],
    comesTo: ({ state: { stop } }) => (stop.kind === "requested" ? [stop.by, stop.cause] : stop.kind),
    is: ["watchdog", "wall-clock"],
  },
  {
    what: "money",
    more: { budgetUsd: 1 },
    near: [result({ costUsd: 0.8 })],
    warning: "usd",
    over: [result({ costUsd: 1.2 }), verifying, finished("fail")],
    comesTo: reason,
    is: "budget-usd",
  },
  {
    what: "money of a day",
    more: {},
    near: [],
    warning: null,
    over: [{ type: "budget.exhausted", data: { budget: "per-day-usd", used: 2, limit: 1, text: "t" } }],
    comesTo: reason,
    is: "per-day-usd",
  },
  {
    what: "decisions of a day",
    more: {},
    near: [],
    warning: null,
    over: [{ type: "budget.exhausted", data: { budget: "per-day-decisions", used: 2, limit: 1, text: "t" } }],
    comesTo: reason,
    is: "per-day-decisions",
  },
];

describe("a budget", () => {
  const warnings = (play: Play): string[] =>
    play.log.flatMap((event) => (event.type === "budget.warning" ? [String(event.data.budget)] : []));
  for (const { what, more, near, warning, over, comesTo, is } of BUDGETS) {
    if (warning !== null)
      test(`of ${what} is told at 80 %, once, and nothing stops for it`, () => {
        const play = working(limits(more)).feed(...near);
        assert.deepEqual(warnings(play), [warning]);
        assert.equal(play.held, undefined);
        assert.equal(play.state.stop.kind, "none");
      });
    test(`of ${what} that is used up comes to: ${JSON.stringify(is)}`, () => {
      const play = working(limits(more)).feed(...over.slice(0, -1));
      play.feed(...over.slice(-1));
      assert.deepEqual(comesTo(play), is);
      assert.ok(!play.kinds().includes("send"), "nothing more is sent");
      assert.deepEqual(replayed(play), play.state);
    });
  }

  test("of decisions is told at 80 %, and at its end every question is a person's", () => {
    const play = working(limits({ maxDecisions: 5 }));
    for (let n = 1; n <= 5; n++) {
      play.feed(...judged(n));
      const asked = play.effects.find((effect) => effect.kind === "decide");
      assert.ok(asked?.kind === "decide", `question ${n} is the decider's`);
      const { decisionId } = asked;
      const named = { decisionId, kind: "tool", requestId: `r${n}` } as const;
      play.feed(
        { type: "decision.asked", data: named },
        { type: "decision.made", data: { ...named, decision: "approve", reason: "r" } },
        { type: "request.replied", data: { requestId: `r${n}`, ok: true } },
      );
    }
    assert.deepEqual(warnings(play), ["decisions"]);
    play.feed(...judged(6));
    assert.deepEqual([play.name, waitsFor(play.state)], ["human_required", "approval"]);
  });

  test("of a day lets go of the task when there is room again, and of nothing else", () => {
    const used: EventDraft = {
      type: "budget.exhausted",
      data: { budget: "per-day-usd", used: 2, limit: 1, text: "t" },
    };
    const renewed = (budget: "per-day-usd" | "per-day-decisions"): EventDraft => ({
      type: "budget.renewed",
      data: { budget, text: "t" },
    });
    const play = working(limits({})).feed(result(), verifying, used, finished("fail"));
    assert.deepEqual([play.held, play.kinds().includes("send")], ["per-day-usd", false]);
    play.feed(renewed("per-day-decisions"));
    assert.equal(play.held, "per-day-usd");
    play.feed(renewed("per-day-usd"));
    assert.deepEqual([play.held, play.kinds()], [undefined, ["send"]], "the evidence that was held back");

    const stalled = working(limits({ maxRounds: 1 })).feed(...rounds(1), renewed("per-day-usd"));
    assert.equal(stalled.held, "rounds-exhausted");
  });
});

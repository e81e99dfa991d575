/** How strictly an answer is read: one table of what the model did and what it means. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import type { DecisionCall, DecisionKind } from "../../src/core/contracts/decision.ts";
import { ALLOWED, type Asked, judge, MAX_ANSWER, MAX_MESSAGE, MAX_REASON } from "../../src/decision/judge.ts";

const KINDS: readonly DecisionKind[] = ["tool", "question", "plan", "turn-end", "exit"];
const ALL = ["approve", "deny", "answer", "continue", "verify", "escalate"];
const colour = { question: "Which color?", options: [{ label: "Red" }, { label: "Dark Blue" }], multiSelect: false };
const parts = {
  question: "Which parts?",
  options: [{ label: "A, b" }, { label: "C" }, { label: "D" }],
  multiSelect: true,
};

const asked = (kind: DecisionKind): Asked => (kind === "question" ? { kind, questions: [colour] } : { kind });
const decide = (fields: object): DecisionCall[] => [{ name: "decide", arguments: { reason: "Because.", ...fields } }];
const full = { category: "detail", answers: { "Which color?": "Red" }, message: "Go on." };

describe("an answer", () => {
  for (const kind of KINDS) {
    for (const decision of ALL) {
      const isAllowed = (ALLOWED[kind] as readonly string[]).includes(decision);
      test(`"${decision}" to a ${kind} question is ${isAllowed ? "taken" : "nothing"}`, () => {
        const judged = judge(asked(kind), decide({ ...full, decision }));
        if (isAllowed) assert.equal(judged.decision, decision);
        else assert.deepEqual([judged.decision, "code" in judged && judged.code], ["unavailable", "wrong-decision"]);
      });
    }
  }

  const faults: readonly [string, DecisionCall[], string][] = [
    ["no call", [], "no-call"],
    ["another tool", [{ name: "bash", arguments: { decision: "approve", reason: "x" } }], "no-call"],
    ["two equal calls", [...decide({ decision: "approve" }), ...decide({ decision: "approve" })], "two-calls"],
    ["a call and another tool", [...decide({ decision: "approve" }), { name: "bash", arguments: {} }], "two-calls"],
    [
      "arguments that are a text",
      [{ name: "decide", arguments: '{"decision":"approve","reason":"x"}' }],
      "wrong-decision",
    ],
    ["arguments that are null", [{ name: "decide", arguments: null }], "wrong-decision"],
    ["arguments that are a list", [{ name: "decide", arguments: ["approve"] }], "wrong-decision"],
    ["a decision in capitals", decide({ decision: "APPROVE" }), "wrong-decision"],
    ["a decision with words around it", decide({ decision: "approve it" }), "wrong-decision"],
    ["a decision that is a list", decide({ decision: ["approve"] }), "wrong-decision"],
    [
      "a decision from the prototype",
      [{ name: "decide", arguments: Object.create({ decision: "approve", reason: "x" }) }],
      "wrong-decision",
    ],
    ["an approval without a reason", [{ name: "decide", arguments: { decision: "approve" } }], "wrong-decision"],
    ["an approval with an empty reason", decide({ decision: "approve", reason: " \n" }), "wrong-decision"],
    ["a reason that is no text", decide({ decision: "approve", reason: 1 }), "wrong-decision"],
  ];
  for (const [what, calls, code] of faults) {
    test(`with ${what} is nothing`, () => {
      const judged = judge({ kind: "tool" }, calls);
      assert.deepEqual([judged.decision, "code" in judged && judged.code], ["unavailable", code]);
    });
  }

  test("that denies or escalates is taken without a reason, too", () => {
    for (const decision of ["deny", "escalate"]) {
      const judged = judge({ kind: "tool" }, [{ name: "decide", arguments: { decision } }]);
      assert.deepEqual(judged, { decision, reason: "No reason was given." });
    }
  });

  test("of any shape never approves a question, a turn's end or an exit, and never rejects", () => {
    const call = fc.record({
      name: fc.constantFrom("decide", "bash"),
      arguments: fc.oneof(
        fc.anything(),
        fc.record(
          {
            decision: fc.constantFrom(...ALL),
            reason: fc.anything(),
            answers: fc.anything(),
            message: fc.anything(),
            category: fc.anything(),
          },
          { requiredKeys: [] },
        ),
      ),
    });
    fc.assert(
      fc.property(fc.constantFrom(...KINDS), fc.array(call, { maxLength: 3 }), (kind, calls) => {
        const judged = judge(asked(kind), calls);
        assert.ok(
          judged.decision === "unavailable" ||
            (ALLOWED[kind] as readonly string[]).includes(judged.decision) ||
            judged.decision === "escalate",
        );
        if (judged.decision === "approve") assert.ok(calls.length === 1 && (kind === "tool" || kind === "plan"));
      }),
      { numRuns: 500 },
    );
  });
});

describe("a category", () => {
  for (const category of ["architecture", "scope", "risk", "Detail", "unheard-of", "", null, 1, undefined]) {
    test(`${JSON.stringify(category)} makes an answer and an approved plan an escalation`, () => {
      const named = ["architecture", "scope"].includes(String(category)) ? category : "risk";
      const fields = { ...full, category, decision: "answer" };
      assert.deepEqual(judge(asked("question"), decide(fields)), {
        decision: "escalate",
        reason: "Because.",
        category: named,
        meant: "answer",
      });
      assert.deepEqual(judge({ kind: "plan" }, decide({ ...fields, decision: "approve" })), {
        decision: "escalate",
        reason: "Because.",
        category: named,
        meant: "approve",
      });
    });
  }

  test("goes along with an escalation", () => {
    const judged = judge({ kind: "tool" }, decide({ decision: "escalate", category: "scope" }));
    assert.deepEqual(judged, { decision: "escalate", reason: "Because.", category: "scope" });
    assert.deepEqual(judge({ kind: "tool" }, decide({ decision: "escalate" })), {
      decision: "escalate",
      reason: "Because.",
    });
  });

  test("counts for nothing where none is asked for", () => {
    assert.equal(judge({ kind: "tool" }, decide({ decision: "approve", category: "risk" })).decision, "approve");
    assert.equal(judge({ kind: "plan" }, decide({ decision: "deny", category: "risk" })).decision, "deny");
  });
});

describe("what could not be shown whole", () => {
  test("is not approved, but may be denied", () => {
    const partly: Asked = { kind: "tool", partly: true };
    assert.deepEqual(judge(partly, decide({ decision: "approve" })), {
      decision: "escalate",
      reason: "Because.",
      meant: "approve",
    });
    assert.equal(judge(partly, decide({ decision: "deny" })).decision, "deny");
  });
});

describe("answers to questions", () => {
  const table: readonly [string, unknown, string | undefined][] = [
    ["an exact label", { "Which color?": "Red" }, "Red"],
    ["a label in another case", { "Which color?": " dark blue " }, "Dark Blue"],
    ["free text", { "Which color?": "Something green" }, "Something green"],
    ["the question's number", { 1: "red" }, "Red"],
    ["more than was asked", { "Which color?": "Red", other: "x" }, "Red"],
    ["a list of one", { "Which color?": ["Red"] }, "Red"],
    ["a list of two where one counts", { "Which color?": ["Red", "Dark Blue"] }, undefined],
    ["an empty text", { "Which color?": " " }, undefined],
    ["no text", { "Which color?": 7 }, undefined],
    ["an empty list", { "Which color?": [] }, undefined],
    ["another question", { "What color?": "Red" }, undefined],
    ["nothing", {}, undefined],
    ["null", null, undefined],
    ["a text instead", "Red", undefined],
  ];
  for (const [what, answers, expected] of table) {
    test(`${what} ${expected === undefined ? "are no answer" : "are taken"}`, () => {
      const judged = judge(asked("question"), decide({ decision: "answer", category: "detail", answers }));
      if (expected === undefined) assert.equal(judged.decision, "unavailable");
      else assert.deepEqual(judged, { decision: "answer", reason: "Because.", answers: { "Which color?": expected } });
    });
  }

  test("need every question", () => {
    const both: Asked = { kind: "question", questions: [colour, parts] };
    const one = judge(both, decide({ decision: "answer", category: "detail", answers: { "Which color?": "Red" } }));
    assert.equal(one.decision, "unavailable");
    const two = judge(
      both,
      decide({ decision: "answer", category: "detail", answers: { "Which color?": "Red", 2: "c, d" } }),
    );
    assert.deepEqual(two, {
      decision: "answer",
      reason: "Because.",
      answers: { "Which color?": "Red", "Which parts?": "C, D" },
    });
  });

  test("keep a label that holds a comma", () => {
    const judged = judge(
      { kind: "question", questions: [parts] },
      decide({ decision: "answer", category: "detail", answers: { "Which parts?": ["a, B", "d"] } }),
    );
    assert.deepEqual("answers" in judged && judged.answers, { "Which parts?": "A, b, D" });
  });

  test("are impossible where no question can be read", () => {
    const judged = judge(
      { kind: "question", questions: [] },
      decide({ decision: "answer", category: "detail", answers: {} }),
    );
    assert.equal(judged.decision, "unavailable");
  });

  test("to a question named like a prototype's field stand by themselves", () => {
    const odd = { question: "__proto__", options: [], multiSelect: false };
    const answers = JSON.parse('{"__proto__":"yes"}') as unknown;
    const judged = judge(
      { kind: "question", questions: [odd] },
      decide({ decision: "answer", category: "detail", answers }),
    );
    assert.ok(judged.decision === "answer" && Object.hasOwn(judged.answers, "__proto__"));
  });
});

describe("long and odd texts", () => {
  test("are cut, not refused: a reason of a megabyte", () => {
    const judged = judge({ kind: "tool" }, decide({ decision: "approve", reason: "y".repeat(1_048_576) }));
    assert.ok(judged.decision === "approve" && judged.reason.length === MAX_REASON && judged.reason.endsWith("…"));
  });

  test("are cut: the message to the worker and an answer", () => {
    const goOn = judge({ kind: "turn-end" }, decide({ decision: "continue", message: "m".repeat(9_000) }));
    assert.ok(goOn.decision === "continue" && goOn.message?.length === MAX_MESSAGE);
    const answers = { "Which color?": "a".repeat(9_000) };
    const judged = judge(asked("question"), decide({ decision: "answer", category: "detail", answers }));
    assert.ok(judged.decision === "answer" && judged.answers["Which color?"]?.length === MAX_ANSWER);
  });

  test("hold no terminal sequence and no direction mark", () => {
    const judged = judge({ kind: "tool" }, decide({ decision: "approve", reason: "fine\u001b[2J\u202egnp" }));
    assert.equal(judged.reason, "fine<U+001B>[2J<U+202E>gnp");
  });

  test("need a message to continue a turn, and none to resume after an exit", () => {
    for (const message of [undefined, "", "  ", 5]) {
      assert.equal(judge({ kind: "turn-end" }, decide({ decision: "continue", message })).decision, "unavailable");
    }
    assert.deepEqual(judge({ kind: "exit" }, decide({ decision: "continue" })), {
      decision: "continue",
      reason: "Because.",
    });
  });
});

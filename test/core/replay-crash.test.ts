/** What the machine makes of a life that was cut off: a message without its acknowledgement, a pipe without its worker. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { EventDraft, EventMap, TaskEvent } from "../../src/core/events.ts";
import { refusal } from "../../src/core/machine/admit.ts";
import type { Effect } from "../../src/core/machine/effects.ts";
import { stateName, waitsFor } from "../../src/core/machine/project.ts";
import { initialState, type TaskState } from "../../src/core/machine/state.ts";
import { step } from "../../src/core/machine/step.ts";
import { claimed, ready, recovering, spawned } from "./play.ts";
import { spec } from "./random-events.ts";

const begun: readonly EventDraft[] = [...spawned, ready()];
const intent = (source: EventMap["prompt.intent"]["source"], text = "x"): EventDraft => ({
  type: "prompt.intent",
  data: { promptId: "p1", source, text, redacted: false },
});
const swept: EventDraft = {
  type: "worker.swept",
  data: { method: "census", killed: 1, durationMs: 1, proven: true, remaining: [] },
};

function play(overrides: Partial<EventMap["task.created"]>, drafts: readonly EventDraft[]) {
  let state: TaskState = initialState("t");
  let effects: Effect[] = [];
  const all: EventDraft[] = [{ type: "task.created", data: spec(overrides) }, ...drafts];
  all.forEach((draft, index) => {
    const event = { ...draft, seq: index + 1, at: "2026-01-01T00:00:00.000Z", mono: index, taskId: "t" } as TaskEvent;
    ({ state, effects } = step(state, event));
  });
  return { state, kinds: effects.map((effect) => effect.kind) };
}

describe("a message whose outcome the crash took with it", () => {
  const after: Record<string, { tail: EventDraft[]; asks: boolean }> = {
    "was only meant to be written": { tail: [], asks: true },
    "was written": { tail: [{ type: "prompt.written", data: { promptId: "p1" } }], asks: true },
    "waited in Claude's own queue": {
      tail: [{ type: "prompt.ack", data: { promptId: "p1", state: "queued" } }],
      asks: true,
    },
    "was begun with": { tail: [{ type: "prompt.ack", data: { promptId: "p1", state: "started" } }], asks: false },
    "was discarded by Claude": {
      tail: [{ type: "prompt.ack", data: { promptId: "p1", state: "discarded" } }],
      asks: true,
    },
    "was refused, which its person was told": {
      tail: [{ type: "prompt.failed", data: { promptId: "p1", reason: "overtaken", message: "m" } }],
      asks: false,
    },
  };
  for (const [what, { tail, asks }] of Object.entries(after)) {
    test(`and that ${what} ${asks ? "is its person's to settle" : "is settled"}`, () => {
      const drafts = [
        claimed("start"),
        ...begun,
        intent("person", "Mind the gap"),
        ...tail,
        claimed("recover"),
        recovering,
        swept,
      ];
      const { state, kinds } = play({}, [...drafts, ...begun]);
      assert.equal(state.hold?.reason, asks ? "message-doubtful" : undefined);
      if (asks) assert.match(state.hold?.message ?? "", /"Mind the gap"/);
      assert.deepEqual(kinds, asks ? [] : ["send"]);
    });
  }

  test("goes no further once the person has said something", () => {
    const drafts = [claimed("start"), ...begun, intent("person"), claimed("recover"), recovering, swept, ...begun];
    const said: EventDraft = {
      type: "prompt.queued",
      data: { promptId: "p2", source: "person", text: "again", redacted: false },
    };
    const { state, kinds } = play({}, [...drafts, said]);
    assert.deepEqual([state.hold, kinds], [null, ["send"]]);
    assert.equal(play({}, [...drafts, said, claimed("recover"), recovering]).state.hold, null);
  });

  test("is told again by the next Pi when a second crash took the first word of it along", () => {
    const crashed = [claimed("start"), ...begun, intent("person", "Mind the gap"), claimed("recover"), recovering];
    const { hold } = play({}, [...crashed, claimed("recover"), recovering]).state;
    assert.equal(hold?.reason, "message-doubtful");
    assert.match(hold.message, /Mind the gap/);
  });

  for (const source of ["goal", "verifier", "recover"] as const) {
    test(`asks nobody when it was one of ours (${source})`, () => {
      assert.equal(
        play({}, [claimed("start"), ...begun, intent(source), claimed("recover"), recovering]).state.hold,
        null,
      );
    });
  }

  test("asks nobody when a fresh session was asked for, which knows nothing anyway", () => {
    const fresh: EventDraft = { type: "task.recovering", data: { fresh: true, resume: false, sessionId: "s2" } };
    assert.equal(play({}, [claimed("start"), ...begun, intent("person"), claimed("recover"), fresh]).state.hold, null);
  });
});

describe("a process-pipe task", () => {
  const pipe = { transport: "process-pipe", mode: "manual" } as const;
  const given = [
    claimed("start"),
    ...begun,
    intent("goal"),
    { type: "prompt.written", data: { promptId: "p1" } } as const,
  ];
  const over: EventDraft[] = [
    {
      type: "turn.result",
      data: { subtype: "success", isError: false, errors: [], preview: "", chars: 0, permissionDenials: 0 },
    },
    { type: "worker.ending", data: { why: "exhausted" } },
    { type: "worker.exited", data: { code: 0, signal: null, exitReason: "exhausted" } },
  ];

  test("waits for a look at its result when its worker has left with it", () => {
    const { state } = play(pipe, [...given, ...over, swept]);
    assert.deepEqual([stateName(state), waitsFor(state)], ["human_required", "result"]);
    assert.equal(refusal(state, "verify"), null);
  });

  for (const [when, tail] of [
    ["in the middle", []],
    ["after its result", over],
  ] as const) {
    test(`that was cut off ${when} stands in human_required, is swept, and nothing is sent`, () => {
      const { state, kinds } = play(pipe, [...given, ...tail, claimed("recover")]);
      assert.deepEqual([stateName(state), waitsFor(state)], ["human_required", "person"]);
      assert.deepEqual(kinds, ["sweep"]);
      assert.equal(refusal(state, "recover")?.reason, "no-capability");
      assert.equal(refusal(state, "verify"), null);
      assert.equal(refusal(state, "send")?.reason, "no-capability");
    });
  }

  test("that never got its goal is begun like any other", () => {
    const { state } = play(pipe, [claimed("start"), claimed("recover")]);
    assert.equal(state.hold, null);
    assert.equal(refusal(state, "recover"), null);
  });
});

test("a task left under a stop is not recovered: the stop comes first, and the refusal says how", () => {
  const stop: EventDraft = {
    type: "stop.requested",
    data: { by: "person", kind: "graceful", reason: "r", end: "stopped" },
  };
  const { state } = play({}, [claimed("start"), ...begun, intent("goal"), stop, claimed("recover")]);
  const refused = refusal(state, "recover");
  assert.equal(refused?.reason, "stopping");
  assert.match(refused?.message ?? "", /supervise stop t/);
});

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import type { EventDraft, TaskEvent } from "../../src/core/events.ts";
import { violations } from "../../src/core/invariants.ts";
import { stateName, waitsFor } from "../../src/core/machine/project.ts";
import { initialState, type TaskState } from "../../src/core/machine/state.ts";
import { step } from "../../src/core/machine/step.ts";
import { containment, draft, identity, spec } from "./random-events.ts";

const opening: EventDraft[] = [
  { type: "task.created", data: spec() },
  { type: "owner.claimed", data: { owner: { ...identity, host: "h" }, why: "start" } },
];

function asEvent(d: EventDraft, seq: number): TaskEvent {
  return { ...d, seq, at: new Date(seq * 1000).toISOString(), mono: seq * 10, taskId: "t" } as TaskEvent;
}

/** Steps through the drafts; `record` effects are appended at once, as the supervisor does. */
function run(drafts: readonly EventDraft[]): { state: TaskState; broken: string[] } {
  let state = initialState("t");
  let seq = 0;
  const broken: string[] = [];
  const apply = (d: EventDraft, depth: number) => {
    const event = asEvent(d, ++seq);
    const result = step(state, event);
    broken.push(...violations(state, event, result).map((text) => `${text} (event ${seq}, ${event.type})`));
    state = result.state;
    assert.ok(depth < 6, `records without end at ${event.type}`);
    for (const effect of result.effects) if (effect.kind === "record") apply(effect.event, depth + 1);
  };
  for (const d of drafts) apply(d, 0);
  return { state, broken };
}

describe("the machine under random events", () => {
  test("3,000 random sequences break no invariant", () => {
    fc.assert(
      fc.property(fc.array(draft, { maxLength: 60 }), (drafts) => {
        const { broken } = run([...opening, ...drafts]);
        assert.deepEqual(broken, []);
      }),
      { numRuns: 3000 },
    );
  });

  test("a running worker in random weather breaks no invariant either", () => {
    const live: EventDraft[] = [
      ...opening,
      { type: "worker.spawning", data: { workerId: "w1", sessionId: "s1", resume: false } },
      { type: "worker.spawned", data: { containment, argv: [], envNames: [] } },
    ];
    fc.assert(
      fc.property(fc.array(draft, { maxLength: 60 }), (drafts) => {
        const { broken, state } = run([...live, ...drafts]);
        assert.deepEqual(broken, []);
        assert.ok(stateName(state));
        waitsFor(state);
      }),
      { numRuns: 2000 },
    );
  });

  test("the sequences reach every kind of state, so that the properties above mean something", () => {
    const seen = new Set<string>();
    const effects = new Set<string>();
    const drafts = fc.sample(fc.array(draft, { minLength: 40, maxLength: 60 }), { numRuns: 1500, seed: 7 });
    for (const sequence of drafts) {
      let state = initialState("t");
      [...opening, ...sequence].forEach((d, index) => {
        const result = step(state, asEvent(d, index + 1));
        state = result.state;
        seen.add(stateName(state));
        for (const effect of result.effects) effects.add(effect.kind);
      });
    }
    const names = [
      "created",
      "starting",
      "running",
      "human_required",
      "verifying",
      "failed",
      "stopping",
      "stopped",
      "failed_to_stop",
    ];
    assert.deepEqual(
      names.filter((name) => !seen.has(name)),
      [],
    );
    const kinds = ["spawn", "send", "reply", "verify", "confirm-tree", "end-worker", "sweep", "teardown", "record"];
    assert.deepEqual(
      kinds.filter((kind) => !effects.has(kind)),
      [],
    );
  });

  test("events of an unstarted task change nothing but counters", () => {
    fc.assert(
      fc.property(fc.array(draft, { maxLength: 20 }), (drafts) => {
        const { broken } = run(drafts);
        assert.deepEqual(broken, []);
      }),
      { numRuns: 500 },
    );
  });
});

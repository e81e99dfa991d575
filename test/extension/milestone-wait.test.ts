/** A wait for a person is told, also where the event by which it begins has a notice of its own. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { StoredEvent } from "../../src/core/events.ts";
import { initialState, type TaskState } from "../../src/core/machine/state.ts";
import { milestone } from "../../src/extension/ui/milestones.ts";
import { spec } from "../core/random-events.ts";

const running: TaskState = {
  ...initialState("t-1"),
  spec: spec({ mode: "auto" }),
  worker: {
    kind: "live",
    workerId: "w",
    sessionId: "s",
    containment: { kind: "census", marker: "M=1", leader: { pid: 1, startTicks: "1", bootId: "b" } },
    mono: 1,
  },
  turn: { kind: "idle", mono: 1 },
};
const hold = {
  reason: "rounds-exhausted" as const,
  message: "The verification failed in round 1 of 1.",
  since: "",
  fault: false,
};
const held: TaskState = { ...running, hold };

const told = (type: string, data: object, after: TaskState, before = running) =>
  milestone({ taskId: "t-1", event: { type, data } as unknown as StoredEvent, before, after });

const verdicts = [
  {
    type: "verify.finished",
    data: { outcome: "fail", message: "1 failed", by: "auto", round: 1 },
    says: /did not pass/,
  },
  {
    type: "verify.finished",
    data: { outcome: "error", message: "no node", by: "auto", round: 1 },
    says: /could not say/,
  },
  { type: "verify.stale", data: { passedTree: "a", presentTree: "b" }, says: /has changed since/ },
];
for (const { type, data, says } of verdicts) {
  test(`${type} ${"outcome" in data ? data.outcome : ""} that ends in a wait says both in one notice, as a warning`, () => {
    const notice = told(type, data, held);
    assert.match(notice?.text ?? "", says);
    assert.match(notice?.text ?? "", /t-1 waits for you\. Look: \/supervise status t-1/);
    assert.equal(notice?.level, "warning");
  });

  test(`${type} ${"outcome" in data ? data.outcome : ""} after which the work goes on says nothing of a wait`, () => {
    assert.doesNotMatch(told(type, data, running)?.text ?? "", /waits for you/);
    assert.doesNotMatch(
      told(type, data, held, held)?.text ?? "",
      /waits for you/,
      "a wait that was told is not told again",
    );
  });
}

test("an event without a notice of its own tells the wait with its reason", () => {
  const notice = told("turn.result", { subtype: "success" }, held);
  assert.match(notice?.text ?? "", /waits for you\. The verification failed in round 1 of 1\./);
});

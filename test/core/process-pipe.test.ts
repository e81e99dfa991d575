/** What a person may ask of a task whose worker takes one message and can't be resumed. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { refusal } from "../../src/core/machine/admit.ts";
import { initialState, type TaskState } from "../../src/core/machine/state.ts";
import { spec } from "./random-events.ts";

const over = (transport: "claude-jsonl" | "process-pipe"): TaskState => {
  const state = initialState("t");
  return {
    ...state,
    spec: spec({ transport }),
    prompts: { ...state.prompts, goalGiven: true },
    turn: { kind: "idle", mono: 1 },
    worker: { kind: "gone", workerId: "w", why: "exhausted", reason: null, message: null },
  };
};

for (const command of ["pause", "send", "recover"] as const) {
  test(`process-pipe: ${command} is refused, because what it promises can't be kept`, () => {
    const refused = refusal(over("process-pipe"), command);
    assert.equal(refused?.reason, "no-capability");
    assert.equal(refusal(over("claude-jsonl"), command), null);
  });
}

for (const command of ["verify", "stop"] as const) {
  test(`process-pipe: ${command} is taken`, () => {
    assert.equal(refusal(over("process-pipe"), command), null);
  });
}

/** Answers that meet something else on their way: each order was found by a random sequence. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { EventDraft } from "../../src/core/events.ts";
import { review, working } from "./play.ts";

const yes: EventDraft = {
  type: "request.answered",
  data: { requestId: "r1", decision: "approve", by: "person", via: "command" },
};
const replies = (play: ReturnType<typeof working>): unknown[] =>
  play.effects.flatMap((effect) => (effect.kind === "reply" ? [[effect.callId, effect.reply.decision]] : []));

test("a yes that comes after a pause lets nothing run", () => {
  const play = working().feed(review("r1"), { type: "pause.requested", data: { by: "person", reason: "r" } });
  assert.equal(play.state.control.kind, "pausing");
  play.feed(yes);
  assert.deepEqual(replies(play), [["c-r1", "deny"]]);
  const [reply] = play.effects.flatMap((effect) => (effect.kind === "reply" ? [effect.reply] : []));
  assert.deepEqual(reply, { decision: "deny", reason: "A person pauses this task; end your turn.", endTurn: true });
});

test("a deny of the gate is the last word, even beside a request that a person said yes to", () => {
  const play = working().feed(review("r1"), yes);
  assert.deepEqual(replies(play), [["c-r1", "allow"]]);
  const again = review("r1");
  assert.ok(again.type === "gate.verdict");
  play.feed({ type: "gate.verdict", data: { ...again.data, callId: "c2", verdict: "deny", reason: "because" } });
  assert.deepEqual(replies(play), [["c2", "deny"]]);
});

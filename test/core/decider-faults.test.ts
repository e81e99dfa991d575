/** What each fault of the decider comes to, for each kind of question: never an approval, never a lost worker. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { EventDraft } from "../../src/core/events.ts";
import { waitsFor } from "../../src/core/machine/project.ts";
import { exited, finished, type Play, result, review, swept, verifying, working } from "./play.ts";

/** The codes to which the decision room brings every fault (test/decision/pi-faults.test.ts shows which one to which). */
const CODES = ["no-call", "two-calls", "wrong-decision", "timeout", "model-error", "no-model"] as const;

/** Has the open question fail in this way; null when nothing is asked. */
function fails(play: Play, code: string): Play | null {
  const effect = play.effects.find(({ kind }) => kind === "decide");
  if (effect?.kind !== "decide") return null;
  const { decisionId, about: kind, requestId } = effect;
  const named = { decisionId, kind, ...(requestId === null ? {} : { requestId }) };
  return play.feed(
    { type: "decision.asked", data: { ...named, ...(kind === "turn-end" ? { treeId: "tree" } : {}) } },
    { type: "decision.made", data: { ...named, decision: "unavailable", code, reason: "it failed" } },
  );
}

const asks = (kind: "tool" | "question" | "plan"): EventDraft => {
  const asked = review("r1");
  return { ...asked, data: { ...asked.data, kind } } as EventDraft;
};

for (const code of CODES)
  describe(`a decider that ends in ${code}`, () => {
    for (const kind of ["tool", "question", "plan"] as const)
      test(`leaves a ${kind} pending for a person: nothing is answered, the worker stays`, () => {
        const play = fails(working().feed(asks(kind)), code);
        assert.ok(play);
        assert.deepEqual([play.name, waitsFor(play.state)], ["human_required", "approval"]);
        const request = play.state.requests["r1"];
        assert.deepEqual(
          [request?.phase, request?.askedOf, request?.passedOn],
          ["pending", "person", { why: code, reason: "it failed" }],
        );
        assert.deepEqual(play.kinds(), []);
        assert.equal(play.state.worker.kind, "live");
        const approval = { requestId: "r1", decision: "approve", by: "decider", via: "decider" } as const;
        play.feed({ type: "request.answered", data: approval });
        assert.deepEqual(play.kinds(), [], "a word of it that still comes changes nothing");
      });

    const turnsEnd = (): Play => {
      const play = working();
      play.verifies = false;
      const failed = fails(play.feed(result()), code);
      assert.ok(failed);
      assert.ok(failed.kinds().includes("verify"), "the verification runs anyway");
      return failed.feed(verifying);
    };

    test("has a turn's end verified all the same, and a pass counts", () => {
      assert.deepEqual(turnsEnd().feed(finished("pass")).kinds(), ["confirm-tree"]);
    });

    const after =
      code === "no-model" ? "sends the evidence all the same: there never was a decider" : "waits for a person";
    test(`when that verification does not pass ${after}`, () => {
      const play = turnsEnd().feed(finished("fail"));
      if (code === "no-model") assert.deepEqual([play.held, play.kinds()], [undefined, ["send"]]);
      else assert.deepEqual([play.held, waitsFor(play.state), play.kinds()], ["decider-unavailable", "person", []]);
    });

    test("leaves an unexpected exit to a person, and recover goes on", () => {
      const play = fails(working().feed(exited(139), swept), code);
      assert.ok(play);
      assert.deepEqual([play.name, play.held, play.kinds()], ["human_required", "decider-unavailable", []]);
      play.feed({ type: "task.recovering", data: { fresh: false, resume: true, sessionId: "s1" } });
      assert.deepEqual(play.kinds(), ["spawn"]);
    });
  });

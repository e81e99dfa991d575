/** What a reviewer's word about a candidate does, and what its absence does. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { EventDraft, EventMap } from "../../src/core/events.ts";
import { waitsFor } from "../../src/core/machine/project.ts";
import { openSignOff } from "../../src/core/machine/verification.ts";
import { claimed, finished, type Play, recovering, result, sent, swept, verifying, working } from "./play.ts";
import { identity } from "./random-events.ts";

const reviewed = (
  verdict: EventMap["review.finished"]["verdict"],
  more: Partial<EventMap["review.finished"]> = {},
): EventDraft => ({
  type: "review.finished",
  data: { verdict, treeId: "tree", round: 1, message: "because", findings: [], looks: 2, durationMs: 1, ...more },
});
const findings = [{ file: "a.ts", line: 3, problem: "The test was deleted." }];
const asked = (why: EventMap["signoff.requested"]["why"]): EventDraft => ({
  type: "signoff.requested",
  data: { requestId: "r-1", why, treeId: "tree", round: 1, message: "look", paths: [] },
});
const verified = (by: "person" | "auto", treeId = "tree"): EventDraft[] => [
  ...(by === "person" ? ([{ type: "verify.requested", data: { by } }] as EventDraft[]) : []),
  { type: "verify.started", data: { by, round: 1, where: "clean", commands: [] } },
  finished("pass", { by, treeId }),
];

const reviewing = (mode: "auto" | "manual" = "auto"): Play => {
  const play = working({ review: true, mode }).feed(result());
  return play.feed(...verified(mode === "auto" ? "auto" : "person"));
};

describe("a candidate of a task with a reviewer", () => {
  test("is looked at before anything else, and the worker gets no message meanwhile", () => {
    const play = reviewing();
    assert.deepEqual([play.kinds(), play.name], [["review"], "verifying"]);
    play.feed({ type: "prompt.queued", data: { promptId: "p9", source: "person", text: "x", redacted: false } });
    assert.deepEqual(play.kinds(), []);
  });

  test("completes after a pass", () => {
    assert.deepEqual(reviewing().feed(reviewed("pass")).kinds(), ["confirm-tree"]);
  });

  test("still needs a signature after a pass when the worker changed what verifies it", () => {
    const play = working({ review: true }).feed(result(), verifying);
    play.feed(finished("pass", { findings: [{ kind: "changed-script", path: "check.sh", detail: "d" }] }));
    assert.deepEqual(play.feed(reviewed("pass")).kinds(), ["ask-sign-off"]);
  });

  test("goes back to the worker after revise, which costs a round; the next one is looked at again", () => {
    const play = reviewing().feed(reviewed("revise", { findings }));
    assert.equal(play.state.budgets.failedRounds, 1);
    const [send] = play.effects;
    assert.ok(send?.kind === "send" && send.source === "verifier");
    assert.match(send.text, /- a\.ts:3: The test was deleted\./);
    play.feed(...sent("p2", "verifier"), result());
    assert.deepEqual(play.feed(...verified("auto", "tree2")).kinds(), ["review"]);
  });

  test("is a person's after the last round's revise; their own verification of it accepts it", () => {
    const play = reviewing().feed(reviewed("revise", { findings }), ...sent("p2", "verifier"), result());
    play.feed(...verified("auto"), reviewed("revise", { findings }));
    assert.deepEqual(
      [play.kinds().includes("send"), play.name, play.held],
      [false, "human_required", "rounds-exhausted"],
    );
    assert.match(play.state.hold?.message ?? "", /The reviewer wants something changed/);
    assert.deepEqual(play.feed(...verified("person")).kinds(), ["verify", "confirm-tree"]);
  });

  test("in manual mode is the person's after revise: their message passes the findings on", () => {
    const play = reviewing("manual").feed(reviewed("revise", { findings }));
    assert.deepEqual([play.name, play.held, waitsFor(play.state)], ["human_required", "review-revise", "person"]);
    play.feed({ type: "prompt.queued", data: { promptId: "p2", source: "person", text: "do so", redacted: false } });
    const [send] = play.effects;
    assert.ok(send?.kind === "send");
    assert.match(send.preface ?? "", /The test was deleted/);
  });

  const faults = ["no-call", "two-calls", "unclear", "timeout", "model-error", "no-model", "no-tree"];
  const toPerson: [string, EventDraft, EventMap["signoff.requested"]["why"]][] = [
    ["a verdict of person", reviewed("person"), "review-person"],
    ...faults.map((code): [string, EventDraft, "review-unavailable"] => [
      code,
      reviewed("unavailable", { code }),
      "review-unavailable",
    ]),
  ];
  for (const [what, event, why] of toPerson) {
    test(`after ${what} is neither passed nor lost: a person signs it, or verifies it`, () => {
      const play = reviewing().feed(event);
      assert.deepEqual([play.kinds(), play.state.budgets.failedRounds], [["ask-sign-off"], 0]);
      play.feed(asked(why));
      assert.deepEqual([play.name, waitsFor(play.state)], ["human_required", "approval"]);
      const again = play.feed(...verified("person"));
      assert.deepEqual(again.kinds(), ["verify", "confirm-tree"], "no second review of what a person has seen");
      const signed = reviewing().feed(event, asked(why), {
        type: "request.answered",
        data: { requestId: "r-1", decision: "approve", by: "person", via: "command" },
      });
      assert.deepEqual(signed.kinds().at(-1), "confirm-tree");
    });
  }

  test("of another tree than the reviewer saw is not moved by its word", () => {
    const play = reviewing().feed(reviewed("pass", { treeId: "other" }));
    assert.deepEqual([play.kinds(), play.state.verification.kind], [[], "reviewing"]);
  });

  test("whose workspace changed before the reviewer saw it is verified anew", () => {
    const play = reviewing().feed({ type: "verify.stale", data: { passedTree: "tree", presentTree: "other" } });
    assert.deepEqual(play.kinds(), ["verify"]);
  });

  describe("whose Pi died while the reviewer looked", () => {
    const released: EventDraft = { type: "owner.released", data: { why: "quit" } };
    const deaths: [string, EventDraft[]][] = [
      ["of a quit", [released, claimed("recover")]],
      ["of a kill", [claimed("recover")]],
    ];
    for (const [what, events] of deaths) {
      test(`${what}, keeps its pass: the next one asks the reviewer anew and tells the worker nothing meanwhile`, () => {
        const play = reviewing().feed(...events, reviewed("pass"));
        assert.deepEqual(play.kinds(), [], "a word that comes late for the old one does not count for the new one");
        play.feed(recovering);
        assert.deepEqual(play.kinds(), ["sweep", "review"]);
        play.feed(swept);
        assert.deepEqual(play.kinds(), ["spawn"]);
        play.feed(...play.respawn());
        assert.deepEqual([play.kinds(), play.name], [[], "verifying"]);
        assert.deepEqual(play.feed(reviewed("pass")).kinds(), ["confirm-tree"]);
        assert.equal(play.state.budgets.rounds, 1, "nothing was verified twice");
      });
    }

    test("hears its findings with the word to go on", () => {
      const play = reviewing().feed(claimed("recover"), recovering, swept);
      play.feed(...play.respawn(), reviewed("revise", { findings }));
      const [send] = play.effects.filter((effect) => effect.kind === "send");
      assert.match(send?.text ?? "", /The test was deleted[\s\S]*Go on with the task/);
    });

    test("is begun anew in a fresh session", () => {
      const play = reviewing().feed(claimed("recover"), {
        type: "task.recovering",
        data: { fresh: true, resume: false, sessionId: "s2" },
      });
      assert.deepEqual([play.kinds().includes("review"), play.state.verification.kind], [false, "none"]);
    });

    test("and whose workspace is another by then, is gone on with by the worker", () => {
      const play = reviewing().feed(claimed("recover"), recovering, swept);
      play.feed(...play.respawn(), { type: "verify.stale", data: { passedTree: "tree", presentTree: "other" } });
      assert.deepEqual([play.kinds(), play.held], [["send"], undefined]);
    });
  });

  test("whose worker is recovered in the same Pi is not reviewed twice at once", () => {
    const play = reviewing().feed(recovering);
    assert.deepEqual(play.kinds().includes("review"), false);
  });

  const stops: [string, EventDraft][] = [
    ["a stop", { type: "stop.requested", data: { by: "person", kind: "now", reason: "r", end: "stopped" } }],
    ["a pause", { type: "pause.requested", data: { by: "person", reason: "r" } }],
    ["a new owner", { type: "owner.claimed", data: { owner: { ...identity, host: "h" }, why: "recover" } }],
  ];
  for (const [what, event] of stops) {
    test(`under ${what} is moved by no late word of the reviewer`, () => {
      const play = reviewing().feed(event);
      const before = play.name;
      play.feed(reviewed("pass"), reviewed("revise", { findings }), reviewed("person"));
      assert.deepEqual([play.name, openSignOff(play.state), play.state.budgets.failedRounds], [before, null, 0]);
      assert.ok(!play.kinds().some((kind) => ["send", "confirm-tree", "ask-sign-off"].includes(kind)));
    });
  }
});

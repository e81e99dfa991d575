/** Who may sign a pass, and what becomes of a candidate that waits for a signature. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { EventDraft, EventMap } from "../../src/core/events.ts";
import { stateName, waitsFor } from "../../src/core/machine/project.ts";
import { openSignOff } from "../../src/core/machine/verification.ts";
import { exited, finished, type Play, result, sent, swept, verifying, working } from "./play.ts";
import { identity } from "./random-events.ts";

const findings = [{ kind: "changed-script" as const, path: "package.json#scripts.test", detail: "It was changed." }];

const asked = (requestId = "r-1"): EventDraft => ({
  type: "signoff.requested",
  data: { requestId, why: "changed-script", treeId: "tree", round: 1, message: "look", paths: ["package.json"] },
});

const answered = (decision: "approve" | "deny", more: Partial<EventMap["request.answered"]> = {}): EventDraft => ({
  type: "request.answered",
  data: { requestId: "r-1", decision, by: "person", via: "command", ...more },
});

const claimed = (why: EventMap["owner.claimed"]["why"]): EventDraft => ({
  type: "owner.claimed",
  data: { owner: { ...identity, host: "h" }, why },
});

const recovering = (fresh: boolean): EventDraft => ({
  type: "task.recovering",
  data: { fresh, resume: !fresh, sessionId: "s1" },
});

const candidate = (): Play => working().feed(result(), verifying, finished("pass", { findings }));
const waiting = (): Play => candidate().feed(asked());

const person = (outcome: "pass", treeId: string): EventDraft[] => [
  { type: "verify.requested", data: { by: "person" } },
  { type: "verify.started", data: { by: "person", round: 2, where: "workspace", commands: [] } },
  finished(outcome, { findings, by: "person", treeId, round: 2 }),
];

describe("a pass of a verification whose own script the worker changed", () => {
  test("is asked about first, and the tree is not even looked at", () => {
    const play = candidate();
    assert.deepEqual(play.kinds(), ["verify", "ask-sign-off"]);
    assert.equal(play.name, "verifying", "until the request is recorded");
    play.feed(asked());
    assert.deepEqual([play.name, waitsFor(play.state), play.held], ["human_required", "approval", undefined]);
    assert.deepEqual(play.kinds(), []);
  });

  test("counts once a person signs it, for that very tree and in their name", () => {
    const play = waiting().feed(answered("approve"));
    assert.deepEqual(play.effects, [{ kind: "confirm-tree", treeId: "tree", by: "person", round: 1 }]);
    play.feed({ type: "task.completed", data: { treeId: "tree", round: 1, by: "person" } });
    assert.equal(play.name, "completed");
  });

  test("does not count when the workspace is another tree by then", () => {
    const play = waiting().feed(answered("approve"));
    play.feed({ type: "verify.stale", data: { passedTree: "tree", presentTree: "other" } });
    assert.equal(openSignOff(play.state), null);
    assert.deepEqual(play.kinds(), ["verify"], "the worker is idle: it is verified anew");
  });

  const others: [string, EventDraft][] = [
    ["the decider", answered("approve", { by: "decider" })],
    ["the supervisor", answered("approve", { by: "supervisor" })],
    ["an answer to another request", answered("approve", { requestId: "r-2" })],
    [
      "an answer in words",
      { type: "request.answered", data: { ...answered("approve").data, decision: "answer" } } as EventDraft,
    ],
    ["a completion that nobody signed", { type: "task.completed", data: { treeId: "tree", round: 1, by: "auto" } }],
  ];
  for (const [who, event] of others) {
    test(`is not signed by ${who}`, () => {
      const play = waiting().feed(event);
      assert.deepEqual([play.kinds(), openSignOff(play.state)?.requestId, play.name], [[], "r-1", "human_required"]);
    });
  }

  test("refused, stands still until a person acts, and the worker is told why with what it hears next", () => {
    const play = waiting().feed(answered("deny", { note: "the test must stay" }));
    assert.deepEqual([play.name, play.held, play.kinds()], ["human_required", "sign-off-denied", []]);
    play.feed({ type: "prompt.queued", data: { promptId: "p2", source: "person", text: "mend it", redacted: false } });
    const [send] = play.effects;
    assert.ok(send?.kind === "send");
    assert.match(send.preface ?? "", /did not accept it: the test must stay/);
    assert.equal(send.text, "mend it");
    play.feed(...sent("p2", "person"), result());
    assert.deepEqual(play.kinds(), ["verify"]);
  });

  test("refused after a restart, is told to the worker that recover starts", () => {
    const play = waiting().feed(exited(), swept, claimed("answer"), answered("deny", { note: "no" }));
    play.feed({ type: "owner.released", data: { why: "ended" } }, claimed("recover"), recovering(false));
    assert.deepEqual(play.kinds(), ["spawn"]);
    play.feed(...play.respawn());
    const [send] = play.effects.filter((effect) => effect.kind === "send");
    assert.ok(send?.kind === "send" && send.source === "recover");
    assert.match(send.text, /did not accept it: no[\s\S]*Go on with the task/);
  });
});

describe("a candidate that waits for its signature", () => {
  const kept: [string, EventDraft[]][] = [
    ["the worker's exit", [exited()]],
    ["the worker's exit and its sweep", [exited(), swept]],
    ["a new owner", [claimed("answer")]],
    ["a recovery", [claimed("recover"), recovering(false)]],
    ["a pause", [{ type: "pause.requested", data: { by: "person", reason: "r" } }]],
    ["another task's answer", [answered("approve", { requestId: "r-9" })]],
  ];
  for (const [what, events] of kept) {
    test(`outlives ${what}`, () => {
      const play = waiting().feed(...events);
      assert.equal(openSignOff(play.state)?.requestId, "r-1");
      assert.ok(!play.kinds().includes("send"), "nothing is sent while it waits");
    });
  }

  test("is not failed by a worker that dies meanwhile", () => {
    const play = waiting().feed(exited(), swept);
    assert.deepEqual([play.name, waitsFor(play.state)], ["human_required", "approval"]);
    play.feed(answered("approve"));
    assert.deepEqual(play.kinds(), ["confirm-tree"]);
  });

  test("gets no message by itself from the worker that a recovery started, and can be signed then", () => {
    const play = waiting().feed(exited(), swept, claimed("recover"), recovering(false));
    play.feed(...play.respawn());
    assert.deepEqual([play.kinds(), stateName(play.state)], [[], "human_required"]);
    play.feed(answered("approve"));
    assert.deepEqual(play.kinds(), ["confirm-tree"]);
  });

  const gone: [string, EventDraft[]][] = [
    ["the worker's next message", sent("p2", "person")],
    ["a fresh session", [exited(), swept, claimed("recover"), recovering(true)]],
    ["a stop", [{ type: "stop.requested", data: { by: "person", kind: "graceful", reason: "r", end: "stopped" } }]],
  ];
  for (const [what, events] of gone) {
    test(`is withdrawn by ${what}: a late signature changes nothing`, () => {
      const play = waiting().feed(...events);
      assert.equal(openSignOff(play.state), null);
      const before = play.name;
      play.feed(answered("approve"));
      assert.deepEqual([play.name, play.kinds().includes("confirm-tree")], [before, false]);
    });
  }

  test("that was never recorded as a request is not signed by anything, and a new owner begins anew", () => {
    const play = candidate().feed(answered("approve"));
    assert.ok(!play.kinds().includes("confirm-tree"));
    play.feed(claimed("recover"), recovering(false));
    assert.equal(play.state.verification.kind, "none");
  });

  test("leaves nothing of a killed worker behind when it is signed days later", () => {
    const play = waiting().feed(claimed("answer"), answered("approve"));
    assert.deepEqual(play.kinds(), ["confirm-tree"]);
    play.feed({ type: "task.completed", data: { treeId: "tree", round: 1, by: "person" } });
    assert.deepEqual(play.kinds(), ["sweep"]);
  });
});

describe("a person's own verification", () => {
  test("of the tree that they were asked about is the signature", () => {
    const play = waiting().feed(...person("pass", "tree"));
    assert.deepEqual(play.kinds(), ["verify", "confirm-tree"]);
  });

  test("of another tree, or before anybody was asked, is none", () => {
    assert.deepEqual(
      waiting()
        .feed(...person("pass", "other"))
        .kinds(),
      ["verify", "ask-sign-off"],
    );
    const manual = working({ mode: "manual" }).feed(result());
    assert.deepEqual(manual.feed(...person("pass", "tree")).kinds(), ["verify", "ask-sign-off"]);
  });
});

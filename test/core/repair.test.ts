/** A passing verification of a tree whose history the worker left otherwise than it was: told once, never parked. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { EventDraft, EventMap } from "../../src/core/events.ts";
import { claimed, finished, type Play, recovering, result, sent, swept, verifying, working } from "./play.ts";
import { spec } from "./random-events.ts";

type Finding = EventMap["verify.finished"]["findings"][number];
const detached: Finding = { kind: "git-state", code: "detached-head", detail: "HEAD is detached at 0123456789ab." };
const rewritten: Finding = { kind: "git-state", code: "rewritten-history", detail: "History was rewritten." };
const script: Finding = { kind: "changed-script", path: "check.sh", detail: "d" };

const START = { startHead: { head: "a".repeat(40), branch: "refs/heads/main" } };
const passed = (findings: Finding[], over: Partial<EventMap["verify.finished"]> = {}): EventDraft[] => [
  verifying,
  finished("pass", { findings, ...over }),
];
const candidate = (findings: Finding[], over: Partial<EventMap["task.created"]> = {}): Play =>
  working({ ...START, ...over }).feed(result(), ...passed(findings));
const words = (play: Play): string =>
  play.effects.map((effect) => (effect.kind === "send" ? `${effect.preface ?? ""}${effect.text}` : "")).join("");
const byPerson: EventDraft[] = [
  { type: "verify.requested", data: { by: "person" } },
  { type: "verify.started", data: { by: "person", round: 1, where: "clean", commands: [] } },
  finished("pass", { findings: [detached], by: "person" }),
];
const told: EventDraft[] = sent("p2", "verifier");

describe("a pass with a history that was rewritten, or a detached HEAD", () => {
  test("goes back once: what happened, what it should be, how, and that nothing may be lost", () => {
    const play = candidate([detached, rewritten]);
    assert.deepEqual([play.kinds(), play.name], [["verify", "send"], "running"]);
    assert.match(words(play), /verification passed[\s\S]*- HEAD is detached[\s\S]*- History was rewritten/);
    assert.match(words(play), /the branch main again and the commit aaaaaaaaaaaa of the start/);
    assert.match(words(play), /Force nothing, delete nothing, discard nothing/);
    assert.equal(play.feed(...told).state.budgets.failedRounds, 1, "it costs a round");
  });

  test("completes when it was mended, and also when it was not: a finding parks nothing", () => {
    for (const left of [[], [detached, rewritten]]) {
      const play = candidate([detached, rewritten]).feed(...told, result(), ...passed(left));
      assert.deepEqual([play.kinds(), play.held], [["verify", "confirm-tree"], undefined]);
    }
  });

  test("is mended before anybody reviews or signs it", () => {
    const play = candidate([detached, script], { review: true }).feed(...told, result(), ...passed([script]));
    assert.deepEqual(play.kinds(), ["verify", "review"]);
    play.feed({
      type: "review.finished",
      data: { verdict: "pass", treeId: "tree", round: 1, message: "m", findings: [], looks: 1, durationMs: 1 },
    });
    assert.deepEqual(play.kinds(), ["ask-sign-off"]);
  });

  test("goes the usual way when the mending broke the work: evidence, while rounds last", () => {
    const play = candidate([rewritten], { limits: { ...spec().limits, maxRounds: 3 } });
    play.feed(...told, result(), verifying, finished("fail", { treeId: "broken" }));
    assert.match(words(play), /did not pass \(failing round 2 of 3\)/);
  });

  const straight: [string, () => Play][] = [
    ["no round is left for it", () => candidate([detached], { limits: { ...spec().limits, maxRounds: 1 } })],
    [
      "a person verifies",
      () =>
        working(START)
          .feed(result())
          .feed(...byPerson),
    ],
    ["the mode is manual", () => working({ ...START, mode: "manual" }).feed(result(), ...byPerson)],
    ["it is no deed of the task", () => candidate([{ kind: "git-state", detail: "HEAD is detached." }])],
    ["the worker takes one message only", () => candidate([detached], { transport: "process-pipe" })],
    [
      "time gets short",
      () =>
        working(START)
          .feed({ type: "timer.fired", data: { name: "wrap-up" } }, result())
          .feed(...passed([detached])),
    ],
    [
      "the money is spent",
      () =>
        working({ ...START, limits: { ...spec().limits, budgetUsd: 1 } }).feed(
          result({ costUsd: 2 }),
          ...passed([detached]),
        ),
    ],
    [
      "automation is off",
      () =>
        working(START).feed(
          result(),
          verifying,
          { type: "automation.changed", data: { to: "off", why: "w" } },
          finished("pass", { findings: [detached] }),
        ),
    ],
  ];
  for (const [why, make] of straight) {
    test(`completes at once when ${why}`, () => {
      const play = make();
      assert.ok(play.kinds().includes("confirm-tree") && !play.kinds().includes("send"), play.kinds().join());
    });
  }

  test("is told beside a person's own message when that comes first", () => {
    const play = working(START).feed(result(), verifying);
    play.feed({ type: "prompt.queued", data: { promptId: "p9", source: "person", text: "And x", redacted: false } });
    play.feed(finished("pass", { findings: [detached] }));
    assert.match(words(play), /HEAD is detached[\s\S]*And x$/);
    play.feed(...sent("p9", "person"), result(), ...passed([detached]));
    assert.ok(play.kinds().includes("confirm-tree"), "and that was the one time");
  });

  test("is told by the next Pi when this one died before it could, and never a second time", () => {
    const before = candidate([detached]).feed(claimed("recover"), recovering, swept);
    before.feed(...before.respawn(), ...sent("p2", "recover"), result(), ...passed([detached]));
    assert.match(words(before), /HEAD is detached/);
    const after = candidate([detached]).feed(...told, claimed("recover"), recovering, swept);
    after.feed(...after.respawn(), ...sent("p3", "recover"), result(), ...passed([detached]));
    assert.ok(after.kinds().includes("confirm-tree"));
  });
});

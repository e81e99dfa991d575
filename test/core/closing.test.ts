/** The end of a task's time: who is told when, what is still done, and what is not. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { newCalls } from "../../src/core/attention.ts";
import type { EventDraft } from "../../src/core/events.ts";
import { wallLeft } from "../../src/core/machine/budgets.ts";
import { deadlines } from "../../src/core/machine/deadlines.ts";
import type { Effect } from "../../src/core/machine/effects.ts";
import { exited, finished, type Play, ready, result, review, sent, swept, verifying, working } from "./play.ts";
import { spec } from "./random-events.ts";

const HOUR = 3_600_000;
const limits = { ...spec().limits, wallMs: 10 * HOUR, maxRounds: 5 };
const fired = (name: string): EventDraft => ({ type: "timer.fired", data: { name } });
const wrapUp: EventDraft = {
  type: "prompt.intent",
  data: { promptId: "p9", source: "recover", text: "x", redacted: false, wrapUp: true },
};
const sends = (effects: readonly Effect[]) => effects.flatMap((effect) => (effect.kind === "send" ? [effect] : []));
const stops = (play: Play): boolean => play.state.stop.kind !== "none";
const due = (play: Play): Record<string, number> =>
  Object.fromEntries(deadlines(play.state).map((one) => [one.name, Math.round(one.due)]));

describe("time", () => {
  test("has its warnings at 80 and 90 % of the clock, the worker's only where the supervisor drives", () => {
    assert.deepEqual(
      [
        due(working({ limits }))["wall-warning"],
        due(working({ limits }))["wrap-up"],
        due(working({ limits })).wall,
      ].map((ms = 0) => Math.round(ms / HOUR)),
      [8, 9, 10],
    );
    assert.equal(due(working({ limits, mode: "manual" }))["wrap-up"], undefined);
  });

  test("stands still while a person is waited for, and goes on with what was left", () => {
    const play = working({ limits, mode: "manual" }).feed(review("r1"));
    assert.equal(play.name, "human_required");
    const left = wallLeft(play.state);
    play.mono += 100 * HOUR;
    play.feed({ type: "worker.heartbeat", data: {} });
    assert.equal(wallLeft(play.state), left);
    assert.deepEqual(due(play), {}, "an approval may take days");
    play.feed(
      { type: "request.answered", data: { requestId: "r1", decision: "approve", by: "person", via: "command" } },
      { type: "request.replied", data: { requestId: "r1", ok: true } },
    );
    assert.ok(left - wallLeft(play.state) < 10, String(left - wallLeft(play.state)));
    play.mono += HOUR;
    play.feed({ type: "worker.heartbeat", data: {} });
    assert.ok(Math.abs(left - HOUR - wallLeft(play.state)) < 10);
  });
});

describe("at 90 % of the time", () => {
  test("a worker in the middle of its turn is told to wrap up, once", () => {
    const play = working({ limits });
    play.mono += 9 * HOUR;
    play.feed(fired("wrap-up"));
    const [message] = sends(play.effects);
    assert.deepEqual([message?.source, message?.wrapUp], ["recover", true]);
    assert.match(message?.text ?? "", /about 60 minutes are left/);
    play.feed(wrapUp, { type: "prompt.written", data: { promptId: "p9" } });
    assert.equal(play.turn, "busy");
    play.feed(fired("wrap-up"), { type: "worker.heartbeat", data: {} });
    assert.deepEqual(sends(play.effects), []);
    assert.deepEqual(play.feed(result()).kinds(), ["verify"], "one result for both messages");
  });

  test("one between two turns hears it with the evidence", () => {
    const play = working({ limits }).feed(result(), verifying, fired("wrap-up"));
    assert.deepEqual(sends(play.effects), []);
    play.feed(finished("fail"));
    const [message] = sends(play.effects);
    assert.equal(message?.source, "verifier");
    assert.match(message?.text ?? "", /did not pass[\s\S]*nearly over/);
  });

  test("one whose call waits for a person hears it when that is answered", () => {
    const play = working({ limits }).feed(review("r1"));
    play.feed(fired("wrap-up"));
    assert.deepEqual(sends(play.effects), [], "nothing is sent while a person is needed");
    play.feed({ type: "request.answered", data: { requestId: "r1", decision: "deny", by: "person", via: "command" } });
    play.feed({ type: "request.replied", data: { requestId: "r1", ok: true } });
    assert.equal(sends(play.effects).length, 1);
  });

  test("a message that was overtaken parks nothing, and goes out with the next one", () => {
    const play = working({ limits }).feed(fired("wrap-up"), wrapUp);
    play.feed({ type: "prompt.failed", data: { promptId: "p9", reason: "overtaken", message: "m", wrapUp: true } });
    assert.equal(play.held, undefined);
    assert.equal(play.turn, "busy");
    assert.deepEqual(sends(play.effects), [], "no loop of tries");
    play.feed(result(), verifying, finished("fail"));
    assert.match(sends(play.effects)[0]?.text ?? "", /nearly over/);
  });

  test("nothing is sent in manual mode", () => {
    const play = working({ limits, mode: "manual" }).feed(fired("wrap-up"));
    assert.deepEqual(sends(play.effects), []);
  });
});

describe("after the deadline", () => {
  const late = (): Play => working({ limits }).feed(fired("wrap-up"), wrapUp, fired("wall"));

  test("a worker at work has a close-out, in which its turn may end and is verified: a pass completes", () => {
    const play = late();
    assert.ok(!stops(play));
    assert.ok(due(play)["close-out"] !== undefined);
    assert.deepEqual(play.feed(result()).kinds(), ["verify"]);
    play.feed(verifying);
    assert.equal(due(play)["close-out"], undefined, "a verification has its own limit");
    play.feed(finished("pass"), { type: "task.completed", data: { treeId: "tree", round: 1, by: "auto" } });
    assert.equal(play.name, "completed");
  });

  test("a failing verification sends no evidence: the task is stopped, with its session kept", () => {
    const play = late().feed(result(), verifying);
    play.feed(finished("fail"));
    assert.deepEqual(sends(play.effects), []);
    assert.ok(stops(play));
    play.feed(exited(0), { type: "stop.proven", data: { method: "census", killed: 1, durationMs: 1 } });
    assert.equal(play.name, "failed");
    play.feed({ type: "task.recovering", data: { fresh: false, resume: true, sessionId: "s1", extendMs: HOUR } });
    assert.deepEqual(play.kinds(), ["spawn"], "it goes on in its session");
  });

  test("what is not over by then is stopped", () => {
    const play = late().feed(fired("close-out"));
    assert.ok(stops(play));
    assert.match(play.state.stop.kind === "requested" ? play.state.stop.reason : "", /10 hours.*10 minutes/);
  });

  test("a manual task that is at work is stopped at once, one that waits for its person is not", () => {
    assert.ok(stops(working({ limits, mode: "manual" }).feed(fired("wall"))));
    const waits = working({ limits, mode: "manual" }).feed(result());
    assert.equal(waits.name, "human_required");
    assert.deepEqual(due(waits), {});
  });
});

describe("the silence watch", () => {
  const idle: EventDraft = { type: "worker.session-state", data: { state: "idle" } };

  test("verifies the work of a worker that says it is idle, and ends no such one", () => {
    const play = working().feed(idle, fired("quiet"));
    assert.ok(!stops(play));
    assert.deepEqual(play.kinds(), ["verify"]);
  });

  test("ends one that says it is busy, or nothing", () => {
    assert.ok(stops(working().feed(fired("quiet"))));
    const busy: EventDraft = { type: "worker.session-state", data: { state: "busy" } };
    assert.ok(stops(working().feed(idle, busy, fired("quiet"))));
  });
});

describe("a budget of which most is used up", () => {
  const warned = (play: Play, event: EventDraft): string[] => {
    const before = play.state;
    play.feed(event);
    const told = newCalls(before, play.state, event).map((call) => call.reason);
    const warnings = play.effects.flatMap((effect) =>
      effect.kind === "record" && effect.event.type === "budget.warning" ? [effect.event] : [],
    );
    for (const one of warnings) told.push(...newCalls(play.state, play.state, one).map((call) => call.reason));
    return warnings.map(({ data }) => `${data.budget} ${Math.round(data.used)}/${data.limit}`).concat(told);
  };
  const round = (play: Play): Play => play.feed(...sent("p2", "verifier"), result(), verifying);

  test("is told once: rounds", () => {
    const play = working({ limits }).feed(result(), verifying);
    for (const _ of [1, 2, 3]) {
      assert.deepEqual(warned(play, finished("fail", { treeId: `tree${play.mono}` })), []);
      round(play);
    }
    assert.deepEqual(warned(play, finished("fail", { treeId: "tree9" })), ["rounds 4/5", "budget"]);
  });

  test("is told once: turns of one run", () => {
    const play = working({ limits: { ...limits, maxTurns: 10 } });
    assert.deepEqual(warned(play, result({ numTurns: 7 })), []);
    play.feed(...sent("p2", "verifier"));
    assert.deepEqual(warned(play, result({ numTurns: 8 })), ["turns 8/10", "budget"]);
  });

  test("is told once: time", () => {
    const play = working({ limits });
    play.mono += 8 * HOUR;
    const [what = "", ...told] = warned(play, fired("wall-warning"));
    assert.match(what, /^wall-clock 288000\d\d\/36000000$/);
    assert.deepEqual(told, ["budget"]);
    assert.deepEqual(warned(play, fired("wall-warning")), []);
  });

  test("is not told when all of it is used up: then the task waits, and says so", () => {
    const play = working({ limits: { ...limits, maxRounds: 1 } }).feed(result(), verifying);
    assert.deepEqual(warned(play, finished("fail")), ["rounds-exhausted"]);
  });
});

test("a recovery begins with an open clock", () => {
  const play = working({ limits }).feed(fired("wrap-up"), wrapUp, fired("wall"), exited(0), swept);
  play.feed({ type: "task.recovering", data: { fresh: false, resume: true, sessionId: "s1" } }, ready());
  assert.equal(play.state.closing.kind, "open");
});

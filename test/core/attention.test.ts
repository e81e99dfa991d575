/** Which waits a person is called for, and that each is one call however long it lasts. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type Call, callsFor, newCalls } from "../../src/core/attention.ts";
import { ESCALATION_REASONS } from "../../src/core/contracts/notice.ts";
import type { EventDraft } from "../../src/core/events.ts";
import { escalationOf, FAULTS, HOLD_REASONS, type HoldReason } from "../../src/core/machine/hold-reasons.ts";
import {
  exited,
  finished,
  type Play,
  ready,
  result,
  review,
  sent,
  started,
  swept,
  verifying,
  working,
} from "./play.ts";
import { spec } from "./random-events.ts";

const stop = (by: "person" | "watchdog"): EventDraft => ({
  type: "stop.requested",
  data: { by, kind: "now", reason: "quiet", end: by === "person" ? "stopped" : "failed", cause: "stalled-no-result" },
});
const proven: EventDraft = { type: "stop.proven", data: { method: "census", killed: 1, durationMs: 1 } };
const left = { kind: "process" as const, id: "7", detail: "sleep 600" };

const table: { what: string; play: () => Play; calls: string[]; next?: RegExp }[] = [
  { what: "a worker at work", play: () => working(), calls: [] },
  {
    what: "a call that waits",
    play: () => working({ mode: "manual" }).feed(review("r1")),
    calls: ["approval"],
    next: /\/supervise approve r1/,
  },
  {
    what: "two calls that wait",
    play: () => working({ mode: "manual" }).feed(review("r1", "t1"), review("r2", "t2")),
    calls: ["approval", "approval"],
  },
  {
    what: "a question",
    play: () => {
      const asked = review("r1");
      return working({ mode: "manual" }).feed({ ...asked, data: { ...asked.data, kind: "question" } } as EventDraft);
    },
    calls: ["question"],
    next: /\/supervise answer r1/,
  },
  {
    what: "used-up rounds",
    play: () => {
      const limits = { ...spec().limits, maxRounds: 1 };
      return working({ limits }).feed(result(), verifying, finished("fail"));
    },
    calls: ["rounds-exhausted"],
  },
  {
    what: "a refused login",
    play: () => working().feed(result({ isError: true, apiErrorStatus: 401 })),
    calls: ["auth"],
  },
  {
    what: "a fault",
    play: () => working().feed({ type: "gate.incident", data: { fault: "ungated-call", detail: "d" } }),
    calls: ["fault"],
    next: /\/supervise resume t --fault ungated-call/,
  },
  { what: "a result in manual mode", play: () => working({ mode: "manual" }).feed(result()), calls: ["result"] },
  {
    what: "a death in the middle of a turn",
    play: () => working({ mode: "manual" }).feed(exited(1), swept),
    calls: ["worker-exit"],
  },
  { what: "a call that the decider is asked about", play: () => working().feed(review("r1")), calls: [] },
  { what: "a death that the decider is asked about", play: () => working().feed(exited(1), swept), calls: [] },
  { what: "an end by the watchdog", play: () => working().feed(stop("watchdog"), proven), calls: ["failed"] },
  { what: "an end by a person", play: () => working().feed(stop("person"), proven), calls: [] },
  {
    what: "a stop that is not proven",
    play: () => working().feed(stop("person"), { type: "stop.failed", data: { remaining: [left], durationMs: 1 } }),
    calls: ["failed-to-stop"],
    next: /\/supervise stop t/,
  },
  {
    what: "a pause",
    play: () => working().feed({ type: "pause.requested", data: { by: "person", reason: "lunch" } }),
    calls: [],
  },
  {
    what: "a sign-off",
    play: () =>
      working().feed(
        result(),
        verifying,
        finished("pass", { findings: [{ kind: "changed-script", path: "test.sh", detail: "d" }] }),
        {
          type: "signoff.requested",
          data: { requestId: "r9", why: "changed-script", message: "m", treeId: "tree" },
        } as EventDraft,
      ),
    calls: ["sign-off"],
    next: /\/supervise approve r9/,
  },
  {
    what: "automation off, the turn over",
    play: () => working().feed({ type: "automation.changed", data: { to: "off", why: "off" } }, result()),
    calls: ["automation-off"],
  },
  {
    what: "automation off in the middle of a turn",
    play: () => working().feed({ type: "automation.changed", data: { to: "off", why: "off" } }),
    calls: [],
  },
  { what: "a short overload", play: () => working().feed(result({ isError: true, apiErrorStatus: 529 })), calls: [] },
  {
    what: "a usage limit of hours",
    play: () =>
      working().feed(
        { type: "worker.rate-limit", data: { status: "rejected", resetsAt: "2026-01-01T03:00:00.000Z" } },
        result({ isError: true, apiErrorStatus: 429 }),
      ),
    calls: ["service"],
  },
  {
    what: "a completed task",
    play: () =>
      working().feed(result(), verifying, finished("pass"), {
        type: "task.completed",
        data: { treeId: "tree", round: 1, by: "auto" },
      }),
    calls: ["completed"],
  },
];

describe("a person is called", () => {
  for (const { what, play, calls, next } of table) {
    test(`${calls.length === 0 ? "not " : ""}for ${what}${calls.length === 0 ? "" : `: ${calls.join(", ")}`}`, () => {
      const found = callsFor(play().state);
      assert.deepEqual(
        found.map((call) => call.reason),
        calls,
      );
      for (const call of found) assert.match(call.title, /^t /);
      if (next !== undefined) assert.match(found[0]?.next.join("\n") ?? "", next);
    });
  }

  test("for a pause by another than a person, by the event that asks for it", () => {
    const before = working().state;
    for (const [by, count] of [
      ["person", 0],
      ["estop", 1],
      ["supervisor", 1],
    ] as const) {
      const event: EventDraft = { type: "pause.requested", data: { by, reason: "why" } };
      const play = working().feed(event);
      assert.equal(newCalls(before, play.state, event).filter((one) => one.reason === "paused").length, count, by);
    }
  });

  test("once for one wait, whatever comes while it lasts, and anew for the next one", () => {
    const play = working({ mode: "manual" });
    const told: Call[] = [];
    const feed = (event: EventDraft): void => {
      const before = play.state;
      play.feed(event);
      told.push(...newCalls(before, play.state, event));
    };
    feed(review("r1"));
    feed({ type: "worker.text", data: { preview: "…", chars: 1 } });
    feed({ type: "timer.fired", data: { name: "patience" } });
    feed({ type: "worker.heartbeat", data: {} });
    assert.deepEqual(
      told.map((call) => call.key),
      ["t:r1"],
    );
    feed({ type: "request.answered", data: { requestId: "r1", decision: "deny", by: "person", via: "command" } });
    feed(review("r2"));
    assert.deepEqual(
      told.map((call) => call.key),
      ["t:r1", "t:r2"],
    );
  });

  test("once for all tasks where the cause is not the task's own", () => {
    const [auth] = callsFor(working().feed(result({ isError: true, apiErrorStatus: 401 })).state);
    assert.equal(auth?.shared, "auth");
    const [own] = callsFor(working({ mode: "manual" }).feed(review("r1")).state);
    assert.equal(own?.shared, null);
  });
});

describe("reasons", () => {
  test("of holds all have a reason that receivers know", () => {
    const reasons = [...Object.keys(HOLD_REASONS), ...Object.keys(FAULTS), "verifier-timeout"] as HoldReason[];
    const unknown = reasons.filter((reason) => !ESCALATION_REASONS.includes(escalationOf(reason)));
    assert.deepEqual(unknown, []);
  });
});

test("an unstarted task calls nobody", () => {
  assert.deepEqual(callsFor(started().state), []);
  assert.deepEqual(callsFor(started().feed(ready(), ...sent("p1", "goal")).state), []);
});

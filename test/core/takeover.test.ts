/** Taking the wheel and giving it back, event by event; random sequences are in invariants.test.ts. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { EventDraft, EventMap } from "../../src/core/events.ts";
import { type PersonCommand, refusal } from "../../src/core/machine/admit.ts";
import { wallLeft } from "../../src/core/machine/budgets.ts";
import { waitsFor } from "../../src/core/machine/project.ts";
import { claimed, sent as drafted, Play as Machine, ready, recovering, spawned } from "./play.ts";
import { spec } from "./random-events.ts";

const started = ready();
const sent = (source: EventMap["prompt.intent"]["source"], promptId = "p1"): EventDraft[] => drafted(promptId, source);
const good = { subtype: "success", isError: false, errors: [], preview: "", chars: 9, permissionDenials: 0 };
const result: EventDraft = { type: "turn.result", data: good };
const ask = (requestId: string | undefined, verdict: "allow" | "review"): EventDraft => ({
  type: "gate.verdict",
  data: {
    callId: `c-${requestId}`,
    via: "hook",
    toolUseId: "t1",
    toolName: "Bash",
    verdict,
    rule: "r",
    reason: "x",
    input: {},
    cwd: "/workspace",
    ...(requestId === undefined ? {} : { requestId }),
  },
});
const takeover: EventDraft = { type: "takeover.requested", data: { by: "person", sessionId: "s1" } };
const ending: EventDraft = { type: "worker.ending", data: { why: "takeover" } };
const exited: EventDraft = { type: "worker.exited", data: { code: 0, signal: null, exitReason: "takeover" } };
const swept = (proven = true): EventDraft => ({
  type: "worker.swept",
  data: { method: "census", killed: 0, durationMs: 1, proven, remaining: [] },
});
const handback = (note?: string): EventDraft => ({
  type: "task.recovering",
  data: {
    fresh: false,
    resume: true,
    sessionId: "s1",
    handback: { promptId: "h1", redacted: false, ...(note === undefined ? {} : { note }) },
  },
});

const working: readonly EventDraft[] = [claimed("start"), ...spawned, started, ...sent("goal")];
const gone: readonly EventDraft[] = [takeover, ending, exited, swept()];

class Play extends Machine {
  constructor(overrides: Partial<EventMap["task.created"]> = {}) {
    super();
    this.feed({ type: "task.created", data: spec(overrides) });
  }

  /** What came before, whose effects are not asked for. */
  after(...drafts: readonly EventDraft[]): this {
    return this.feed(...drafts);
  }

  replies() {
    return this.effects.flatMap((effect) => (effect.kind === "reply" ? [effect.reply] : []));
  }
}

describe("a takeover", () => {
  test("turns automation off, says that nothing is gated from here on, and ends the worker", () => {
    const play = new Play().after(...working).feed(takeover);
    assert.equal(play.name, "taken_over");
    assert.deepEqual(play.effects, [
      { kind: "record", event: { type: "ungated", data: { why: "takeover", confirmedBy: "command" } } },
      { kind: "end-worker", why: "takeover", exitMs: 2_000 },
    ]);
    assert.equal(play.state.control.kind, "taking-over");
    play.feed(ending, exited);
    assert.deepEqual([play.kinds(), play.state.control.kind], [["sweep"], "taking-over"]);
    play.feed(swept());
    assert.deepEqual([play.name, play.state.control.kind, play.kinds()], ["taken_over", "taken-over", []]);
    assert.equal(waitsFor(play.state), null);
  });

  test("of a worker that leaves something behind ends in failed_to_stop, never in a wheel that is not free", () => {
    const play = new Play().feed(...working, takeover, ending, exited, swept(false));
    assert.equal(play.name, "failed_to_stop");
  });

  test("cancels what waits for an answer, and denies what is asked late, by name", () => {
    const play = new Play({ mode: "manual" }).feed(...working, ask("r1", "review"), takeover);
    assert.deepEqual(play.state.requests, {});
    play.feed({
      type: "request.answered",
      data: { requestId: "r1", decision: "approve", by: "person", via: "command" },
    });
    assert.deepEqual(play.kinds(), []);
    const [reply] = play.feed(ask(undefined, "allow")).replies();
    assert.equal(reply?.decision, "deny");
    assert.match(reply?.reason ?? "", /person takes this session over/);
  });

  test("of a deferred request cancels it: nothing is resumed for an answer of before", () => {
    const deferred: EventDraft = {
      type: "turn.result",
      data: { ...good, deferred: { toolUseId: "t1", toolName: "Bash" } },
    };
    const play = new Play({ mode: "manual" }).feed(
      ...working,
      ask("r1", "review"),
      { type: "request.deferring", data: { requestId: "r1" } },
      deferred,
      { type: "worker.ending", data: { why: "deferral" } },
      exited,
      swept(),
    );
    assert.equal(play.name, "human_required");
    play.feed(takeover);
    assert.deepEqual([play.state.control.kind, play.state.requests], ["taken-over", {}]);
  });

  test("ends a running verification without its verdict", () => {
    const play = new Play().feed(...working, result);
    assert.equal(play.name, "verifying");
    play.feed(takeover);
    assert.equal(play.state.verification.kind, "none");
  });

  test("of a paused task has the wheel at once", () => {
    const paused: EventDraft = { type: "pause.requested", data: { by: "person", reason: "r" } };
    const play = new Play().feed(...working, paused, exited, swept(), takeover);
    assert.equal(play.state.control.kind, "taken-over");
  });

  test("of a task whose Pi died sweeps what it left before the wheel is free", () => {
    const play = new Play().after(...working, claimed("takeover")).feed(takeover);
    assert.deepEqual([play.kinds(), play.state.control.kind], [["sweep"], "taking-over"]);
    assert.equal(play.feed(swept()).state.control.kind, "taken-over");
  });

  test("that a crash cut in half stays one: automation stays off, and it can be finished or given back", () => {
    const play = new Play().feed(...working, takeover, ending, claimed("takeover"));
    assert.equal(play.name, "taken_over");
    assert.equal(refusal(play.state, "recover")?.reason, "taken-over");
    const again = new Play().after(...working, takeover, ending, claimed("takeover")).feed(takeover);
    assert.deepEqual(again.kinds(), ["sweep"]);
    play.feed(handback(), swept());
    assert.deepEqual(play.kinds(), ["sweep", "spawn"]);
  });

  const refusals: [what: string, drafts: readonly EventDraft[], reason: string | null][] = [
    ["before the worker exists", [claimed("start")], "starting"],
    ["in the handshake", [claimed("start"), ...spawned], "starting"],
    ["before the goal was given", [claimed("start"), ...spawned, started], "starting"],
    ["while a message is on its way", [...working, result, { ...sent("verifier", "p2")[0] } as EventDraft], "busy"],
    ["in a turn", working, null],
    ["while the worker is ending", [...working, { type: "worker.ending", data: { why: "deferral" } }], "busy"],
    ["twice in a row", [...working, takeover], "busy"],
    ["when it is taken over", [...working, ...gone], null],
  ];
  for (const [what, drafts, reason] of refusals) {
    test(`${what} is ${reason === null ? "taken" : `refused with ${reason}`}`, () => {
      const state = new Play({ mode: "manual" }).feed(...drafts).state;
      assert.equal(refusal(state, "takeover")?.reason ?? null, reason);
    });
  }

  test("refuses every command but stop, takeover and handback, and names the way back", () => {
    const { state } = new Play().feed(...working, ...gone);
    const commands: PersonCommand[] = ["send", "verify", "approve", "deny", "answer", "pause", "recover"];
    for (const command of commands) {
      const refused = refusal(state, command);
      assert.equal(refused?.reason, "taken-over", command);
      assert.match(refused.message, /\/supervise handback t/);
    }
    for (const command of ["stop", "takeover", "handback"] as const) assert.equal(refusal(state, command), null);
  });

  test("is ended by a proven stop; the stopped task is then recovered like any other", () => {
    const stop: EventDraft[] = [
      { type: "stop.requested", data: { by: "person", kind: "graceful", reason: "r", end: "stopped" } },
      { type: "stop.proven", data: { method: "nothing-to-end", killed: 0, durationMs: 1 } },
    ];
    const play = new Play().feed(...working, ...gone, ...stop);
    assert.equal(play.name, "stopped");
    assert.equal(refusal(play.state, "recover"), null);
    assert.equal(refusal(play.state, "handback")?.reason, "ended");
    assert.deepEqual(play.feed(recovering).kinds(), ["spawn"]);
  });

  test("stops the task's clock", () => {
    const play = new Play().feed(...working);
    play.mono = 60_000;
    play.feed(...gone);
    const left = wallLeft(play.state);
    play.mono = 9_000_000;
    play.feed({ type: "worker.heartbeat", data: {} });
    assert.equal(wallLeft(play.state), left);
    play.feed(handback());
    assert.equal(wallLeft(play.state), left);
    play.mono += 5_000;
    play.feed({ type: "worker.heartbeat", data: {} });
    assert.ok(left - wallLeft(play.state) >= 5_000);
  });
});

describe("a handback", () => {
  const back = (note?: string): Play => new Play().feed(...working, ...gone, handback(note));

  test("starts a worker in the same session and tells it, once, that a person was there; the goal is not quoted", () => {
    const play = back("look at b.txt");
    assert.deepEqual(play.effects.at(-1), { kind: "spawn", resume: true, sessionId: "s1" });
    play.after(...spawned).feed(started);
    const [effect, ...more] = play.effects;
    assert.deepEqual(more, []);
    assert.ok(effect?.kind === "send");
    assert.deepEqual([effect.source, effect.promptId], ["handback", "h1"]);
    assert.match(effect.text, /A person has worked in this session/);
    assert.match(effect.text, /The person says: look at b\.txt/);
    assert.ok(!effect.text.includes(spec().goal));
    play.feed(...sent("handback", "h1"), result);
    assert.equal(play.state.prompts.handback, null);
    assert.equal(play.name, "verifying");
  });

  test("whose worker never started keeps its word for the next one", () => {
    const play = back("look at b.txt")
      .feed(claimed("recover"), recovering, ...spawned)
      .feed(started);
    const [effect] = play.effects;
    assert.ok(effect?.kind === "send" && effect.source === "handback" && effect.text.includes("b.txt"));
  });

  test("whose note is lost with the memory that held it asks a person, and then goes on without", () => {
    const play = back("x")
      .after(...spawned, started)
      .feed({
        type: "prompt.failed",
        data: { promptId: "h1", reason: "text-redacted", message: "m" },
      });
    assert.deepEqual([play.name, play.state.hold?.reason, play.kinds()], ["human_required", "text-redacted", []]);
    assert.equal(play.state.prompts.handback, null);
  });

  test("is refused where nobody has the wheel, and after a fault until that is cleared", () => {
    assert.equal(refusal(new Play().feed(...working).state, "handback")?.reason, "not-taken-over");
    const faulty = new Play().feed(
      ...working,
      { type: "gate.incident", data: { fault: "ungated-call", detail: "d" } },
      exited,
      swept(),
      takeover,
    );
    assert.equal(faulty.name, "taken_over");
    assert.equal(refusal(faulty.state, "handback")?.reason, "fault");
    faulty.feed({ type: "fault.cleared", data: { fault: "ungated-call" } });
    assert.equal(refusal(faulty.state, "handback"), null);
  });
});

describe("the task's clock", () => {
  test("begins with the task, not with the Pi that it runs in", () => {
    const play = new Play();
    play.mono = 3_600_000;
    play.feed(...working);
    assert.ok(spec().limits.wallMs - wallLeft(play.state) < 1_000);
  });

  test("counts what an owner before it has used", () => {
    const play = new Play().feed(...working);
    play.mono = 1_000_000;
    play.feed({ type: "worker.heartbeat", data: {} });
    play.mono = 10;
    play.feed(claimed("recover"), recovering);
    const used = spec().limits.wallMs - wallLeft(play.state);
    assert.ok(used >= 999_000 && used < 1_001_000, String(used));
  });
});

/** The machine's rules one by one, in words; random sequences are in invariants.test.ts. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { EventDraft } from "../../src/core/events.ts";
import { costUsd } from "../../src/core/machine/budgets.ts";
import { deadlines } from "../../src/core/machine/deadlines.ts";
import { waitsFor } from "../../src/core/machine/project.ts";
import { exited, finished, type Play, ready, result, review, sent, swept, verifying, working } from "./play.ts";
import { containment, executable, identity, spec } from "./random-events.ts";

describe("rounds", () => {
  test("the failing verification of the last round ends the rounds: its evidence is not sent", () => {
    const play = working().feed(result(), verifying, finished("fail"));
    assert.deepEqual(play.kinds(), ["verify", "send"]);
    play.feed(...sent("p2", "verifier"), result(), verifying, finished("fail"));
    assert.deepEqual(play.kinds(), ["verify"]);
    assert.equal(play.name, "human_required");
    assert.equal(play.state.hold?.reason, "rounds-exhausted");
    assert.equal(waitsFor(play.state), "person");
  });

  test("a person's message after the last round starts the work again, and its result is verified", () => {
    const play = working().feed(
      result(),
      verifying,
      finished("fail"),
      ...sent("p2", "verifier"),
      result(),
      verifying,
      finished("fail"),
    );
    play.feed({ type: "prompt.queued", data: { promptId: "p3", source: "person", text: "try x", redacted: false } });
    assert.deepEqual(play.kinds(), ["send"]);
    play.feed(...sent("p3", "person"), result());
    assert.deepEqual(play.kinds(), ["verify"]);
  });

  test("a verifier that could not run asks a person and costs no round", () => {
    const play = working().feed(result(), verifying, finished("error", { reason: "cannot-start" }));
    assert.equal(play.name, "human_required");
    assert.equal(play.state.budgets.failedRounds, 0);
  });

  test("a tree that changes under the verifier is verified again, at most twice", () => {
    const play = working().feed(result(), verifying, finished("error", { reason: "tree-changed" }));
    assert.deepEqual(play.kinds(), ["verify", "verify"]);
    play.feed(verifying, finished("error", { reason: "tree-changed" }));
    assert.equal(play.name, "human_required");
  });

  test("a passing tree that has changed since is not completed", () => {
    const play = working().feed(result(), verifying, finished("pass"));
    assert.deepEqual(play.kinds(), ["verify", "confirm-tree"]);
    play.feed({ type: "task.completed", data: { treeId: "another", round: 1, by: "auto" } });
    assert.notEqual(play.name, "completed");
    play.feed({ type: "verify.stale", data: { passedTree: "tree", presentTree: "another" } });
    assert.deepEqual(play.kinds(), ["verify"]);
  });
});

describe("the end of a turn", () => {
  test("in manual mode waits for its person and sends nothing", () => {
    const play = working({ mode: "manual" }).feed(result());
    assert.deepEqual([play.name, waitsFor(play.state), play.kinds().length], ["human_required", "result", 0]);
  });

  test("is not reached while background tasks live, and needs a quiet moment after them", () => {
    const task = { id: "b1", kind: "local_bash", description: "sleep" };
    const play = working().feed({ type: "worker.background", data: { tasks: [task] } }, result());
    assert.equal(play.turn, "background");
    play.feed({ type: "worker.background", data: { tasks: [] } });
    assert.equal(play.turn, "settling");
    assert.deepEqual(play.kinds(), []);
    play.feed({ type: "worker.init", data: { permissionMode: "default", sessionId: "s1", tools: 1 } });
    assert.equal(play.turn, "busy", "Claude began another turn by itself");
    play.feed(result());
    assert.deepEqual(play.kinds(), ["verify"]);
  });

  test("sends a person's messages one at each idle point, in their order", () => {
    const queued = (promptId: string): EventDraft => ({
      type: "prompt.queued",
      data: { promptId, source: "person", text: promptId, redacted: false },
    });
    const play = working({ mode: "manual" }).feed(queued("a"), queued("b"));
    assert.deepEqual(play.kinds(), [], "nothing is written into a running turn");
    play.feed(result());
    assert.deepEqual(
      play.effects.map((effect) => (effect.kind === "send" ? effect.promptId : effect.kind)),
      ["a"],
    );
    play.feed(...sent("a", "person"), result());
    assert.deepEqual(
      play.effects.map((effect) => (effect.kind === "send" ? effect.promptId : effect.kind)),
      ["b"],
    );
  });
});

describe("the model service", () => {
  const limited = { isError: true, apiErrorStatus: 429 };
  test("at its usage limit is waited for until the reset, then the worker is told to go on", () => {
    const play = working().feed(
      { type: "worker.rate-limit", data: { status: "rejected", resetsAt: "2026-01-01T01:00:00.000Z" } },
      result(limited),
    );
    assert.equal(play.name, "running");
    const [retry] = deadlines(play.state).filter((deadline) => deadline.name === "retry");
    assert.ok(retry && retry.due > 3_600_000 - 1_000 && retry.due < 3_600_000 + 60_000, JSON.stringify(retry));
    play.feed({ type: "timer.fired", data: { name: "retry" } });
    assert.deepEqual(
      play.effects.map((effect) => (effect.kind === "send" ? effect.source : effect.kind)),
      ["recover"],
    );
    assert.equal(play.state.budgets.failedRounds, 0);
  });

  test("that is overloaded is tried again with growing pauses, in a new process when the old one has left", () => {
    const play = working().feed(result({ isError: true, apiErrorStatus: 529 }), exited(1), swept);
    assert.equal(play.name, "running", "the exit code of a refused turn is not the cause");
    play.feed({ type: "timer.fired", data: { name: "retry" } });
    assert.deepEqual(play.effects, [{ kind: "spawn", resume: true, sessionId: "s1" }]);
  });

  test("is not waited for beyond the task's own time", () => {
    const play = working().feed(
      { type: "worker.rate-limit", data: { status: "rejected", resetsAt: "2026-01-01T10:00:00.000Z" } },
      result(limited),
    );
    assert.deepEqual([play.name, play.state.hold?.reason], ["human_required", "rate-limited"]);
  });

  test("that refuses the login is a person's matter in every mode, also when Claude then exits", () => {
    for (const mode of ["auto", "manual"] as const) {
      const play = working({ mode }).feed(result({ isError: true, apiErrorStatus: 401 }), exited(1), swept);
      assert.deepEqual([play.name, play.state.hold?.reason], ["human_required", "auth"]);
    }
  });
});

describe("a refused login", () => {
  const retry = (status: number): EventDraft => ({ type: "worker.retry", data: { attempt: 1, status } });

  test("that Claude only retries is told to a person at once, and ends by itself when a turn succeeds", () => {
    const play = working().feed(retry(401));
    assert.deepEqual([play.name, play.state.hold?.reason], ["human_required", "auth"]);
    assert.deepEqual(
      deadlines(play.state).map((deadline) => deadline.name),
      [],
      "silence is no stall while a person is needed",
    );
    assert.deepEqual(play.feed(result()).kinds(), ["verify"]);
  });

  test("is not mistaken for an overload", () => {
    assert.equal(working().feed(retry(529)).name, "running");
  });
});

describe("exits", () => {
  test("in the middle of a turn fail the task with the code, once everything is proven gone", () => {
    const play = working({ mode: "manual" }).feed(exited(143));
    assert.deepEqual(play.kinds(), ["sweep"]);
    assert.notEqual(play.name, "failed");
    play.feed(swept);
    assert.equal(play.name, "failed");
    assert.equal("reason" in play.state.ended ? play.state.ended.reason : undefined, "worker-exit 143");
  });

  test("during a verification do not spoil its verdict", () => {
    const play = working().feed(result(), verifying, exited(0), swept);
    assert.equal(play.name, "verifying");
    play.feed(finished("pass"), { type: "task.completed", data: { treeId: "tree", round: 1, by: "auto" } });
    assert.equal(play.name, "completed");
  });

  test("that leave something running end as failed_to_stop with its name", () => {
    const remaining = [{ kind: "process" as const, id: "7", detail: "sleep" }];
    const play = working().feed(exited(1), {
      type: "worker.swept",
      data: { method: "census", killed: 0, durationMs: 1, proven: false, remaining },
    });
    assert.equal(play.name, "failed_to_stop");
  });
});

describe("a stop", () => {
  const stop = (by: "person" | "watchdog", kind: "graceful" | "now" = "graceful"): EventDraft => ({
    type: "stop.requested",
    data: {
      by,
      kind,
      reason: by,
      end: by === "person" ? "stopped" : "failed",
      ...(by === "person" ? {} : { cause: "wall-clock" }),
    },
  });
  const proven: EventDraft = { type: "stop.proven", data: { method: "census", killed: 1, durationMs: 1 } };

  test("of a person outranks the watchdog's, whose cause is else kept", () => {
    assert.equal(working().feed(stop("watchdog"), proven).name, "failed");
    assert.equal(working().feed(stop("watchdog"), stop("person"), proven).name, "stopped");
    assert.equal(working().feed(stop("person"), stop("watchdog"), proven).name, "stopped");
  });

  test("can only become faster", () => {
    const play = working().feed(stop("person", "now"), stop("person", "graceful"));
    assert.equal(play.state.stop.kind === "requested" && play.state.stop.how, "now");
  });

  test("wins over a verdict, a result and an answer that come after it", () => {
    const play = working().feed(review("r1"), stop("person"));
    play.feed(
      { type: "request.answered", data: { requestId: "r1", decision: "approve", by: "person", via: "command" } },
      review("r2", "t2"),
      result(),
      finished("pass"),
      { type: "task.completed", data: { treeId: "tree", round: 1, by: "auto" } },
    );
    assert.deepEqual(play.kinds(), ["reply"], "only the new call is answered");
    assert.ok(play.effects.every((effect) => effect.kind !== "reply" || effect.reply.decision === "deny"));
    assert.equal(play.feed(proven).name, "stopped");
  });

  test("that finds something left can be asked for again", () => {
    const play = working().feed(stop("person"), {
      type: "stop.failed",
      data: { remaining: [{ kind: "process", id: "1", detail: "x" }], durationMs: 1 },
    });
    assert.equal(play.name, "failed_to_stop");
    assert.deepEqual(play.feed(stop("person")).kinds(), ["teardown"]);
    assert.equal(play.feed(proven).name, "stopped");
  });
});

describe("pause and recover", () => {
  const pause: EventDraft = { type: "pause.requested", data: { by: "person", reason: "lunch" } };
  const recovering: EventDraft = { type: "task.recovering", data: { fresh: false, resume: true, sessionId: "s1" } };

  test("a pause ends the worker, keeps the session, and sends nothing until it is resumed", () => {
    const play = working().feed(pause);
    assert.deepEqual(play.kinds(), ["end-worker"]);
    play.feed(
      { type: "worker.ending", data: { why: "pause" } },
      result({ isError: true, subtype: "error_during_execution" }),
      exited(0),
      swept,
    );
    assert.deepEqual([play.name, play.kinds()], ["paused", ["sweep"]]);
    play.feed(recovering);
    assert.deepEqual(play.effects, [{ kind: "spawn", resume: true, sessionId: "s1" }]);
    play.feed(
      { type: "worker.spawning", data: { workerId: "w2", sessionId: "s1", resume: true } },
      { type: "worker.spawned", data: { containment, argv: [], envNames: [] } },
      ready(),
    );
    assert.deepEqual(
      play.effects.map((effect) => (effect.kind === "send" ? effect.source : effect.kind)),
      ["recover"],
      "go on, never the goal again",
    );
  });

  test("a fresh session asked for gets the goal", () => {
    const play = working().feed(exited(1), swept, {
      type: "task.recovering",
      data: { fresh: true, resume: false, sessionId: "s2" },
    });
    play.feed(
      { type: "worker.spawning", data: { workerId: "w2", sessionId: "s2", resume: false } },
      { type: "worker.spawned", data: { containment, argv: [], envNames: [] } },
      ready(),
    );
    assert.deepEqual(
      play.effects.map((effect) => (effect.kind === "send" ? effect.source : effect.kind)),
      ["goal"],
    );
  });

  test("a new owner waits for proof that the old worker is gone before it starts another", () => {
    const play = working().feed(
      { type: "owner.claimed", data: { owner: { ...identity, host: "h" }, why: "recover" } },
      recovering,
    );
    assert.deepEqual(play.kinds(), ["sweep"]);
    assert.deepEqual(play.feed(swept).kinds(), ["spawn"]);
  });

  test("a changed Claude program is a person's question, once", () => {
    const play = working().feed(exited(1), swept, recovering, {
      type: "worker.spawning",
      data: { workerId: "w2", sessionId: "s1", resume: true },
    });
    play.feed({
      type: "worker.drift",
      data: { before: executable, now: { ...executable, sha256: "11" }, message: "changed" },
    });
    assert.deepEqual(
      [play.name, play.state.hold?.reason, play.state.driftSeen],
      ["human_required", "claude-changed", "11"],
    );
    assert.deepEqual(play.feed(recovering).kinds(), ["spawn"]);
  });
});

describe("deferral", () => {
  const patience: EventDraft = { type: "timer.fired", data: { name: "patience" } };
  const use = (toolUseId: string): EventDraft => ({ type: "tool.use", data: { toolUseId, toolName: "Bash" } });
  const waiting = (): Play => working({ mode: "manual", limits: { ...spec().limits, patienceMs: 600_000 } });
  const decisions = (play: Play): string[] =>
    play.effects.flatMap((effect) => (effect.kind === "reply" ? [effect.reply.decision] : []));
  const deferred = (toolUseId: string): EventDraft =>
    result({ terminalReason: "tool_deferred", deferred: { toolUseId, toolName: "Bash" } });

  test("a call that nobody answers is put off, the worker leaves, and the request stays", () => {
    const play = waiting().feed(use("t1"), review("r1"));
    assert.ok(deadlines(play.state).some((deadline) => deadline.name === "patience"));
    assert.deepEqual(decisions(play.feed(patience)), ["defer"]);
    assert.deepEqual(play.feed(deferred("t1")).kinds(), ["end-worker"]);
    play.feed({ type: "worker.ending", data: { why: "deferral" } }, exited(0), swept);
    assert.deepEqual(
      [play.name, waitsFor(play.state), play.state.requests["r1"]?.deferral],
      ["human_required", "approval", "deferred"],
    );
    play.feed({
      type: "request.answered",
      data: { requestId: "r1", decision: "approve", by: "person", via: "command" },
    });
    assert.deepEqual(play.effects, [{ kind: "spawn", resume: true, sessionId: "s1" }]);
    assert.equal(play.name, "starting");
    play.feed(
      { type: "worker.spawning", data: { workerId: "w2", sessionId: "s1", resume: true } },
      { type: "worker.spawned", data: { containment, argv: [], envNames: [] } },
      ready(),
    );
    assert.deepEqual(play.kinds(), [], "no message: Claude asks the hook again by itself");
    assert.deepEqual(decisions(play.feed(review("r1"))), ["allow"]);
  });

  test("while a later call of the message is still to come, this one is refused and that one waits", () => {
    const play = waiting().feed(use("t1"), use("t2"), review("r1", "t1"));
    assert.deepEqual(decisions(play.feed(patience)), ["deny"]);
    assert.deepEqual(decisions(play.feed(review("r2", "t2"), patience)), ["defer"]);
  });

  test("a subagent's call cannot be put off: it is refused, and a person is wanted at the turn's end", () => {
    const nested = review("r1");
    const play = waiting().feed({ ...nested, data: { ...nested.data, agentId: "a1" } } as EventDraft, patience);
    assert.deepEqual(decisions(play), ["deny"]);
    assert.equal(play.held, undefined, "the worker goes on without it");
    play.feed(result());
    assert.equal(play.held, "needs-person");
  });

  for (const [when, last] of [
    ["before its worker had left", []],
    ["before its worker's absence was proven", [exited(0)]],
  ] as const) {
    test(`an owner that was killed ${when} costs the answer nothing: what is left is swept, then it goes on`, () => {
      const killed = waiting().feed(use("t1"), review("r1"), patience, deferred("t1"));
      killed.feed({ type: "worker.ending", data: { why: "deferral" } }, ...last);
      killed.feed(
        { type: "owner.claimed", data: { owner: { ...identity, host: "h" }, why: "answer" } },
        { type: "request.answered", data: { requestId: "r1", decision: "approve", by: "person", via: "command" } },
      );
      assert.deepEqual(killed.kinds(), ["sweep"]);
      assert.deepEqual(killed.feed(swept).kinds(), ["spawn"]);
    });
  }

  test("a stop takes a deferred request away; a new owner keeps it", () => {
    const gone = (): Play =>
      waiting().feed(
        use("t1"),
        review("r1"),
        patience,
        deferred("t1"),
        { type: "worker.ending", data: { why: "deferral" } },
        exited(0),
        swept,
      );
    const kept = gone().feed({ type: "owner.claimed", data: { owner: { ...identity, host: "h" }, why: "answer" } });
    assert.equal(kept.state.requests["r1"]?.deferral, "deferred");
    const stopped = gone().feed({
      type: "stop.requested",
      data: { by: "person", kind: "graceful", reason: "x", end: "stopped" },
    });
    assert.deepEqual(Object.keys(stopped.state.requests), []);

    const halted = gone().feed(
      { type: "estop.requested", data: { epoch: 3, reason: "x", verb: "stop", how: "now" } },
      { type: "stop.requested", data: { by: "estop", kind: "now", reason: "x", end: "stopped" } },
      { type: "stop.proven", data: { method: "census", killed: 0, durationMs: 1 } },
    );
    assert.deepEqual([halted.name, halted.state.requests["r1"]?.deferral], ["stopped", "deferred"]);
    halted.feed(
      { type: "task.recovering", data: { fresh: false, resume: true, sessionId: "s1" } },
      { type: "request.answered", data: { requestId: "r1", decision: "approve", by: "person", via: "command" } },
      { type: "worker.spawning", data: { workerId: "w2", sessionId: "s1", resume: true } },
      { type: "worker.spawned", data: { containment, argv: [], envNames: [] } },
      ready(),
    );
    assert.deepEqual(halted.kinds(), ["spawn"], "no message: Claude asks the hook again by itself");
    assert.deepEqual(decisions(halted.feed(review("r1"))), ["allow"]);
  });

  test("the emergency stop fences at once, tears down when it is told to, and leaves a pause to the session's end", () => {
    const play = working().feed({ type: "estop.requested", data: { epoch: 1, verb: "stop", how: "after-call" } });
    assert.deepEqual([play.name, play.kinds()], ["stopping", []]);
    assert.deepEqual(play.feed(result()).kinds(), []);
    const asked: EventDraft = {
      type: "stop.requested",
      data: { by: "estop", kind: "graceful", reason: "x", end: "stopped" },
    };
    assert.deepEqual(play.feed(asked).kinds(), ["teardown"]);
    const paused = working().feed({ type: "estop.requested", data: { epoch: 1, verb: "pause", how: "now" } });
    assert.equal(paused.state.stop.kind, "none");
  });
});

describe("repetition", () => {
  const deny = (n: number, ask = "same"): EventDraft => ({
    type: "gate.verdict",
    data: {
      callId: `c${n}`,
      via: "hook",
      toolUseId: `t${n}`,
      toolName: "Bash",
      verdict: "deny",
      rule: "r",
      reason: "no",
      input: {},
      cwd: "/workspace",
      ask,
    },
  });

  test("C9: the third denial of an equal ask ends the turn and asks a person", () => {
    const play = working().feed(deny(1), deny(2, "other"), deny(3), deny(4));
    const replies = play.effects.flatMap((effect) => (effect.kind === "reply" ? [effect.reply.endTurn === true] : []));
    assert.deepEqual(replies, [false, false, false, true]);
    assert.deepEqual([play.name, play.state.hold?.reason], ["human_required", "stalled"]);
    play.feed(result({ terminalReason: "hook_stopped" }));
    assert.deepEqual(play.kinds(), [], "nothing goes on by itself");
    play.feed({
      type: "prompt.queued",
      data: { promptId: "p9", source: "person", text: "another way", redacted: false },
    });
    assert.deepEqual(play.kinds(), ["send"]);
  });

  test("a plan that a person denies three times is theirs to settle", () => {
    const ask = (n: number): EventDraft[] => [
      {
        type: "gate.verdict",
        data: {
          callId: `c${n}`,
          via: "hook",
          toolUseId: `t${n}`,
          toolName: "ExitPlanMode",
          verdict: "review",
          rule: "r",
          reason: "x",
          input: {},
          cwd: "/workspace",
          requestId: `r${n}`,
          kind: "plan",
          ask: "plan",
        },
      },
      { type: "request.answered", data: { requestId: `r${n}`, decision: "deny", by: "person", via: "command" } },
      { type: "request.replied", data: { requestId: `r${n}`, ok: true } },
    ];
    const play = working().feed(...ask(1), ...ask(2));
    assert.equal(play.held, undefined);
    play.feed(...ask(3));
    assert.equal(play.held, "stalled");
  });

  test("three failing rounds on one tree are enough, whatever the rounds allow", () => {
    const play = working({ limits: { ...spec().limits, maxRounds: 10 } }).feed(result(), verifying, finished("fail"));
    for (const n of [2, 3]) play.feed(...sent(`p${n}`, "verifier"), result(), verifying, finished("fail"));
    assert.deepEqual([play.name, play.state.hold?.reason], ["human_required", "stalled"]);
  });
});

describe("numbers", () => {
  test("cost is cumulative across a resume, a lower number is a reset, and none is none", () => {
    const play = working();
    assert.equal(costUsd(play.state), undefined);
    for (const cost of [0.1, 0.25, 0.25, 0.4]) play.feed(result({ costUsd: cost }));
    assert.equal(costUsd(play.state), 0.4);
    play.feed(result({ costUsd: 0.1 }));
    assert.equal(costUsd(play.state), 0.5);
    play.feed(result());
    assert.equal(costUsd(play.state), 0.5);
  });
});

describe("deadlines", () => {
  test("the silence watch rests while a person is asked, and is longer while a tool runs", () => {
    const TIME = ["wall-warning", "wall"];
    const names = (play: Play): string[] => deadlines(play.state).map((deadline) => deadline.name);
    const play = working({ mode: "manual" });
    assert.deepEqual(names(play), ["quiet", ...TIME]);
    play.feed(review("r1"));
    assert.deepEqual(names(play), [], "the task's own time rests as well");
    play.feed(
      { type: "request.answered", data: { requestId: "r1", decision: "approve", by: "person", via: "command" } },
      { type: "request.replied", data: { requestId: "r1", ok: true } },
    );
    assert.deepEqual(names(play), ["tool-cap", "quiet", ...TIME]);
    assert.equal(deadlines(play.state)[1]?.length, 1_800_000);
  });

  test("a heartbeat is no progress", () => {
    const play = working();
    const before = deadlines(play.state)[0]?.due;
    play.mono += 5_000;
    play.feed({ type: "worker.heartbeat", data: {} });
    assert.equal(deadlines(play.state)[0]?.due, before);
  });
});

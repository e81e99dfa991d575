import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import type { EventDraft, EventMap, TaskEvent } from "../../src/core/events.ts";
import { violations } from "../../src/core/invariants.ts";
import type { Effect } from "../../src/core/machine/effects.ts";
import { stateName, waitsFor } from "../../src/core/machine/project.ts";
import { initialState, type TaskState } from "../../src/core/machine/state.ts";
import { step } from "../../src/core/machine/step.ts";
import { containment, decisions, draft, identity, spec } from "./random-events.ts";

const opening: EventDraft[] = [
  { type: "task.created", data: spec() },
  { type: "owner.claimed", data: { owner: { ...identity, host: "h" }, why: "start" } },
];

/** A whole good life of an automatic task: a failing round, then a passing one. */
const life: EventDraft[] = [
  ...opening,
  { type: "worker.spawning", data: { workerId: "w1", sessionId: "s1", resume: false } },
  { type: "worker.spawned", data: { containment, argv: [], envNames: [] } },
  {
    type: "worker.started",
    data: {
      executable: { path: "/c", realPath: "/c", version: "2.1.268", size: 1, sha256: "00" },
      argv: [],
      envNames: [],
      cwd: "/workspace",
      permissionMode: "default",
      sessionId: "s1",
      resume: false,
    },
  },
  { type: "prompt.intent", data: { promptId: "p1", source: "goal", text: "t", redacted: false } },
  { type: "prompt.written", data: { promptId: "p1" } },
  ...round("fail", "tree1"),
  { type: "prompt.intent", data: { promptId: "p2", source: "verifier", text: "t", redacted: false } },
  { type: "prompt.written", data: { promptId: "p2" } },
  ...round("pass", "tree2"),
  { type: "task.completed", data: { treeId: "tree2", round: 2, by: "auto" } },
  { type: "worker.ending", data: { why: "completed" } },
  { type: "worker.exited", data: { code: 0, signal: null, exitReason: "completed" } },
];

function round(outcome: "pass" | "fail", treeId: string): EventDraft[] {
  const common = { by: "auto", round: 1, where: "workspace" } as const;
  return [
    { type: "worker.init", data: { permissionMode: "default", sessionId: "s1", tools: 3 } },
    {
      type: "gate.verdict",
      data: {
        callId: "c1",
        via: "hook",
        toolUseId: "t1",
        toolName: "Bash",
        verdict: "allow",
        rule: "r",
        reason: "x",
        input: {},
        cwd: "/workspace",
      },
    },
    {
      type: "tool.result",
      data: { toolUseId: "t1", isError: false, wrapped: false, aborted: false, preview: "", chars: 0 },
    },
    {
      type: "turn.result",
      data: {
        subtype: "success",
        isError: false,
        errors: [],
        preview: "",
        chars: 0,
        permissionDenials: 0,
        costUsd: 0.1,
      },
    },
    { type: "verify.started", data: { ...common, commands: [] } },
    {
      type: "verify.finished",
      data: {
        ...common,
        outcome,
        exitCode: outcome === "pass" ? 0 : 1,
        treeId,
        message: "m",
        durationMs: 1,
        commands: [],
        findings: [],
      },
    },
  ];
}

/** A life of open calls: one of each kind is asked about, then Claude dies in the middle of its turn and is there again. */
const asking: EventDraft[] = [
  ...life.slice(0, life.findIndex(({ type }) => type === "prompt.written") + 1),
  ...(["tool", "question", "plan"] as const).flatMap((kind, index) => open(kind, index)),
  { type: "worker.exited", data: { code: 143, signal: null, exitReason: "unexpected" } },
  { type: "worker.swept", data: { method: "census", killed: 0, durationMs: 1, proven: true, remaining: [] } },
  ...life.slice(2, 5),
  { type: "prompt.intent", data: { promptId: "p2", source: "recover", text: "t", redacted: false } },
  { type: "prompt.written", data: { promptId: "p2" } },
  ...open("tool", 3),
  ...round("pass", "tree2"),
];

function open(kind: "tool" | "question" | "plan", index: number): EventDraft[] {
  const toolUseId = `t${index + 1}`;
  const call = { callId: `c${index + 1}`, toolUseId, requestId: `r${index + 1}`, kind, toolName: "Bash" };
  const why = { verdict: "review", rule: "r", reason: "x", loss: "recoverable" } as const;
  const done = { isError: false, wrapped: false, aborted: false, preview: "", chars: 0 };
  return [
    { type: "gate.verdict", data: { ...call, ...why, via: "hook", input: {}, cwd: "/workspace" } },
    { type: "worker.heartbeat", data: {} },
    { type: "request.replied", data: { requestId: call.requestId, ok: true } },
    { type: "tool.result", data: { toolUseId, ...done } },
  ];
}

/** That life with random events thrown in at random places, cut anywhere. */
const disturbed = (life: readonly EventDraft[]) =>
  fc
    .tuple(fc.array(fc.tuple(fc.nat(life.length), draft), { maxLength: 12 }), fc.integer({ min: 3, max: life.length }))
    .map(([extra, cut]) => {
      const whole: EventDraft[] = [];
      life.slice(0, cut).forEach((event, index) => {
        whole.push(event, ...extra.filter(([at]) => at === index).map(([, d]) => d));
      });
      return whole;
    });

function asEvent(d: EventDraft, seq: number): TaskEvent {
  return { ...d, seq, at: new Date(seq * 1000).toISOString(), mono: seq * 10, taskId: "t" } as TaskEvent;
}

type Decision = EventMap["decision.made"]["decision"];
type Question = Extract<Effect, { kind: "decide" }>;

/** What comes of one question to the decider: asked or not, answered or not, and after how many other events. */
interface Judgement {
  decision: Decision;
  asked: boolean;
  made: boolean;
  after: number;
  treeId: string;
}

const judgement: fc.Arbitrary<Judgement> = fc.record({
  decision: decisions,
  asked: fc.integer({ min: 0, max: 9 }).map((n) => n > 0),
  made: fc.integer({ min: 0, max: 9 }).map((n) => n > 0),
  after: fc.integer({ min: 0, max: 2 }),
  treeId: fc.constantFrom("tree1", "tree2"),
});
const verifies: Judgement = { decision: "verify", asked: true, made: true, after: 0, treeId: "tree1" };

/**
 * Steps through the drafts; `record` effects are appended at once, as the supervisor does, and questions to the decider
 * are answered by the judgements, one each; when they are used up, by `verify` at once.
 */
function run(
  drafts: readonly EventDraft[],
  judgements: readonly Judgement[] = [],
): { state: TaskState; broken: string[]; seen: Set<string> } {
  let state = initialState("t");
  let seq = 0;
  const given = [...judgements];
  const open: { question: Question; judgement: Judgement; left: number }[] = [];
  const seen = new Set<string>();
  const broken: string[] = [];
  const apply = (d: EventDraft, depth: number) => {
    const event = asEvent(d, ++seq);
    const result = step(state, event);
    broken.push(...violations(state, event, result).map((text) => `${text} (event ${seq}, ${event.type})`));
    state = result.state;
    assert.ok(depth < 6, `records without end at ${event.type}`);
    for (const effect of result.effects) {
      if (effect.kind === "record") apply(effect.event, depth + 1);
      if (effect.kind === "decide") {
        const next = given.shift() ?? verifies;
        open.push({ question: effect, judgement: next, left: next.after });
      }
    }
  };
  const judge = (): void => {
    for (const entry of open.splice(0)) {
      if (entry.left > 0) open.push({ ...entry, left: entry.left - 1 });
      else {
        const { decisionId, about: kind } = entry.question;
        const { asked, made, decision, treeId } = entry.judgement;
        seen.add(`${kind} ${decision}`);
        if (asked) apply({ type: "decision.asked", data: { decisionId, kind, treeId } }, 0);
        const answers = decision === "answer" ? { answers: { q: "a" } } : {};
        const message = decision === "continue" ? { message: "go on" } : {};
        if (made) apply({ type: "decision.made", data: { decisionId, kind, decision, ...answers, ...message } }, 0);
      }
    }
  };
  for (const d of drafts) {
    apply(d, 0);
    judge();
    seen.add(stateName(state));
  }
  return { state, broken, seen };
}

describe("the machine under random events", () => {
  test("3,000 random sequences break no invariant", () => {
    fc.assert(
      fc.property(fc.array(draft, { maxLength: 60 }), (drafts) => {
        const { broken } = run([...opening, ...drafts]);
        assert.deepEqual(broken, []);
      }),
      { numRuns: 3000 },
    );
  });

  test("a whole life in random weather breaks no invariant either", () => {
    fc.assert(
      fc.property(disturbed(life), (drafts) => {
        const { broken, state } = run(drafts);
        assert.deepEqual(broken, []);
        assert.ok(stateName(state));
        waitsFor(state);
      }),
      { numRuns: 2000 },
    );
  });

  /* In the one life calls come first, in the other turns end: in thousands of sequences each kind is asked many times. */
  const asked = fc.oneof(disturbed(asking), disturbed(life));
  test("a decider of any mind in any weather breaks no invariant", () => {
    const seen = new Set<string>();
    fc.assert(
      fc.property(asked, fc.array(judgement, { maxLength: 12 }), (drafts, judgements) => {
        const ran = run(drafts, judgements);
        assert.deepEqual(ran.broken, []);
        for (const one of ran.seen) seen.add(one);
      }),
      { numRuns: 6000 },
    );
    const wanted = ["deciding", "tool approve", "question answer", "plan deny", "turn-end continue", "exit continue"];
    assert.deepEqual(
      wanted.filter((one) => !seen.has(one)),
      [],
      "the sequences reach what they are about",
    );
  });

  test("an undisturbed life ends completed, with both rounds counted", () => {
    const { state, broken } = run(life);
    assert.deepEqual(broken, []);
    assert.equal(stateName(state), "completed");
    assert.equal(state.budgets.failedRounds, 1);
    assert.equal(state.budgets.rounds, 2);
  });

  test("the sequences reach every kind of state, so that the properties above mean something", () => {
    const seen = new Set<string>();
    const effects = new Set<string>();
    const drafts = fc.sample(disturbed(life), { numRuns: 4000, seed: 7 });
    for (const sequence of drafts) {
      let state = initialState("t");
      sequence.forEach((d, index) => {
        const result = step(state, asEvent(d, index + 1));
        state = result.state;
        seen.add(stateName(state));
        for (const effect of result.effects) effects.add(effect.kind);
      });
    }
    const names = [
      "created",
      "starting",
      "running",
      "human_required",
      "verifying",
      "failed",
      "stopping",
      "stopped",
      "failed_to_stop",
      "paused",
      "taken_over",
    ];
    assert.deepEqual(
      names.filter((name) => !seen.has(name)),
      [],
    );
    const kinds = ["spawn", "send", "reply", "verify", "confirm-tree", "end-worker", "sweep", "teardown", "record"];
    assert.deepEqual(
      kinds.filter((kind) => !effects.has(kind)),
      [],
    );
  });

  test("between takeover and handback nothing is sent, spawned, allowed, verified or judged, whatever happens", () => {
    const acts = new Set(["send", "spawn", "verify", "confirm-tree"]);
    const givesBack = (d: EventDraft) => d.type === "task.recovering" && d.data.handback !== undefined;
    const within = fc.array(draft, { maxLength: 40 }).map((all) => all.filter((d) => !givesBack(d)));
    fc.assert(
      fc.property(disturbed(life), within, (before, weather) => {
        const opened = run(before).state;
        if (opened.stop.kind !== "none" || opened.ended.kind !== "no") return;
        const taken = [{ type: "takeover.requested", data: { by: "person", sessionId: "s1" } } as const, ...weather];
        let state = opened;
        let over = false;
        taken.forEach((d, index) => {
          const result = step(state, asEvent(d, opened.seq + index + 1));
          state = result.state;
          const acted = result.effects.filter(
            (effect) => acts.has(effect.kind) || (effect.kind === "reply" && effect.reply.decision !== "deny"),
          );
          /* What was stopped is recovered like any other task. */
          over ||= state.stop.kind !== "none" || state.ended.kind !== "no";
          if (over) return;
          assert.deepEqual(acted, [], `${d.type} made the supervisor act`);
          const wheel = ["taken_over", "stopping", "failed_to_stop"];
          assert.ok(wheel.includes(stateName(state)), `${d.type} led to ${stateName(state)}`);
        });
      }),
      { numRuns: 1500 },
    );
  });

  test("events of an unstarted task change nothing but counters", () => {
    fc.assert(
      fc.property(fc.array(draft, { maxLength: 20 }), (drafts) => {
        const { broken } = run(drafts);
        assert.deepEqual(broken, []);
      }),
      { numRuns: 500 },
    );
  });
});

/** A machine under test without any supervisor: events in, state and effects out. */
import assert from "node:assert/strict";
import type { EventDraft, EventMap, TaskEvent } from "../../src/core/events.ts";
import { violations } from "../../src/core/invariants.ts";
import type { Effect } from "../../src/core/machine/effects.ts";
import { stateName } from "../../src/core/machine/project.ts";
import { initialState, type TaskState } from "../../src/core/machine/state.ts";
import { step } from "../../src/core/machine/step.ts";
import { containment, executable, identity, spec } from "./random-events.ts";

/** A task under test: feeds events, appends what the machine records, keeps the effects. */
export class Play {
  state: TaskState = initialState("t");
  effects: Effect[] = [];
  /** All that was fed or recorded. */
  readonly log: TaskEvent[] = [];
  /** Each turn's end is judged `verify` at once. */
  verifies = true;
  #seq = 0;
  mono = 0;

  feed(...drafts: EventDraft[]): this {
    this.effects = [];
    for (const draft of drafts) this.#apply(draft);
    return this;
  }

  #apply(draft: EventDraft): void {
    this.#seq += 1;
    this.mono += 1;
    const at = new Date(Date.UTC(2026, 0, 1) + this.mono).toISOString();
    const event = { ...draft, seq: this.#seq, at, mono: this.mono, taskId: "t" } as TaskEvent;
    this.log.push(event);
    const before = this.state;
    const { state, effects } = step(before, event);
    // What the supervisor checks at run time: a step of a sound story that breaks an invariant would stop a sound task.
    assert.deepEqual(violations(before, event, { state, effects }), [], `event ${this.#seq} (${event.type})`);
    this.state = state;
    for (const effect of effects) {
      this.effects.push(effect);
      if (effect.kind === "record") this.#apply(effect.event);
      if (effect.kind === "review" && this.state.verification.kind === "reviewing") {
        const { treeId, round } = this.state.verification.facts;
        this.#apply({ type: "review.started", data: { treeId, round } });
      }
      if (effect.kind === "decide" && effect.about === "turn-end" && this.verifies) {
        const { decisionId, about: kind } = effect;
        this.#apply({ type: "decision.asked", data: { decisionId, kind } });
        this.#apply({ type: "decision.made", data: { decisionId, kind, decision: "verify", reason: "r" } });
      }
    }
  }

  get held(): string | undefined {
    return this.state.hold?.reason;
  }

  get turn(): string {
    return this.state.turn.kind;
  }

  get name(): string {
    return stateName(this.state);
  }

  /** What a supervisor records about the worker that it was told to start. */
  respawn(): EventDraft[] {
    return [
      { type: "worker.spawning", data: { workerId: "w2", sessionId: "s1", resume: true } },
      { type: "worker.spawned", data: { containment, argv: [], envNames: [] } },
      ready(),
    ];
  }

  kinds(): string[] {
    const machines = ["record", ...(this.verifies ? ["decide"] : [])];
    return this.effects.map(({ kind }) => kind).filter((kind) => !machines.includes(kind));
  }
}

export const claimed = (why: EventMap["owner.claimed"]["why"]): EventDraft => ({
  type: "owner.claimed",
  data: { owner: { ...identity, host: "h" }, why },
});
export const spawned: readonly EventDraft[] = [
  { type: "worker.spawning", data: { workerId: "w1", sessionId: "s1", resume: false } },
  { type: "worker.spawned", data: { containment, argv: [], envNames: [] } },
];
export const recovering: EventDraft = {
  type: "task.recovering",
  data: { fresh: false, resume: true, sessionId: "s1" },
};

export const started = (overrides: Partial<EventMap["task.created"]> = {}): Play =>
  new Play().feed({ type: "task.created", data: spec(overrides) }, claimed("start"), ...spawned);

export const ready = (): EventDraft => ({
  type: "worker.started",
  data: {
    executable,
    argv: [],
    envNames: [],
    cwd: "/workspace",
    permissionMode: "default",
    sessionId: "s1",
    resume: false,
  },
});

export const sent = (promptId: string, source: EventMap["prompt.intent"]["source"]): EventDraft[] => [
  { type: "prompt.intent", data: { promptId, source, text: "x", redacted: false } },
  { type: "prompt.written", data: { promptId } },
];

export const working = (overrides: Partial<EventMap["task.created"]> = {}): Play =>
  started(overrides).feed(ready(), ...sent("p1", "goal"));

export const result = (overrides: Partial<EventMap["turn.result"]> = {}): EventDraft => ({
  type: "turn.result",
  data: { subtype: "success", isError: false, errors: [], preview: "", chars: 0, permissionDenials: 0, ...overrides },
});

export const finished = (
  outcome: "pass" | "fail" | "error",
  overrides: Partial<EventMap["verify.finished"]> = {},
): EventDraft => ({
  type: "verify.finished",
  data: {
    outcome,
    exitCode: outcome === "pass" ? 0 : 1,
    treeId: "tree",
    message: "m",
    by: "auto",
    round: 1,
    where: "workspace",
    durationMs: 1,
    commands: [],
    findings: [],
    ...overrides,
  },
});
export const verifying: EventDraft = {
  type: "verify.started",
  data: { by: "auto", round: 1, where: "workspace", commands: [] },
};
export const exited = (code: number | null = 1): EventDraft => ({
  type: "worker.exited",
  data: { code, signal: null, exitReason: "x" },
});
export const swept: EventDraft = {
  type: "worker.swept",
  data: { method: "census", killed: 0, durationMs: 1, proven: true, remaining: [] },
};
export const review = (requestId: string, toolUseId = "t1"): EventDraft => ({
  type: "gate.verdict",
  data: {
    callId: `c-${requestId}`,
    via: "hook",
    toolUseId,
    toolName: "Bash",
    verdict: "review",
    rule: "r",
    reason: "x",
    input: {},
    cwd: "/workspace",
    requestId,
    kind: "tool",
  },
});

/** Arbitrary events with well-formed data over small id spaces, so that random sequences meet each other. */
import fc from "fast-check";
import type { EventDraft, EventMap, EventType } from "../../src/core/events.ts";

const id = (prefix: string, n = 3) => fc.integer({ min: 1, max: n }).map((i) => `${prefix}${i}`);
const late = fc.option(fc.constant(true), { nil: undefined, freq: 12 });
const maybe = <T>(arb: fc.Arbitrary<T>) => fc.option(arb, { nil: undefined });

export const identity = { pid: 4242, startTicks: "1", bootId: "boot" };
export const containment = { kind: "census" as const, marker: "M=1", leader: identity };

export function spec(overrides: Partial<EventMap["task.created"]> = {}): EventMap["task.created"] {
  return {
    goal: "mend it",
    goalRedacted: false,
    mode: "auto",
    cwd: "/workspace",
    transport: "claude-jsonl",
    trust: "user",
    profile: "standard",
    verify: {
      commands: [],
      cwd: "/workspace",
      where: "workspace",
      carry: [],
      runs: 1,
      envNames: [],
      inputs: {},
      scripts: [],
    },
    limits: {
      startupMs: 60_000,
      quietMs: 600_000,
      toolQuietMs: 1_800_000,
      toolCapMs: 7_200_000,
      wallMs: 28_800_000,
      stopGraceMs: 5_000,
      maxRounds: 2,
    },
    sessionId: "s1",
    workerEnvNames: [],
    cgroup: "auto",
    repositoryFindings: [],
    ...overrides,
  };
}

export const executable = { path: "/c", realPath: "/c", version: "2.1.268", size: 1, sha256: "00" };

export const decisions = fc.constantFrom("approve", "deny", "answer", "continue", "verify", "escalate", "unavailable");

const arbitraries: { [K in EventType]?: fc.Arbitrary<EventMap[K]> } = {
  "owner.claimed": fc.record({
    owner: fc.constant({ ...identity, host: "h" }),
    why: fc.constantFrom("start", "recover", "stop", "takeover", "handback"),
  }),
  "owner.released": fc.record({ why: fc.constantFrom("quit", "ended") }),
  "task.recovering": fc
    .tuple(fc.boolean(), fc.boolean(), id("s"), id("p", 6), maybe(fc.constant("mind the gap")))
    .map(([fresh, back, sessionId, promptId, note]) => ({
      fresh,
      resume: !fresh,
      sessionId,
      ...(back && !fresh ? { handback: strip({ promptId, note, redacted: false, turns: 1 }) } : {}),
    })),
  "takeover.requested": fc.record({ by: fc.constant("person" as const), sessionId: id("s") }),
  "pause.requested": fc.record({ by: fc.constant("person" as const), reason: fc.constant("r") }),
  "fault.cleared": fc.record({ fault: fc.constantFrom("ungated-call", "permission-mode") }),
  "budget.exhausted": fc.record({
    budget: fc.constantFrom("per-day-usd", "per-day-decisions"),
    used: fc.constant(2),
    limit: fc.constant(1),
    text: fc.constant("t"),
  }),
  "budget.renewed": fc.record({
    budget: fc.constantFrom("per-day-usd", "per-day-decisions"),
    text: fc.constant("t"),
  }),
  "automation.changed": fc.record({ to: fc.constantFrom("on", "off"), why: fc.constant("w") }),
  "worker.rate-limit": fc.record({
    status: fc.constantFrom("allowed", "rejected"),
    resetsAt: fc.constant("2026-01-01T00:10:00.000Z"),
  }),
  "worker.drift": fc.record({
    before: fc.constant(executable),
    now: fc.constant(executable),
    message: fc.constant("m"),
  }),
  "task.completed": fc.record({ treeId: id("tree"), round: fc.constant(1), by: fc.constantFrom("auto", "person") }),
  "task.failed": fc.record({ reason: fc.constant("x"), message: fc.constant("x") }),
  "worker.spawning": fc.record({ workerId: id("w"), sessionId: id("s"), resume: fc.boolean() }),
  "worker.spawned": fc.record({
    containment: fc.constant(containment),
    argv: fc.constant([]),
    envNames: fc.constant([]),
  }),
  "worker.started": fc.record({
    executable: fc.constant(executable),
    argv: fc.constant([]),
    envNames: fc.constant([]),
    cwd: fc.constant("/workspace"),
    permissionMode: fc.constant("default"),
    sessionId: id("s"),
    resume: fc.boolean(),
  }),
  "worker.start-failed": fc.record({ reason: fc.constant("startup-timeout"), message: fc.constant("m") }),
  "worker.init": fc.record({
    permissionMode: fc.constantFrom("default", "default", "plan", "acceptEdits"),
    sessionId: id("s"),
    tools: fc.constant(3),
  }),
  "worker.heartbeat": fc.constant({}),
  "worker.background": fc.record({
    tasks: fc.array(fc.record({ id: id("b"), kind: fc.constant("local_bash"), description: fc.constant("d") }), {
      maxLength: 2,
    }),
  }),
  "worker.ending": fc.record({ why: fc.constantFrom("completed", "incident", "quit", "takeover") }),
  "worker.exited": fc.record({
    code: fc.constantFrom(0, 1, null),
    signal: fc.constantFrom(null, "SIGKILL"),
    exitReason: fc.constant("x"),
  }),
  "worker.swept": fc.record({
    method: fc.constant("census"),
    killed: fc.constant(0),
    durationMs: fc.constant(1),
    proven: fc.boolean(),
    remaining: fc.constant([]),
  }),
  "prompt.queued": fc.record({
    promptId: id("p", 6),
    source: fc.constant("person" as const),
    text: fc.constant("t"),
    redacted: fc.constant(false),
  }),
  "prompt.intent": fc.record({
    promptId: id("p", 6),
    source: fc.constantFrom("goal", "person", "verifier", "recover", "handback"),
    text: fc.constant("t"),
    redacted: fc.constant(false),
  }),
  "prompt.written": fc.record({ promptId: id("p", 6) }),
  "prompt.ack": fc.record({ promptId: id("p", 6), state: fc.constantFrom("queued", "started", "completed") }),
  "prompt.failed": fc.record({ promptId: id("p", 6), reason: fc.constant("send-failed"), message: fc.constant("m") }),
  "gate.verdict": fc
    .record({
      callId: id("c", 5),
      via: fc.constantFrom("hook", "ask"),
      toolUseId: id("t", 5),
      toolName: fc.constantFrom("Bash", "Read"),
      verdict: fc.constantFrom("allow", "review", "person", "deny"),
      rule: fc.constant("r"),
      reason: fc.constant("because"),
      input: fc.constant({}),
      cwd: fc.constant("/workspace"),
      requestId: maybe(id("r", 4)),
      loss: maybe(fc.constantFrom("recoverable", "lost")),
      kind: maybe(fc.constantFrom("tool", "question", "plan")),
      agentId: maybe(fc.constant("a")),
      late,
    })
    .map(strip),
  "gate.incident": fc.record({ fault: fc.constant("ungated-call"), detail: fc.constant("d") }),
  "decision.asked": fc
    .record({ decisionId: id("d", 30), kind: fc.constantFrom("tool", "turn-end", "exit"), treeId: maybe(id("tree")) })
    .map(strip),
  "decision.made": fc
    .record({ decisionId: id("d", 30), decision: decisions, message: maybe(fc.constant("m")), late })
    .map(strip),
  "request.answered": fc.record({
    requestId: id("r", 4),
    decision: fc.constantFrom("approve", "deny", "answer"),
    by: fc.constantFrom("person", "person", "decider", "supervisor"),
    via: fc.constant("command" as const),
  }),
  "request.replied": fc.record({ requestId: id("r", 4), ok: fc.boolean() }),
  "request.cancelled": fc.record({ requestId: id("r", 4), why: fc.constant("claude" as const) }),
  "tool.use": fc.record({ toolUseId: id("t", 5), toolName: fc.constant("Bash") }),
  "tool.result": fc
    .record({
      toolUseId: id("t", 5),
      isError: fc.boolean(),
      wrapped: fc.boolean(),
      aborted: fc.boolean(),
      preview: fc.constant(""),
      chars: fc.constant(0),
      late,
    })
    .map(strip),
  "turn.result": fc
    .record({
      subtype: fc.constantFrom("success", "success", "error_max_turns"),
      isError: fc.boolean(),
      errors: fc.constant([]),
      preview: fc.constant(""),
      chars: fc.constant(0),
      permissionDenials: fc.constant(0),
      apiErrorStatus: maybe(fc.constantFrom(401, 429, 529)),
      costUsd: maybe(fc.double({ min: 0, max: 3, noNaN: true })),
      late,
    })
    .map(strip),
  "verify.requested": fc.record({ by: fc.constantFrom("person", "auto") }),
  "verify.started": fc.record({
    by: fc.constantFrom("person", "auto"),
    round: fc.constant(1),
    where: fc.constant("workspace"),
    commands: fc.constant([]),
  }),
  "verify.finished": fc
    .record({
      outcome: fc.constantFrom("pass", "fail", "error"),
      exitCode: fc.constantFrom(0, 1, null),
      treeId: id("tree"),
      reason: maybe(fc.constantFrom("tree-changed", "timeout")),
      message: fc.constant("m"),
      by: fc.constantFrom("person", "auto"),
      round: fc.constant(1),
      where: fc.constant("workspace"),
      durationMs: fc.constant(1),
      commands: fc.constant([]),
      findings: fc.constantFrom<EventMap["verify.finished"]["findings"]>(
        [],
        [],
        [{ kind: "changed-script", path: "check.sh", detail: "It was changed." }],
        [{ kind: "git-state", code: "rewritten-history", detail: "It was rewritten." }],
      ),
      late,
    })
    .map(strip),
  "review.started": fc.record({ treeId: id("tree"), round: fc.constant(1) }),
  "review.finished": fc
    .record({
      verdict: fc.constantFrom("pass", "revise", "person", "unavailable"),
      treeId: id("tree"),
      round: fc.constant(1),
      message: fc.constant("m"),
      findings: fc.constant([]),
      looks: fc.constant(1),
      durationMs: fc.constant(1),
      late,
    })
    .map(strip),
  "signoff.requested": fc.record({
    requestId: id("r", 4),
    why: fc.constant("changed-script" as const),
    treeId: id("tree"),
    round: fc.constant(1),
    message: fc.constant("m"),
    paths: fc.constant(["check.sh"]),
  }),
  "verify.stale": fc.record({ passedTree: id("tree"), presentTree: id("tree") }),
  "estop.requested": fc.record({
    epoch: fc.constant(1),
    verb: fc.constantFrom("stop", "pause"),
    how: fc.constantFrom("now", "after-call"),
  }),
  "stop.requested": fc.record({
    by: fc.constantFrom("person", "watchdog", "estop"),
    kind: fc.constantFrom("graceful", "now"),
    reason: fc.constant("r"),
    end: fc.constantFrom("stopped", "failed"),
  }),
  "stop.proven": fc.record({ method: fc.constant("census"), killed: fc.constant(1), durationMs: fc.constant(1) }),
  "stop.failed": fc.record({
    remaining: fc.constant([{ kind: "process" as const, id: "1", detail: "d" }]),
    durationMs: fc.constant(1),
  }),
  "timer.fired": fc.record({ name: fc.constantFrom("quiet", "wall", "settle", "background", "tool-cap", "retry") }),
  rejected: fc.record({ what: fc.constant("send"), reason: fc.constant("x"), message: fc.constant("x") }),
};

/** Drops keys that are undefined, as stored JSON has none of them. */
function strip(data: object): never {
  return Object.fromEntries(Object.entries(data).filter(([, value]) => value !== undefined)) as never;
}

export const draft: fc.Arbitrary<EventDraft> = fc.oneof(
  ...Object.entries(arbitraries).map(([type, data]) =>
    (data as fc.Arbitrary<object>).map((d) => ({ type, data: d }) as unknown as EventDraft),
  ),
);

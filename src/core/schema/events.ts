/**
 * The schema of every event that a task's log may hold: the single source of the event types (`core/events.ts` takes
 * its types from here without loading TypeBox). Readers accept unknown types and unknown fields; writers use these.
 */
import { type Static, Type } from "typebox";
import type { PolicyRule } from "../contracts/policy.ts";
import type {
  CommandResult as CommandResultFacts,
  VerifyChanges,
  VerifyFinding,
  VerifySpec,
} from "../contracts/verifier.ts";

const Opt = Type.Optional;
const Str = Type.String();
const Num = Type.Number();
const Int = Type.Integer();
const Bool = Type.Boolean();
const oneOf = <const T extends readonly string[]>(...values: T) =>
  Type.Union(values.map((v) => Type.Literal(v))) as never as ReturnType<typeof Type.Unsafe<T[number]>>;
const Late = { late: Opt(Bool) };

const Identity = Type.Object({ pid: Int, startTicks: Str, bootId: Str });
const Owner = Type.Object({ pid: Int, startTicks: Str, bootId: Str, host: Str });
const Containment = Type.Object({
  kind: oneOf("cgroup", "census"),
  cgroup: Opt(Str),
  marker: Str,
  leader: Identity,
  guardian: Opt(Identity),
});
const Executable = Type.Object({ path: Str, realPath: Str, version: Str, size: Num, sha256: Str });
const Remaining = Type.Object({ kind: oneOf("process", "cgroup", "unknown"), id: Str, detail: Str });
const Command = Type.Object({ text: Str, argv: Type.Array(Str), shell: Bool, timeoutMs: Num });
/* The verifier's own contract is the type; the schema states what readers may rely on. */
const Verification = Type.Unsafe<VerifySpec>(
  Type.Object({
    commands: Type.Array(Command),
    cwd: Str,
    where: oneOf("clean", "workspace"),
    carry: Type.Array(Str),
    runs: Int,
    envNames: Type.Array(Str),
    inputs: Type.Record(Str, Str),
  }),
);
const Finding = Type.Unsafe<VerifyFinding>(Type.Object({ kind: Str, path: Opt(Str), detail: Str, code: Opt(Str) }));
const CommandResult = Type.Unsafe<CommandResultFacts>(
  Type.Object({
    text: Str,
    exitCode: Type.Union([Int, Type.Null()]),
    signal: Type.Union([Str, Type.Null()]),
    timedOut: Bool,
    durationMs: Num,
    outputBytes: Num,
    outputSha256: Str,
    outputTail: Str,
    artifact: Opt(Str),
    outcome: oneOf("pass", "fail", "error"),
  }),
);
const Changes = Type.Unsafe<VerifyChanges>(
  Type.Object({
    files: Type.Array(
      Type.Object({ path: Str, status: Str, kind: Str, size: Num, hash: Opt(Str), added: Opt(Int), deleted: Opt(Int) }),
    ),
    more: Int,
    added: Int,
    deleted: Int,
  }),
);
const Limits = Type.Object({
  startupMs: Num,
  quietMs: Num,
  toolQuietMs: Num,
  toolCapMs: Num,
  wallMs: Num,
  stopGraceMs: Num,
  /** How long a request waits in a live worker before it is deferred. */
  patienceMs: Opt(Num),
  maxRounds: Int,
  maxTurns: Opt(Int),
  /** Questions to the decider, and USD for worker and decider together; absent: 200, and no limit. */
  maxDecisions: Opt(Int),
  budgetUsd: Opt(Num),
  /** How long a review may take. */
  reviewMs: Opt(Num),
});
const Usage = Type.Object({
  inputTokens: Opt(Num),
  outputTokens: Opt(Num),
  cacheReadTokens: Opt(Num),
  cacheCreationTokens: Opt(Num),
});

export const EVENT_VERSION = 1;

export const eventSchemas = {
  /** Everything about the task that never changes again. */
  "task.created": Type.Object({
    goal: Str,
    /** The stored goal differs from what the person typed: it may never be sent from the log. */
    goalRedacted: Bool,
    /** What the person said beside the goal (`start --from`); it goes to the worker with it. */
    brief: Opt(
      Type.Object({ scope: Opt(Type.Array(Str)), constraints: Opt(Type.Array(Str)), forbidden: Opt(Type.Array(Str)) }),
    ),
    mode: oneOf("manual", "auto"),
    cwd: Str,
    transport: oneOf("claude-jsonl", "process-pipe"),
    trust: oneOf("none", "user", "project"),
    profile: oneOf("strict", "standard", "open"),
    /** A person's and a project's own rules, and hosts that may be fetched from, as configured at the start. */
    rules: Opt(
      Type.Array(
        Type.Unsafe<PolicyRule>(Type.Object({ verdict: Str, tool: Str, argv: Opt(Type.Array(Str)), origin: Str })),
      ),
    ),
    allowedHosts: Opt(Type.Array(Str)),
    verify: Verification,
    limits: Limits,
    sessionId: Str,
    /** The name under which the emergency stop knows it, where that is not its id. */
    controlId: Opt(Str),
    model: Opt(Str),
    /** `provider/id` of the decider; absent: Pi's current model. */
    decisionModel: Opt(Str),
    /** A reviewer looks at what passed. */
    review: Opt(Bool),
    workerEnvNames: Type.Array(Str),
    cgroup: oneOf("auto", "required", "off"),
    /** Tree id of the workspace at the start; absent when it could not be read. */
    startTree: Opt(Str),
    /** Commit and branch at the start, where there are any. */
    startHead: Opt(Type.Object({ head: Opt(Str), branch: Opt(Str) })),
    /** What the repository's own Claude settings would have run or do run, for the report. */
    repositoryFindings: Type.Array(Str),
    /** Root of the project whose `.pi/supervisor.json` can switch automation off; absent where Pi trusted none. */
    trustedProject: Opt(Str),
    /** The task's own git worktree, when it was asked for. */
    worktree: Opt(Type.Object({ path: Str, branch: Str })),
  }),
  "owner.claimed": Type.Object({
    owner: Owner,
    why: oneOf("start", "recover", "stop", "answer", "verify", "takeover", "handback"),
  }),
  "owner.released": Type.Object({ why: oneOf("quit", "ended", "failed") }),
  /** `resume`: that session is continued. Without it a new one begins: nothing was given to a worker yet, or `fresh`. */
  "task.recovering": Type.Object({
    fresh: Bool,
    resume: Bool,
    sessionId: Str,
    extendMs: Opt(Num),
    /** Set when a person gives a session back that they had taken over. */
    handback: Opt(Type.Object({ promptId: Str, note: Opt(Str), redacted: Bool, turns: Opt(Int) })),
    /** Absent: a person. */
    by: Opt(oneOf("person", "decider")),
  }),
  /** A person has read the fault report and wants automation back. */
  "fault.cleared": Type.Object({ fault: Str }),
  /** The person's switch `automation` is another one than before; only in automatic tasks. */
  "automation.changed": Type.Object({ to: oneOf("on", "off"), why: Str }),
  "task.completed": Type.Object({ treeId: Str, round: Int, by: oneOf("person", "auto"), ...Late }),
  "task.failed": Type.Object({ reason: Str, message: Str, ...Late }),

  /** Durable before the process exists. */
  "worker.spawning": Type.Object({ workerId: Str, sessionId: Str, resume: Bool }),
  "worker.spawned": Type.Object({
    containment: Containment,
    argv: Type.Array(Str),
    envNames: Type.Array(Str),
    ...Late,
  }),
  "worker.started": Type.Object({
    executable: Executable,
    argv: Type.Array(Str),
    envNames: Type.Array(Str),
    cwd: Str,
    permissionMode: Str,
    sessionId: Str,
    resume: Bool,
    ...Late,
  }),
  "worker.start-failed": Type.Object({ reason: Str, message: Str, ...Late }),
  "worker.init": Type.Object({ permissionMode: Str, sessionId: Str, model: Opt(Str), tools: Int, ...Late }),
  "worker.text": Type.Object({ preview: Str, chars: Int, parentToolUseId: Opt(Str), artifact: Opt(Str), ...Late }),
  "worker.stderr": Type.Object({ preview: Str, ...Late }),
  "worker.heartbeat": Type.Object({}),
  "worker.background": Type.Object({
    tasks: Type.Array(Type.Object({ id: Str, kind: Str, description: Str })),
    ...Late,
  }),
  "worker.session-state": Type.Object({ state: oneOf("idle", "busy"), ...Late }),
  "worker.retry": Type.Object({ attempt: Int, maxRetries: Opt(Int), delayMs: Opt(Num), status: Opt(Int), ...Late }),
  "worker.rate-limit": Type.Object({ status: oneOf("allowed", "warning", "rejected"), resetsAt: Opt(Str), ...Late }),
  "worker.conversation-reset": Type.Object({ sessionId: Opt(Str), ...Late }),
  "worker.protocol-error": Type.Object({ code: Str, detail: Str, artifact: Opt(Str), fatal: Bool, ...Late }),
  "worker.unknown": Type.Object({ messageType: Str, subtype: Opt(Str), ...Late }),
  /** Durable before a live worker is ended on purpose. */
  "worker.ending": Type.Object({
    why: oneOf("completed", "incident", "quit", "pause", "takeover", "deferral", "exhausted"),
  }),
  "worker.exited": Type.Object({
    code: Type.Union([Int, Type.Null()]),
    signal: Type.Union([Str, Type.Null()]),
    exitReason: Str,
    stderrTail: Opt(Str),
    ...Late,
  }),
  /** Tool calls of this worker are Claude's own settings' to decide: nothing of it passes the gate. */
  ungated: Type.Object({ why: oneOf("process-pipe", "takeover"), confirmedBy: Str }),
  /** The Claude program is not the one that this task ran with; a person is asked once. */
  "worker.drift": Type.Object({ before: Executable, now: Executable, message: Str }),
  /** What was still there after the leader's exit, and whether it is gone now. */
  "worker.swept": Type.Object({
    method: Str,
    killed: Int,
    durationMs: Num,
    proven: Bool,
    remaining: Type.Array(Remaining),
  }),

  /** A person's message waits for the next idle point. */
  "prompt.queued": Type.Object({ promptId: Str, source: oneOf("person"), text: Str, redacted: Bool }),
  /** Durable before the message is written to the worker. */
  "prompt.intent": Type.Object({
    promptId: Str,
    source: oneOf("goal", "person", "decider", "verifier", "recover", "handback"),
    text: Str,
    redacted: Bool,
    /** It tells the worker that its time is nearly over. */
    wrapUp: Opt(Bool),
  }),
  "prompt.written": Type.Object({ promptId: Str }),
  "prompt.ack": Type.Object({ promptId: Str, state: oneOf("queued", "started", "completed", "discarded"), ...Late }),
  "prompt.failed": Type.Object({ promptId: Str, reason: Str, message: Str, wrapUp: Opt(Bool) }),

  "gate.verdict": Type.Object({
    callId: Str,
    via: oneOf("hook", "ask"),
    toolUseId: Str,
    toolName: Str,
    verdict: oneOf("allow", "review", "person", "deny"),
    rule: Str,
    reason: Str,
    loss: Opt(oneOf("recoverable", "lost")),
    /** Redacted and bounded. */
    input: Type.Unknown(),
    cwd: Str,
    agentId: Opt(Str),
    /** Hash of the normalized call: equal asks have equal ones. */
    ask: Opt(Str),
    /** Set when the call waits for someone: the id that people use. */
    requestId: Opt(Str),
    kind: Opt(oneOf("tool", "question", "plan")),
    ...Late,
  }),
  "gate.reply-failed": Type.Object({ callId: Str, toolUseId: Str, reason: Str, message: Str }),
  "gate.not-run": Type.Object({ toolUseId: Str, toolName: Opt(Str), why: oneOf("refused-before-hook", "cut-off") }),
  "gate.incident": Type.Object({ fault: Str, detail: Str, toolUseId: Opt(Str), toolName: Opt(Str), ...Late }),

  /** Durable before the answer is written to the worker. */
  "request.answered": Type.Object({
    requestId: Str,
    decision: oneOf("approve", "deny", "answer"),
    by: oneOf("person", "decider", "supervisor"),
    via: oneOf("dialog", "command", "policy", "stop", "decider"),
    note: Opt(Str),
    answers: Opt(Type.Record(Str, Str)),
  }),
  /** Durable before the call's hook is answered with `defer`. */
  "request.deferring": Type.Object({ requestId: Str }),
  "request.replied": Type.Object({ requestId: Str, ok: Bool, reason: Opt(Str) }),
  "request.cancelled": Type.Object({ requestId: Str, why: oneOf("claude", "worker-gone", "stop") }),

  "tool.use": Type.Object({ toolUseId: Str, toolName: Str, parentToolUseId: Opt(Str), ...Late }),
  "tool.result": Type.Object({
    toolUseId: Str,
    isError: Bool,
    wrapped: Bool,
    aborted: Bool,
    preview: Str,
    chars: Int,
    artifact: Opt(Str),
    ...Late,
  }),
  "turn.result": Type.Object({
    subtype: Str,
    isError: Bool,
    terminalReason: Opt(Str),
    apiErrorStatus: Opt(Int),
    /** Claude's own word for the kind of API error, e.g. `authentication_failed`. */
    apiError: Opt(Str),
    errors: Type.Array(Str),
    preview: Str,
    chars: Int,
    artifact: Opt(Str),
    /** Hash of the whole redacted text, blanks normalized: equal words have equal ones. Absent where there are no words. */
    said: Opt(Str),
    numTurns: Opt(Int),
    costUsd: Opt(Num),
    durationMs: Opt(Num),
    usage: Opt(Usage),
    permissionDenials: Int,
    deferred: Opt(Type.Object({ toolUseId: Str, toolName: Str })),
    ...Late,
  }),

  /** Durable before the question's prompt leaves. `treeId`: the workspace at a turn's end. */
  "decision.asked": Type.Object({
    decisionId: Str,
    kind: oneOf("tool", "question", "plan", "turn-end", "exit"),
    requestId: Opt(Str),
    treeId: Opt(Str),
  }),
  "decision.made": Type.Object({
    decisionId: Opt(Str),
    kind: Opt(oneOf("tool", "question", "plan", "turn-end", "exit")),
    requestId: Opt(Str),
    decision: oneOf("approve", "deny", "answer", "continue", "verify", "escalate", "unavailable"),
    reason: Opt(Str),
    /** With `unavailable`: what went wrong. */
    code: Opt(Str),
    /** With `escalate`: why it is a person's, and what the decider would have said. */
    category: Opt(oneOf("detail", "architecture", "scope", "risk")),
    meant: Opt(oneOf("approve", "answer")),
    answers: Opt(Type.Record(Str, Str)),
    /** With `continue`: the worker's next message. */
    message: Opt(Str),
    /** Estimate by Pi's price list. */
    usd: Opt(Num),
    durationMs: Opt(Num),
    ...Late,
  }),

  "verify.requested": Type.Object({ by: oneOf("person", "auto") }),
  "verify.started": Type.Object({ by: oneOf("person", "auto"), round: Int, where: Str, commands: Type.Array(Str) }),
  "verify.finished": Type.Object({
    outcome: oneOf("pass", "fail", "error"),
    exitCode: Type.Union([Int, Type.Null()]),
    treeId: Str,
    treeAfter: Opt(Str),
    reason: Opt(Str),
    message: Str,
    by: oneOf("person", "auto"),
    round: Int,
    where: Str,
    durationMs: Num,
    commands: Type.Array(CommandResult),
    findings: Type.Array(Finding),
    /** What differs from the task's start (bounded); absent where that is not known. */
    changes: Opt(Changes),
    /** Version lines of what took part: `node`, `git`, `os`. */
    versions: Opt(Type.Record(Str, Str)),
    ...Late,
  }),
  /** A reviewer looks at a candidate that passed. */
  "review.started": Type.Object({ treeId: Str, round: Int }),
  "review.finished": Type.Object({
    verdict: oneOf("pass", "revise", "person", "unavailable"),
    treeId: Str,
    round: Int,
    /** For people: why. */
    message: Str,
    /** With `unavailable`: what went wrong. */
    code: Opt(Str),
    findings: Type.Array(Type.Object({ file: Opt(Str), line: Opt(Int), problem: Str })),
    model: Opt(Str),
    /** How often it looked into the tree. */
    looks: Int,
    durationMs: Num,
    /** Estimate by Pi's price list. */
    usd: Opt(Num),
    ...Late,
  }),
  /** A pass that counts only when a person signs it; answered by `request.answered` with the same id. */
  "signoff.requested": Type.Object({
    requestId: Str,
    why: oneOf("changed-script", "review-person", "review-unavailable"),
    treeId: Str,
    round: Int,
    /** For the person: what happened, and what to look at. */
    message: Str,
    /** Names of what has to be looked at (bounded). */
    paths: Type.Array(Str),
  }),
  /** The workspace is no longer the tree that passed. */
  "verify.stale": Type.Object({ passedTree: Str, presentTree: Str, ...Late }),

  /** Durable before anything of a stop is done. */
  "stop.requested": Type.Object({
    by: oneOf("person", "watchdog", "supervisor", "estop"),
    kind: oneOf("graceful", "now"),
    reason: Str,
    /** What the task is once everything is proven gone. */
    end: oneOf("stopped", "failed"),
    /** Kebab-case cause with `end: failed`. */
    cause: Opt(Str),
  }),
  "stop.proven": Type.Object({ method: Str, killed: Int, durationMs: Num }),
  "stop.failed": Type.Object({ remaining: Type.Array(Remaining), durationMs: Num }),
  /** The emergency stop has reached this task: from here on nothing of it moves. `late`: nobody drove it then. */
  "estop.requested": Type.Object({
    epoch: Int,
    reason: Opt(Str),
    verb: Opt(oneOf("stop", "pause")),
    how: Opt(oneOf("now", "after-call")),
    ...Late,
  }),
  "estop.acknowledged": Type.Object({ epoch: Int }),
  /** Nothing that was registered is left; looked at apart from what the teardown itself says. */
  "estop.verified": Type.Object({ epoch: Int }),
  "estop.failed": Type.Object({ epoch: Int }),

  /** Durable before the worker is ended for it. */
  "takeover.requested": Type.Object({ by: oneOf("person"), sessionId: Str }),
  /** Durable before the worker is ended for it. */
  "pause.requested": Type.Object({ by: oneOf("person", "supervisor", "estop"), reason: Str }),

  /** Most of a budget is used up. */
  "budget.warning": Type.Object({ budget: Str, used: Num, limit: Num, text: Str }),
  /** A limit of the day over all tasks is used up: nothing automatic goes on. */
  "budget.exhausted": Type.Object({
    budget: oneOf("per-day-usd", "per-day-decisions"),
    used: Num,
    limit: Num,
    text: Str,
  }),
  /** There is room again: another day has begun, or the limit was raised. What waited for that alone goes on. */
  "budget.renewed": Type.Object({ budget: oneOf("per-day-usd", "per-day-decisions"), text: Str }),
  "timer.fired": Type.Object({ name: Str }),
  /** Something was asked for that the state does not allow; nothing changed. */
  rejected: Type.Object({ what: Str, reason: Str, message: Str, ...Late }),
  /** `missing`: records that `task.json` had seen and the log no longer has. */
  "log.recovered": Type.Object({ tornBytes: Int, file: Opt(Str), missing: Opt(Int) }),
  /** A person who may not be looking was told that the task needs them. `reason`: why (docs/webhook.md). */
  "person.called": Type.Object({ noticeId: Str, reason: Str, via: oneOf("webhook"), ok: Bool, failure: Opt(Str) }),
  notice: Type.Object({ level: oneOf("info", "warning", "error"), text: Str }),
} as const;

export const eventRecordSchema = Type.Object({
  v: Type.Literal(EVENT_VERSION),
  seq: Int,
  taskId: Str,
  workerId: Type.Union([Str, Type.Null()]),
  at: Str,
  mono: Num,
  type: Str,
  data: Type.Record(Str, Type.Unknown()),
  idempotencyKey: Opt(Str),
  artifact: Opt(Str),
  prev: Str,
});

export type EventSchemas = typeof eventSchemas;
export type EventMap = { -readonly [K in keyof EventSchemas]: Static<EventSchemas[K]> };

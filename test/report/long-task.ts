/**
 * The log of one long night, made with the real schema: each record is checked against it, and the view is made from the
 * fold of the log as the supervisor makes it. `truth` counts beside the fold what went in.
 */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { Value } from "typebox/value";
import type { EventMap, EventType, StoredEvent } from "../../src/core/events.ts";
import { fold } from "../../src/core/fold.ts";
import type { TaskState } from "../../src/core/machine/state.ts";
import { eventRecordSchema, eventSchemas } from "../../src/core/schema/events.ts";
import { Collector, type Report, type ReportView } from "../../src/report/index.ts";
import { viewOf } from "../../src/supervisor/view.ts";

export const TASK = "t-1m8p0jax7xnx2";
const TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
const CWD = "/home/me/parser";

export interface Truth {
  calls: number;
  allowed: number;
  denied: number;
  asked: number;
  deniedByPerson: number;
  errors: number;
  turns: number;
  rounds: number;
  prompts: number;
  costUsd: number;
}

export class LogBuilder {
  readonly events: StoredEvent[] = [];
  readonly truth: Truth = {
    calls: 0,
    allowed: 0,
    denied: 0,
    asked: 0,
    deniedByPerson: 0,
    errors: 0,
    turns: 0,
    rounds: 0,
    prompts: 0,
    costUsd: 0,
  };
  #wall: number;
  #mono = 1_000;
  #prev = "0".repeat(64);

  constructor(begun = Date.UTC(2026, 10, 29, 21, 4, 0)) {
    this.#wall = begun;
  }

  /** Time passes; `gap` without an owner: the monotonic clock starts anew. */
  pass(ms: number): this {
    this.#wall += ms;
    this.#mono += ms;
    return this;
  }

  newOwner(): this {
    this.#mono = 500;
    return this;
  }

  add<K extends EventType>(type: K, data: EventMap[K], afterMs = 40): this {
    this.pass(afterMs);
    const event: StoredEvent = {
      v: 1,
      seq: this.events.length + 1,
      taskId: TASK,
      workerId: null,
      at: new Date(this.#wall).toISOString(),
      mono: this.#mono,
      type,
      data,
      prev: this.#prev,
    };
    assert.ok(Value.Check(eventSchemas[type], data), `${type}: ${JSON.stringify(data)}`);
    assert.ok(Value.Check(eventRecordSchema, event));
    this.#prev = createHash("sha256").update(JSON.stringify(event)).digest("hex");
    this.events.push(event);
    return this;
  }

  created(over: Partial<EventMap["task.created"]> = {}): this {
    return this.add("task.created", {
      goal: 'Make the duration parser add up mixed units\n\nparseDuration("1h 30m") must give 5400 seconds. Keep the public names. The tests tell when it is done.',
      goalRedacted: false,
      mode: "auto",
      cwd: CWD,
      transport: "claude-jsonl",
      trust: "user",
      profile: "standard",
      verify: {
        commands: [
          { text: "npm test", argv: ["npm", "test"], shell: false, timeoutMs: 1_800_000 },
          { text: "npm run lint", argv: ["npm", "run", "lint"], shell: false, timeoutMs: 1_800_000 },
        ],
        cwd: CWD,
        where: "clean",
        carry: ["node_modules"],
        runs: 1,
        envNames: [],
        inputs: { "package.json": "a".repeat(64) },
        scripts: ["package.json#scripts.test"],
      },
      limits: {
        startupMs: 60_000,
        quietMs: 600_000,
        toolQuietMs: 1_800_000,
        toolCapMs: 7_200_000,
        wallMs: 8 * 3_600_000,
        stopGraceMs: 5_000,
        patienceMs: 600_000,
        maxRounds: 3,
      },
      sessionId: "11111111-1111-4111-8111-111111111111",
      workerEnvNames: ["ANTHROPIC_API_KEY"],
      cgroup: "auto",
      startTree: TREE,
      startHead: { head: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b", branch: "main" },
      repositoryFindings: ['.claude/settings.json: hook runs "./notify.sh" (not loaded)'],
      ...over,
    });
  }

  claimed(why: EventMap["owner.claimed"]["why"]): this {
    return this.add("owner.claimed", { owner: { pid: 4242, startTicks: "1", bootId: "b", host: "desk" }, why });
  }

  worker(resume: boolean): this {
    const executable = {
      path: "/usr/bin/claude",
      realPath: "/usr/lib/claude/cli.js",
      version: "2.1.268",
      size: 1,
      sha256: "ab".repeat(32),
    };
    const sessionId = "11111111-1111-4111-8111-111111111111";
    const leader = { pid: 4300, startTicks: "2", bootId: "b" };
    return this.add("worker.spawning", { workerId: resume ? "w-2" : "w-1", sessionId, resume })
      .add("worker.spawned", { containment: { kind: "census", marker: "M=1", leader }, argv: [], envNames: [] })
      .add(
        "worker.started",
        { executable, argv: [], envNames: [], cwd: CWD, permissionMode: "default", sessionId, resume },
        900,
      );
  }

  prompt(source: EventMap["prompt.intent"]["source"], text: string): this {
    this.truth.prompts += 1;
    const promptId = `p-${this.truth.prompts}`;
    return this.add("prompt.intent", { promptId, source, text, redacted: false })
      .add("prompt.written", { promptId }, 2)
      .add("prompt.ack", { promptId, state: "started" }, 60)
      .add(
        "worker.init",
        {
          permissionMode: "default",
          sessionId: "11111111-1111-4111-8111-111111111111",
          model: "claude-opus-5",
          tools: 18,
        },
        20,
      );
  }

  say(preview: string): this {
    return this.add("worker.text", { preview, chars: preview.length }, 2_100);
  }

  call(
    toolName: string,
    input: unknown,
    how: {
      verdict?: EventMap["gate.verdict"]["verdict"];
      rule?: string;
      reason?: string;
      requestId?: string;
      isError?: boolean;
      result?: string;
      runs?: boolean;
      tookMs?: number;
    } = {},
  ): this {
    const { verdict = "allow", rule = "path.workspace", reason = "It stays inside the workspace." } = how;
    this.truth.calls += 1;
    const toolUseId = `toolu_${String(this.truth.calls).padStart(5, "0")}`;
    if (verdict === "allow") this.truth.allowed += 1;
    else if (verdict === "deny") this.truth.denied += 1;
    else this.truth.asked += 1;
    this.add("tool.use", { toolUseId, toolName }, 1_900).add(
      "gate.verdict",
      {
        callId: `c-${this.truth.calls}`,
        via: "hook",
        toolUseId,
        toolName,
        verdict,
        ...(verdict === "review" ? { loss: "lost" as const } : {}),
        rule,
        reason,
        input,
        cwd: CWD,
        ask: createHash("sha256").update(JSON.stringify(input)).digest("hex").slice(0, 16),
        ...(how.requestId !== undefined && { requestId: how.requestId, kind: "tool" as const }),
      },
      2,
    );
    if (how.runs === false) return this;
    return this.result(toolUseId, how);
  }

  result(toolUseId: string, how: { isError?: boolean; result?: string; tookMs?: number } = {}): this {
    const { isError = false, result = "ok", tookMs = 350 } = how;
    if (isError) this.truth.errors += 1;
    return this.add(
      "tool.result",
      { toolUseId, isError, wrapped: false, aborted: false, preview: result, chars: result.length },
      tookMs,
    );
  }

  lastToolUse(): string {
    return `toolu_${String(this.truth.calls).padStart(5, "0")}`;
  }

  answered(
    requestId: string,
    decision: "approve" | "deny" | "answer",
    by: "person" | "decider",
    note?: string,
    afterMs = 4_000,
  ): this {
    if (decision === "deny") this.truth.deniedByPerson += 1;
    return this.add(
      "request.answered",
      { requestId, decision, by, via: by === "person" ? "dialog" : "policy", ...(note !== undefined && { note }) },
      afterMs,
    ).add("request.replied", { requestId, ok: true }, 3);
  }

  /** The Decision Worker is asked, and says something. */
  decided(
    kind: EventMap["decision.asked"]["kind"],
    said: Partial<EventMap["decision.made"]> & Pick<EventMap["decision.made"], "decision">,
  ): this {
    const decisionId = `d${this.events.length}`;
    const { requestId } = said;
    return this.add("decision.asked", { decisionId, kind, ...(requestId !== undefined && { requestId }) }, 30).add(
      "decision.made",
      { decisionId, kind, usd: 0.002, durationMs: 2_300, ...said },
      2_300,
    );
  }

  turnOver(preview: string, costUsd: number, usage: EventMap["turn.result"]["usage"]): this {
    this.truth.turns += 1;
    this.truth.costUsd = costUsd;
    return this.add(
      "turn.result",
      {
        subtype: "success",
        isError: false,
        terminalReason: "completed",
        errors: [],
        preview,
        chars: preview.length,
        numTurns: 12,
        costUsd,
        durationMs: 60_000,
        ...(usage !== undefined && { usage }),
        permissionDenials: 0,
      },
      1_500,
    );
  }

  verified(
    outcome: "pass" | "fail" | "error",
    message: string,
    tail: string,
    findings: EventMap["verify.finished"]["findings"] = [],
  ): this {
    this.truth.rounds += 1;
    const round = this.truth.rounds;
    const command = (text: string, ok: boolean, outputTail: string) => ({
      text,
      argv: text.split(" "),
      run: 1,
      exitCode: ok ? 0 : 1,
      signal: null,
      timedOut: false,
      durationMs: 12_400,
      outputBytes: outputTail.length * 3,
      outputSha256: createHash("sha256").update(outputTail).digest("hex"),
      outputTail,
      outcome: ok ? ("pass" as const) : ("fail" as const),
    });
    return this.add("verify.requested", { by: "auto" }, 5)
      .add("verify.started", { by: "auto", round, where: "clean", commands: ["npm test", "npm run lint"] }, 300)
      .add(
        "verify.finished",
        {
          outcome,
          exitCode: outcome === "pass" ? 0 : 1,
          treeId: createHash("sha1").update(String(round)).digest("hex"),
          treeAfter: createHash("sha1").update(String(round)).digest("hex"),
          message,
          by: "auto",
          round,
          where: "clean",
          durationMs: 25_000,
          commands: [command("npm test", outcome === "pass", tail), command("npm run lint", true, "no problems")],
          findings,
          changes: {
            files: [
              { path: "assets/table.bin", status: "added", kind: "binary", size: 20_480, hash: "b".repeat(40) },
              { path: "src/parse.ts", status: "modified", kind: "text", size: 4_200, added: 41 + round, deleted: 17 },
              { path: "src/units.ts", status: "added", kind: "text", size: 900, added: 28, deleted: 0 },
              { path: "test/old.test.ts", status: "deleted", kind: "text", size: 0, added: 0, deleted: 12 },
            ],
            more: 0,
            added: 69 + round,
            deleted: 29,
          },
        },
        25_000,
      );
  }

  completed(): this {
    return this.add("task.completed", {
      treeId: createHash("sha1").update(String(this.truth.rounds)).digest("hex"),
      round: this.truth.rounds,
      by: "auto",
    })
      .add("worker.ending", { why: "completed" })
      .add("worker.exited", { code: 0, signal: null, exitReason: "completed" }, 800)
      .add("worker.swept", { method: "census", killed: 0, durationMs: 2, proven: true, remaining: [] })
      .add("owner.released", { why: "ended" });
  }

  state(): TaskState {
    return fold(TASK, this.events);
  }

  view(): ReportView {
    return viewOf(this.state(), `/home/me/.local/share/pi-claude-supervisor/tasks/${TASK}/events.jsonl`, null);
  }

  report(): Report {
    const collector = new Collector(TASK);
    for (const event of this.events) collector.add(event);
    return collector.done(this.view());
  }
}

const FILES = ["src/parse.ts", "src/units.ts", "src/index.ts", "test/parse.test.ts", "README.md"];

/** One ordinary stretch of work: reads, edits, commands. */
function work(log: LogBuilder, calls: number): void {
  for (let i = 0; i < calls; i++) {
    const file = `${CWD}/${FILES[i % FILES.length]}`;
    switch (i % 6) {
      case 0:
        log.call("Read", { file_path: file }, { result: "1  export function parseDuration(text: string): number {" });
        break;
      case 1:
        log.call("Grep", { pattern: "parseDuration", path: CWD }, { result: "src/parse.ts:12" });
        break;
      case 2:
        log.call("Edit", { file_path: file, old_string: "return total;", new_string: "return total + rest;" });
        break;
      case 3:
        log.say("The total leaves the minutes out when an hour comes first; I add the rest of the match.");
        break;
      case 4:
        log.call(
          "Bash",
          { command: "npm test -- --test-name-pattern mixed", description: "Run the tests" },
          {
            rule: "runner.npm",
            reason: "The project's own test script.",
            isError: i % 12 === 4,
            result: "not ok 3 - adds up mixed units\n  expected 5400, got 3600",
            tookMs: 6_200,
          },
        );
        break;
      default:
        log.call(
          "Bash",
          { command: "git status --short" },
          { rule: "git.read", reason: "It only reads.", result: " M src/parse.ts" },
        );
    }
  }
}

/** A whole night with at least `records` records (and 450): two failing rounds, refusals, questions, a restart of Pi. */
export function longTask(records = 2_000): LogBuilder {
  const log = new LogBuilder().created().claimed("start").worker(false);
  log.prompt("goal", "Make the duration parser add up mixed units");
  log.say("I look at the parser and its tests first.");
  work(log, 40);
  log.call(
    "Bash",
    { command: "claude --dangerously-skip-permissions -p 'fix it'" },
    {
      verdict: "deny",
      rule: "claude.bypass",
      reason: "It would start Claude without the gate.",
      isError: true,
      result: "It would start Claude without the gate.",
    },
  );
  log.call(
    "Bash",
    { command: "node scripts/gen-table.mjs --write src/units.ts" },
    {
      verdict: "review",
      rule: "bash.unknown-effect",
      reason: "What the script does is not known.",
      requestId: "r-1",
      runs: false,
    },
  );
  log
    .decided("tool", {
      requestId: "r-1",
      decision: "escalate",
      meant: "approve",
      category: "risk",
      reason: "The script may write more than the table.",
    })
    .answered("r-1", "approve", "person", "It only writes the table.", 340_000)
    .result(log.lastToolUse(), { result: "wrote 14 units" });
  log.turnOver("I rewrote the accumulation in parse.ts. All tests should pass now.", 0.4127, {
    inputTokens: 1_204,
    outputTokens: 8_412,
    cacheReadTokens: 402_118,
    cacheCreationTokens: 38_110,
  });
  log.verified(
    "fail",
    "npm test exited with 1.",
    "TAP version 13\nnot ok 3 - adds up mixed units\n  ---\n  expected: 5400\n  actual: 3600\n  ...\n# fail 1",
    [
      {
        kind: "changed-input",
        path: "test/parse.test.ts",
        detail: "The worker changed a file that the verification reads.",
      },
    ],
  );
  log.prompt("verifier", "The verification did not pass.\n\nnpm test exited with 1.\nnot ok 3 - adds up mixed units");
  work(log, 30);
  log.call(
    "Bash",
    { command: "git push origin main" },
    { verdict: "person", rule: "git.push", reason: "It leaves this machine.", requestId: "r-2", runs: false },
  );
  log
    .answered("r-2", "deny", "person", "Not before I have seen it.", 900_000)
    .result(log.lastToolUse(), { isError: true, result: "Not before I have seen it." });
  log.add("worker.rate-limit", { status: "rejected", resetsAt: new Date(Date.UTC(2026, 10, 30, 0, 30)).toISOString() });
  log.pass(1_500_000);
  log.turnOver("The minutes are added now.", 0.9033, {
    inputTokens: 820,
    outputTokens: 5_120,
    cacheReadTokens: 611_000,
    cacheCreationTokens: 12_004,
  });
  log.decided("turn-end", { decision: "verify", reason: "Claude says that it is done." });
  log.verified("fail", "npm test exited with 1.", "not ok 7 - refuses an empty text\n# fail 1");
  log.prompt("verifier", "The verification did not pass.\n\nnot ok 7 - refuses an empty text");
  work(log, 20);
  log.pass(5_400_000).newOwner().claimed("recover");
  log
    .add("task.recovering", { fresh: false, resume: true, sessionId: "11111111-1111-4111-8111-111111111111" })
    .worker(true);
  log.prompt("recover", "Go on where you left off.");
  let turn = 0;
  while (log.events.length < records - 30) {
    work(log, 24);
    turn += 1;
    if (turn % 3 === 0) {
      log.turnOver(`Step ${turn} is done.`, 0.9033 + turn * 0.031, {
        inputTokens: 300 + turn,
        outputTokens: 1_800 + 40 * turn,
        cacheReadTokens: 220_000 + 3_000 * turn,
        cacheCreationTokens: 4_100,
      });
      log.prompt("person", turn % 2 === 0 ? "Go on with the next unit, please." : "Also handle days.");
    }
  }
  work(log, 12);
  log.turnOver("Empty text is refused, days are handled, all tests pass.", 0.9033 + (turn + 1) * 0.031, {
    inputTokens: 410,
    outputTokens: 2_100,
    cacheReadTokens: 260_400,
    cacheCreationTokens: 3_080,
  });
  log.verified("pass", "Both commands passed.", "# pass 41\n# fail 0");
  log.completed();
  return log;
}

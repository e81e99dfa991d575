/** A report of a log whose every text wants to be markup, a script, a terminal sequence or something unseen. */
import type { StoredEvent } from "../../src/core/events.ts";
import { Collector, type Report, type ReportView } from "../../src/report/index.ts";
import { LogBuilder, TASK } from "./long-task.ts";

export const EVIL = `</pre><script>globalThis.owned=1;alert(1)</script><img src="http://x.example/" onerror="globalThis.owned=1">\u001b[2J\u001b]0;t\u0007\r\u202egnp.exe "quoted" 'single' &amp;`;

function collected(events: readonly StoredEvent[], view: ReportView): Report {
  const collector = new Collector(TASK);
  for (const event of events) collector.add(event);
  return collector.done(view);
}

/** A log whose every text is hostile, past the schema: what a broken or foreign writer might have left. */
export function hostileReport(): Report {
  const log = new LogBuilder()
    .created({ goal: EVIL, repositoryFindings: [EVIL] })
    .claimed("start")
    .worker(false);
  log.prompt("goal", EVIL).prompt("person", EVIL).say(EVIL);
  const odd = (type: string, data: object): void => {
    const seq = log.events.length + 1;
    const at = new Date(Date.UTC(2026, 10, 30) + seq * 1_000).toISOString();
    log.events.push({ v: 1, seq, taskId: TASK, workerId: null, at, mono: seq * 1_000, type, data, prev: "" });
  };
  const gate = {
    callId: "c",
    via: "hook",
    toolName: EVIL,
    rule: EVIL,
    reason: EVIL,
    input: { [EVIL]: EVIL },
    cwd: EVIL,
  };
  odd("gate.verdict", { ...gate, toolUseId: "a", verdict: "deny" });
  odd("gate.verdict", { ...gate, toolUseId: "b", verdict: "review", requestId: "r-9", kind: "tool" });
  odd("gate.verdict", { ...gate, toolUseId: "__proto__", toolName: "__proto__", rule: "__proto__", verdict: "deny" });
  odd("tool.result", { toolUseId: "a", isError: true, wrapped: false, aborted: false, preview: EVIL, chars: 1 });
  odd("turn.result", { subtype: EVIL, isError: true, errors: [EVIL], preview: EVIL, chars: 1, permissionDenials: 0 });
  odd("decision.made", { decision: EVIL, reason: EVIL });
  odd("decision.made", { requestId: "r-9", decision: EVIL, reason: EVIL });
  odd("request.answered", { requestId: "r-9", decision: "deny", by: "person", via: "command", note: EVIL });
  odd("gate.incident", { fault: EVIL, detail: EVIL });
  odd("worker.exited", { code: null, signal: EVIL, exitReason: EVIL });
  odd("worker.start-failed", { reason: EVIL, message: EVIL });
  odd("notice", { level: "error", text: EVIL });
  odd("rejected", { what: EVIL, reason: EVIL, message: EVIL });
  const command = {
    text: EVIL,
    argv: [EVIL],
    run: 1,
    exitCode: 1,
    signal: EVIL,
    timedOut: false,
    durationMs: 1,
    outputBytes: 1,
    outputSha256: EVIL,
    outputTail: EVIL,
    outcome: "fail",
  };
  odd("verify.finished", {
    outcome: "fail",
    exitCode: 1,
    treeId: EVIL,
    message: EVIL,
    by: "auto",
    round: 1,
    where: EVIL,
    durationMs: 1,
    commands: [command],
    findings: [{ kind: EVIL, path: EVIL, detail: EVIL }],
    changes: {
      files: [{ path: EVIL, status: EVIL, kind: EVIL, size: 1, added: 1, deleted: 2 }],
      more: 0,
      added: 1,
      deleted: 2,
    },
  });
  const view = log.view();
  return collected(log.events, {
    ...view,
    goal: EVIL,
    cwd: EVIL,
    why: EVIL,
    model: EVIL,
    claudeSessionId: EVIL,
    logPath: EVIL,
    asksByRule: { [EVIL]: 1 },
    remaining: [{ kind: EVIL, id: EVIL, detail: EVIL }],
    waitsFor: "approval",
    state: "human_required",
    requests: [
      {
        requestId: "r-8",
        kind: "tool",
        toolName: EVIL,
        input: { command: EVIL },
        cwd: EVIL,
        rule: EVIL,
        reason: EVIL,
        loss: "lost",
        askedOf: "person",
        since: EVIL,
        deferred: true,
      },
    ],
  });
}

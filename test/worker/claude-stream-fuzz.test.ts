/** Whatever JSON comes, the stream does not throw, allows nothing, answers no more than it was asked, and goes on. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { WorkerEvent } from "../../src/core/contracts/worker.ts";
import { manualClock } from "../../src/platform/clock.ts";
import { ClaudeStream } from "../../src/worker/claude-jsonl/claude-stream.ts";

const TYPES = [
  "assistant",
  "user",
  "result",
  "system",
  "control_request",
  "control_response",
  "control_cancel_request",
  "command_lifecycle",
  "rate_limit_event",
  "conversation_reset",
  "keep_alive",
  "odd",
];
const SUBTYPES = [
  "init",
  "hook_callback",
  "can_use_tool",
  "background_tasks_changed",
  "session_state_changed",
  "api_retry",
  "session_writes_lost",
  "success",
  "error",
  "interrupt",
];
const KEYS = [
  "message",
  "content",
  "request",
  "response",
  "request_id",
  "subtype",
  "input",
  "tool_name",
  "tool_input",
  "tool_use_id",
  "callback_id",
  "hook_event_name",
  "cwd",
  "uuid",
  "isReplay",
  "is_error",
  "errors",
  "usage",
  "tasks",
  "rate_limit_info",
  "resetsAt",
  "status",
  "state",
  "command_uuid",
  "permission_denials",
  "deferred_tool_use",
  "id",
  "name",
  "text",
  "type",
  "tool_result_meta",
  "agent_id",
  "permission_suggestions",
  "__proto__",
  "constructor",
];

const word = fc.constantFrom(
  ...TYPES,
  ...SUBTYPES,
  "gate",
  "PreToolUse",
  "r1",
  "r2",
  "tool_use",
  "tool_result",
  "text",
  "/",
  "Bash",
);
const scalar = fc.oneof(word, fc.integer(), fc.double(), fc.boolean(), fc.constant(null), fc.string());
const { tree } = fc.letrec<{ tree: unknown }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 5 },
    scalar,
    fc.array(tie("tree"), { maxLength: 4 }),
    fc.dictionary(fc.constantFrom(...KEYS), tie("tree"), { maxKeys: 8 }),
  ),
}));
/** Half of the questions are whole, so that the interplay of open, repeated and cancelled ones is met. */
const question = fc.record({
  type: fc.constant("control_request"),
  request_id: fc.constantFrom("r1", "r2", "r3"),
  request: fc.record({
    subtype: fc.constant("hook_callback"),
    callback_id: fc.constant("gate"),
    input: fc.record({
      hook_event_name: fc.constant("PreToolUse"),
      cwd: fc.constant("/"),
      tool_name: fc.constantFrom("Bash", "Read"),
      tool_use_id: fc.constantFrom("t1", "t2"),
      tool_input: fc.constant({ command: "ls" }),
    }),
  }),
});
const cancel = fc.record({
  type: fc.constant("control_cancel_request"),
  request_id: fc.constantFrom("r1", "r2", "r3"),
});
const message = fc.oneof(
  fc
    .tuple(fc.constantFrom(...TYPES), fc.dictionary(fc.constantFrom(...KEYS), tree, { maxKeys: 8 }))
    .map(([type, fields]) => ({ ...fields, type })),
  question,
  cancel,
);

test("random messages: nothing throws, nothing is allowed, no more answers than requests, and the stream goes on", () => {
  fc.assert(
    fc.property(fc.array(message, { maxLength: 20 }), fc.boolean(), (messages, broken) => {
      const events: WorkerEvent[] = [];
      const answers = new Map<unknown, number>();
      const stream = new ClaudeStream({
        clock: manualClock(),
        write: async (written) => {
          assert.ok(!/"(permissionDecision|behavior)":"allow"/.test(JSON.stringify(written)), "allowed by itself");
          const id = (written as { response: { request_id: unknown } }).response.request_id;
          if (typeof id === "string") answers.set(id, (answers.get(id) ?? 0) + 1);
          return { ok: true };
        },
        publish: (event) => {
          events.push(event);
          return !broken;
        },
        frameError: (error) => assert.fail(error.code),
      });
      const lines = [...messages, { type: "odd-last" }].map((one) => `${JSON.stringify(one)}\n`);
      stream.push(Buffer.from(lines.join("")));
      const last = events.at(-1);
      assert.ok(last?.type === "unknown" && last.messageType === "odd-last");
      const opened = events
        .filter((event) => event.type === "hook" || event.type === "ask")
        .map((event) => event.callId);
      assert.equal(new Set(opened).size, opened.length, "one id was put to the supervisor twice");
      for (const [id, count] of answers) {
        const asked = messages.filter(
          (one) => one.type === "control_request" && "request_id" in one && one.request_id === id,
        );
        assert.ok(count <= asked.length, `${count} answers to ${asked.length} requests`);
      }
      for (const event of events) {
        if (event.type !== "result") continue;
        for (const number of [event.costUsd, event.numTurns, event.durationMs, event.apiErrorStatus]) {
          assert.ok(number === undefined || (Number.isFinite(number) && number >= 0));
        }
      }
    }),
    { numRuns: 2000 },
  );
});

/** Messages to events and answers, without a process: what each kind of line of Claude comes out as. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { WorkerEvent } from "../../src/core/contracts/worker.ts";
import { manualClock } from "../../src/platform/clock.ts";
import { ClaudeStream } from "../../src/worker/claude-jsonl/claude-stream.ts";

interface Run {
  events: WorkerEvent[];
  written: { response?: Record<string, unknown> }[];
  of<T extends WorkerEvent["type"]>(type: T): Extract<WorkerEvent, { type: T }>[];
}

function run(...messages: object[]): Run {
  const events: WorkerEvent[] = [];
  const written: Run["written"] = [];
  const stream = new ClaudeStream({
    clock: manualClock(),
    write: async (message) => {
      written.push(message);
      return { ok: true };
    },
    publish: (event) => {
      events.push(event);
      return true;
    },
    frameError: (error) => assert.fail(error.code),
  });
  stream.push(Buffer.from(messages.map((message) => `${JSON.stringify(message)}\n`).join("")));
  stream.end();
  return {
    events,
    written,
    of: <T extends WorkerEvent["type"]>(type: T) =>
      events.filter((event): event is Extract<WorkerEvent, { type: T }> => event.type === type),
  };
}

describe("results", () => {
  const RESULTS: [string, object, object][] = [
    [
      "D1: a usage limit that arrives as success",
      { is_error: true, api_error_status: 429, result: "limit" },
      { subtype: "success", isError: true, apiErrorStatus: 429 },
    ],
    ["D2: an overload", { is_error: true, api_error_status: 529 }, { isError: true, apiErrorStatus: 529 }],
    [
      "D4: too many turns",
      { subtype: "error_max_turns", is_error: true, terminal_reason: "max_turns", errors: ["Reached maximum"] },
      { subtype: "error_max_turns", isError: true, terminalReason: "max_turns", errors: ["Reached maximum"] },
    ],
    [
      "D4: the budget",
      { subtype: "error_max_budget_usd", is_error: true, errors: ["b"] },
      { subtype: "error_max_budget_usd", isError: true, errors: ["b"] },
    ],
    [
      "D4: an error of execution without is_error",
      { subtype: "error_during_execution", is_error: undefined },
      { subtype: "error_during_execution", isError: true },
    ],
    ["a success that does not say whether it is an error", { is_error: "no" }, { isError: true }],
    ["no subtype at all", { subtype: undefined }, { subtype: "unknown", isError: true }],
    [
      "D11: the cost as Claude counts it",
      { total_cost_usd: 0.25, usage: { input_tokens: 3, output_tokens: -1, cache_read_input_tokens: 1.5 } },
      { costUsd: 0.25, usage: { inputTokens: 3 } },
    ],
    [
      "numbers that are none are absent",
      { total_cost_usd: -1, num_turns: 1.5, duration_ms: "9", usage: { input_tokens: null } },
      { costUsd: undefined, numTurns: undefined, durationMs: undefined, usage: undefined },
    ],
    [
      "denials are counted",
      { permission_denials: [{ tool_name: "Bash" }, { tool_name: "Write" }] },
      { permissionDenials: 2 },
    ],
    [
      "a deferred call",
      { terminal_reason: "tool_deferred", deferred_tool_use: { id: "t", name: "Bash", input: { command: "x" } } },
      { deferred: { toolUseId: "t", toolName: "Bash", input: { command: "x" } } },
    ],
  ];
  for (const [what, more, expected] of RESULTS) {
    test(`${what} is reported as it is`, () => {
      const line = { type: "result", subtype: "success", is_error: false, num_turns: 1, ...more };
      const [result] = run(line).of("result") as unknown as Record<string, unknown>[];
      for (const [key, value] of Object.entries(expected)) assert.deepEqual(result?.[key], value, key);
    });
  }
});

describe("notices", () => {
  test("D1: a rejected limit comes with its reset time", () => {
    const info = { status: "rejected", resetsAt: 1_800_000_000, rateLimitType: "five_hour" };
    const lines = [info, { status: "allowed_warning" }, { status: "rejected", resetsAt: 1e300 }].map(
      (rate_limit_info) => ({ type: "rate_limit_event", rate_limit_info }),
    );
    const { of } = run(...lines);
    assert.deepEqual(
      of("rate-limit").map((event) => [event.status, event.resetsAt]),
      [
        ["rejected", "2027-01-15T08:00:00.000Z"],
        ["warning", undefined],
        ["rejected", undefined],
      ],
    );
  });

  test("D6, D8: background work and the state of newer versions are reported, whatever their tasks look like", () => {
    const tasks = [{ task_id: "a", task_type: "local_bash", description: "sleep" }, { no: "id" }, null];
    const lines = [
      { type: "system", subtype: "background_tasks_changed", tasks },
      { type: "system", subtype: "session_state_changed", state: "running" },
      { type: "system", subtype: "session_state_changed", state: "idle" },
      { type: "conversation_reset", new_conversation_id: "n" },
    ];
    const { of } = run(...lines);
    assert.deepEqual(
      of("background").map((event) => event.tasks),
      [[{ id: "a", kind: "local_bash", description: "sleep" }]],
    );
    assert.deepEqual(
      of("session-state").map((event) => event.state),
      ["busy", "idle"],
    );
    assert.deepEqual(
      of("conversation-reset").map((event) => event.sessionId),
      ["n"],
    );
  });
});

describe("malformed control messages", () => {
  const call = (id: unknown, more: object = {}): object => ({
    type: "control_request",
    request_id: id,
    request: {
      subtype: "hook_callback",
      callback_id: "gate",
      input: {
        hook_event_name: "PreToolUse",
        cwd: "/",
        tool_name: "Bash",
        tool_use_id: "toolu_x",
        tool_input: { command: "ls" },
        ...more,
      },
    },
  });
  const request = (id: unknown, body: unknown): object => ({ type: "control_request", request_id: id, request: body });
  const can = (more: object): object => ({ subtype: "can_use_tool", tool_name: "Bash", input: {}, ...more });

  const MALFORMED: [string, object[], [unknown, "deny" | "error"][], string[]][] = [
    ["a hook without request_id", [{ ...call("x"), request_id: undefined }], [], ["bad-control"]],
    ["a hook with an empty request_id", [call("")], [], ["bad-control"]],
    ["a hook with a list as request_id", [call(["a"])], [], ["bad-control"]],
    ["a hook with a number as request_id", [call(7)], [[7, "deny"]], ["gate-unreadable"]],
    ["a hook without tool_name", [call("r", { tool_name: null })], [["r", "deny"]], ["gate-unreadable"]],
    ["a hook without input", [call("r", { tool_input: null })], [["r", "deny"]], ["gate-unreadable"]],
    ["a hook with a list as input", [call("r", { tool_input: [] })], [["r", "deny"]], ["gate-unreadable"]],
    ["a hook without tool_use_id", [call("r", { tool_use_id: undefined })], [["r", "deny"]], ["gate-unreadable"]],
    ["a hook without cwd", [call("r", { cwd: "" })], [["r", "deny"]], ["gate-unreadable"]],
    ["a hook of another event", [call("r", { hook_event_name: "Stop" })], [["r", "deny"]], ["gate-unreadable"]],
    [
      "a hook that is not ours",
      [request("r", { subtype: "hook_callback", callback_id: "other" })],
      [["r", "deny"]],
      ["gate-unreadable"],
    ],
    ["an ask with null as input", [request("r", can({ input: null }))], [["r", "deny"]], ["gate-unreadable"]],
    ["an ask without a tool", [request("r", can({ tool_name: "" }))], [["r", "deny"]], ["gate-unreadable"]],
    ["an unknown subtype", [request("r", { subtype: "teleport" })], [["r", "error"]], ["control-refused"]],
    ["no request at all", [request("r", null)], [["r", "error"]], ["control-refused"]],
    [
      "an answer to nothing",
      [{ type: "control_response", response: { subtype: "success", request_id: "ghost", response: {} } }],
      [],
      [],
    ],
    ["a cancel of nothing", [{ type: "control_cancel_request", request_id: "ghost" }], [], []],
    [
      "the same unknown request twice",
      [request("r", { subtype: "x" }), request("r", { subtype: "x" })],
      [["r", "error"]],
      ["control-refused"],
    ],
  ];
  for (const [what, requests, answers, codes] of MALFORMED) {
    test(`C15: ${what} is answered as it has to be`, () => {
      const { of, written } = run(...requests);
      const got = written.map(({ response }) => [
        response?.request_id,
        /"deny"/.test(JSON.stringify(response)) ? "deny" : response?.subtype,
      ]);
      assert.deepEqual(got, answers);
      assert.deepEqual(
        of("protocol-error").map((error) => error.code),
        codes,
      );
      assert.deepEqual(of("hook"), []);
      assert.deepEqual(of("ask"), []);
    });
  }
});

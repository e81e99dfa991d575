#!/usr/bin/env node
// A `claude` that does nothing but what a measurement needs. BENCH_TASK is JSON:
//   { "kind": "events", "file": F }        writes the lines of F, in one go, then a result
//   { "kind": "gate", "calls": N, "via": "hook_callback" | "can_use_tool", "command": C, "out": F }
//                                          asks N times, one after the other; F gets the times in microseconds
//   { "kind": "quiet" }                    begins a turn and says nothing more
import { readFileSync, writeFileSync, writeSync } from "node:fs";

if (process.argv.includes("--version")) {
  console.log("2.1.268 (Claude Code)");
  process.exit(0);
}
const task = JSON.parse(process.env.BENCH_TASK ?? '{"kind":"quiet"}');
const sessionId = argument("--session-id") ?? argument("--resume") ?? "00000000-0000-4000-8000-000000000000";
const times = [];
let asked = 0n;
let carry = "";
let begun = false;

process.stdin.on("data", (chunk) => {
  const at = process.hrtime.bigint();
  carry += chunk.toString("utf8");
  const lines = carry.split("\n");
  carry = lines.pop() ?? "";
  for (const line of lines) if (line !== "") take(JSON.parse(line), at);
});
process.stdin.on("end", () => process.exit(0));

function take(message, at) {
  if (message.type === "control_request" && message.request.subtype === "initialize") {
    const response = {
      hooks_applied: true,
      current_permission_mode: "default",
      commands: [],
      models: [],
      agents: [],
      output_style: "default",
      available_output_styles: [],
      account: {},
    };
    send({ type: "control_response", response: { subtype: "success", request_id: message.request_id, response } });
    const hooks = message.request.hooks?.PreToolUse?.[0]?.hookCallbackIds;
    if (hooks) hookId = hooks[0];
  } else if (message.type === "control_request") {
    send({ type: "control_response", response: { subtype: "success", request_id: message.request_id, response: {} } });
  } else if (message.type === "user" && !begun) {
    begun = true;
    send({
      type: "system",
      subtype: "init",
      session_id: sessionId,
      uuid: uuid(0),
      cwd: process.cwd(),
      tools: ["Bash"],
      mcp_servers: [],
      model: "bench",
      permissionMode: "default",
      slash_commands: [],
      apiKeySource: "none",
      claude_code_version: "2.1.268",
      output_style: "default",
      agents: [],
      skills: [],
      plugins: [],
    });
    if (task.kind === "events") events();
    else if (task.kind === "gate") ask();
  } else if (message.type === "control_response" && task.kind === "gate") {
    times.push(Number(at - asked) / 1_000);
    // As Claude does: the call ran, its result is printed, and the model thinks before the next one.
    const toolUseId = `toolu_${String(times.length).padStart(24, "0")}`;
    const content = [{ type: "tool_result", tool_use_id: toolUseId, content: "ok", is_error: false }];
    send({
      type: "user",
      message: { role: "user", content },
      parent_tool_use_id: null,
      session_id: sessionId,
      uuid: uuid(1_000 + times.length),
    });
    if (times.length < task.calls) setTimeout(ask, 2);
    else {
      writeFileSync(task.out, JSON.stringify(times));
      result();
    }
  }
}

let hookId = "gate";

function ask() {
  const number = times.length + 1;
  const toolUseId = `toolu_${String(number).padStart(24, "0")}`;
  const input = { command: task.command, description: "a call" };
  const request =
    task.via === "can_use_tool"
      ? { subtype: "can_use_tool", tool_name: "Bash", input, tool_use_id: toolUseId, permission_suggestions: [] }
      : {
          subtype: "hook_callback",
          callback_id: hookId,
          tool_use_id: toolUseId,
          input: {
            session_id: sessionId,
            transcript_path: "/dev/null",
            cwd: process.cwd(),
            permission_mode: "default",
            hook_event_name: "PreToolUse",
            tool_name: "Bash",
            tool_input: input,
            tool_use_id: toolUseId,
          },
        };
  const line = `${JSON.stringify({ type: "control_request", request_id: `call-${number}`, request })}\n`;
  asked = process.hrtime.bigint();
  writeSync(1, line);
}

function events() {
  const bytes = readFileSync(task.file);
  for (let at = 0; at < bytes.length; ) at += put(bytes, at);
  result();
}

/** The pipe is set to non-blocking by some parents: then a full one says EAGAIN. */
function put(bytes, at) {
  try {
    return writeSync(1, bytes, at, Math.min(65_536, bytes.length - at));
  } catch (error) {
    if (error.code === "EAGAIN") return 0;
    throw error;
  }
}

function result() {
  send({
    type: "result",
    subtype: "success",
    is_error: false,
    result: "done",
    session_id: sessionId,
    uuid: uuid(1),
    num_turns: 1,
    duration_ms: 1,
    duration_api_ms: 1,
    total_cost_usd: 0,
    usage: { input_tokens: 1, output_tokens: 1 },
    permission_denials: [],
  });
}

function send(message) {
  const bytes = Buffer.from(`${JSON.stringify(message)}\n`);
  for (let at = 0; at < bytes.length; ) at += put(bytes, at);
}

function uuid(number) {
  return `00000000-0000-4000-9000-${String(number).padStart(12, "0")}`;
}

function argument(name) {
  const at = process.argv.findIndex((word) => word === name || word.startsWith(`${name}=`));
  if (at < 0) return undefined;
  const word = process.argv[at];
  return word.includes("=") ? word.slice(word.indexOf("=") + 1) : process.argv[at + 1];
}

/** The fake's mouth, ears and diary: protocol messages out, stdin in, facts on the side. */
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { appendFileSync, writeSync } from "node:fs";

export class FakeClaude {
  options = {};
  sessionId = argument("--session-id") ?? argument("--resume") ?? randomUUID();
  #inbox = [];
  #waiting = [];
  #tail = "";
  #ended = false;
  #toolUses = 0;

  constructor() {
    this.fact("start", {
      pid: process.pid,
      argv: process.argv.slice(2),
      env: Object.keys(process.env).sort(),
      cwd: process.cwd(),
    });
    process.stdin.on("data", (chunk) => this.#hear(chunk.toString("latin1")));
    process.stdin.on("end", () => {
      this.#ended = true;
      this.fact("stdin-end");
      this.#settle();
    });
    for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"]) {
      process.on(signal, () => {
        this.fact("signal", { signal });
        this.onSignal(signal);
      });
    }
  }

  /** A real Claude leaves with 143 after SIGTERM. */
  onSignal = (signal) => this.exit(signal === "SIGTERM" ? 143 : 0);

  /** Set: nobody reads us any more. Unset: that is an error. */
  onHangUp = undefined;

  fact(fact, more = {}) {
    if (process.env.FAKE_CLAUDE_FACTS === undefined) return;
    appendFileSync(process.env.FAKE_CLAUDE_FACTS, `${JSON.stringify({ fact, ...more })}\n`);
  }

  exit(code) {
    this.fact("exit", { code });
    process.exit(code);
  }

  /** Bytes as they are, written before it returns: a pipe that is full is waited for. */
  raw(data) {
    const bytes = Buffer.isBuffer(data) ? data : Buffer.from(data, "utf8");
    for (let at = 0; at < bytes.length; ) {
      try {
        at += writeSync(1, bytes, at);
      } catch (error) {
        if (error.code === "EPIPE" && this.onHangUp) return this.onHangUp();
        if (error.code !== "EAGAIN") throw error;
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
      }
    }
  }

  stderr(text) {
    writeSync(2, text);
  }

  emit(...messages) {
    this.raw(messages.map((message) => `${JSON.stringify(message)}\n`).join(""));
  }

  message(message) {
    this.emit({ session_id: this.sessionId, uuid: randomUUID(), ...message });
  }

  init(more = {}) {
    this.message({
      type: "system",
      subtype: "init",
      cwd: process.cwd(),
      tools: ["Bash"],
      model: "fake",
      permissionMode: "default",
      ...more,
    });
  }

  say(text, more = {}) {
    const content = [{ type: "text", text }];
    this.message({
      type: "assistant",
      message: { id: "msg_1", role: "assistant", content },
      parent_tool_use_id: null,
      ...more,
    });
  }

  toolUse(name, input, { id = `toolu_${++this.#toolUses}`, ...more } = {}) {
    const content = [{ type: "tool_use", id, name, input }];
    this.message({
      type: "assistant",
      message: { id: `msg_${id}`, role: "assistant", content },
      parent_tool_use_id: null,
      ...more,
    });
    return id;
  }

  toolResult(id, content, more = {}) {
    const block = { type: "tool_result", tool_use_id: id, content, ...more };
    this.message({ type: "user", message: { role: "user", content: [block] }, parent_tool_use_id: null });
  }

  result(more = {}) {
    this.message({
      type: "result",
      subtype: "success",
      is_error: false,
      num_turns: 1,
      result: "done",
      terminal_reason: "completed",
      permission_denials: [],
      total_cost_usd: 0.01,
      ...more,
    });
  }

  /** The next message from stdin that `matches`; `undefined` when stdin has ended before one came. */
  next(matches = () => true) {
    return new Promise((resolve) => {
      this.#waiting.push({ matches, resolve });
      this.#settle();
    });
  }

  /** Whether such a message has come and was not taken yet. */
  has(matches) {
    return this.#inbox.some(matches);
  }

  /** Resolves when stdin has ended. */
  async eof() {
    while ((await this.next(() => false)) !== undefined);
  }

  async handshake(more = {}) {
    const asked = await this.next((message) => message.request?.subtype === "initialize");
    if (asked === undefined) return;
    const response = {
      current_permission_mode: "default",
      hooks_applied: true,
      session_state: "idle",
      pid: process.pid,
      ...more,
    };
    this.emit({ type: "control_response", response: { subtype: "success", request_id: asked.request_id, response } });
  }

  /** The next prompt, acknowledged as the real one does. */
  async prompt() {
    const user = await this.next((message) => message.type === "user");
    if (user?.uuid !== undefined) {
      for (const state of ["queued", "started"])
        this.message({ type: "command_lifecycle", command_uuid: user.uuid, state });
    }
    return user;
  }

  /** Asks our PreToolUse hook; resolves with the control_response, or undefined when stdin ended first. */
  hook(toolName, toolInput, more = {}) {
    const { id = randomUUID(), toolUseId = this.toolUse(toolName, toolInput), ...rest } = more;
    this.emit({
      type: "control_request",
      request_id: id,
      request: {
        subtype: "hook_callback",
        callback_id: "gate",
        tool_use_id: toolUseId,
        input: {
          hook_event_name: "PreToolUse",
          session_id: this.sessionId,
          cwd: process.cwd(),
          permission_mode: "default",
          tool_name: toolName,
          tool_input: toolInput,
          tool_use_id: toolUseId,
          ...rest,
        },
      },
    });
    return this.answer(id);
  }

  ask(toolName, input, more = {}) {
    const id = more.id ?? randomUUID();
    this.emit({
      type: "control_request",
      request_id: id,
      request: {
        subtype: "can_use_tool",
        tool_name: toolName,
        input,
        tool_use_id: "toolu_ask",
        permission_suggestions: [],
        ...more,
      },
    });
    return this.answer(id);
  }

  async answer(id) {
    return (await this.next((message) => message.response?.request_id === id))?.response;
  }

  /** Answers interrupts with a cut-off turn, in the background. */
  async obeyInterrupts() {
    for (;;) {
      const asked = await this.next((message) => message.request?.subtype === "interrupt");
      if (asked === undefined) return;
      this.emit({
        type: "control_response",
        response: { subtype: "success", request_id: asked.request_id, response: { still_queued: [] } },
      });
      this.result({
        subtype: "error_during_execution",
        is_error: true,
        terminal_reason: "aborted_tools",
        result: undefined,
      });
    }
  }

  /** Starts a child and notes its pid. `detached`: in a session of its own. `inherit`: it holds our pipes open. */
  child(what, command, options = {}) {
    const child = spawn(command[0], command.slice(1), {
      stdio: options.inherit ? "inherit" : "ignore",
      detached: options.detached === true,
    });
    child.unref();
    this.fact("child", { what, pid: child.pid });
    return child;
  }

  async sleep(ms) {
    await new Promise((resolve) => setTimeout(resolve, ms));
  }

  #hear(text) {
    const lines = (this.#tail + text).split("\n");
    this.#tail = lines.pop();
    for (const latin of lines) {
      const line = Buffer.from(latin, "latin1").toString("utf8");
      this.fact("stdin", { line });
      try {
        this.#inbox.push(JSON.parse(line));
      } catch {
        // Recorded on 2.1.268: one malformed line ends it.
        this.stderr(`Error parsing streaming input line (type=unknown, ${line.length} chars): SyntaxError\n`);
        this.exit(1);
      }
    }
    this.#settle();
  }

  #settle() {
    for (const waiter of [...this.#waiting]) {
      const index = this.#inbox.findIndex(waiter.matches);
      if (index < 0 && !this.#ended) continue;
      this.#waiting.splice(this.#waiting.indexOf(waiter), 1);
      waiter.resolve(index < 0 ? undefined : this.#inbox.splice(index, 1)[0]);
    }
  }
}

function argument(flag) {
  return process.argv.find((word) => word.startsWith(`${flag}=`))?.slice(flag.length + 1);
}

import { closeSync, existsSync } from "node:fs";
import { session } from "./session.mjs";

/** The scenarios by name. Case ids are those of the project's failure list. */

/** Handshake, then a good turn a prompt until stdin ends. */
async function obedient(claude) {
  await claude.handshake();
  await turns(claude);
}

/** A good turn a prompt until stdin ends, then exit 0. */
async function turns(claude) {
  void claude.obeyInterrupts();
  for (let user = await claude.prompt(); user !== undefined; user = await claude.prompt()) {
    claude.init();
    claude.say("ok");
    claude.result();
    claude.message({ type: "command_lifecycle", command_uuid: user.uuid, state: "completed" });
  }
  claude.exit(0);
}

/** A handshake and one prompt, then `play`, then good turns until stdin ends. */
function afterPrompt(play) {
  return async (claude, options) => {
    await claude.handshake();
    const user = await claude.prompt();
    claude.init();
    await play(claude, options, user);
    await turns(claude);
  };
}

/** Prints nothing and reads nothing, for ever. */
async function silent(claude) {
  claude.onSignal = () => claude.exit(143);
  await new Promise(() => setInterval(() => undefined, 1 << 30));
}

/** Ends at once with words on stderr. `options`: `{ stderr, code, result? }`. */
async function exits(claude, options) {
  await claude.next();
  claude.stderr(options.stderr ?? "");
  if (options.result !== undefined) claude.result(options.result);
  claude.exit(options.code ?? 1);
}

/** A2, E3: reads the end of its input and SIGTERM, and does not care. `spin` burns a core. */
const stubborn = afterPrompt(async (claude, options) => {
  claude.onSignal = () => undefined;
  claude.result();
  if (options.spin) for (;;) claude.options = {};
  await claude.eof();
  await new Promise(() => setInterval(() => undefined, 1 << 30));
});

/** A5: `count` bytes in one line; without its end when `endless`. */
const wideLine = afterPrompt(async (claude, options) => {
  const piece = Buffer.alloc(65536, "x");
  claude.raw('{"type":"assistant","message":{"id":"m","role":"assistant","content":[{"type":"text","text":"');
  for (let left = options.count; left > 0; left -= piece.length)
    claude.raw(piece.subarray(0, Math.min(left, piece.length)));
  if (options.endless) return;
  claude.raw('"}]}}\n');
  claude.result();
});

/** A4: one assistant message of `pieces` ([text, count]); so that a test can put a text anywhere in a line. */
const builtText = afterPrompt(async (claude, options) => {
  const text = options.pieces.map(([piece, count]) => piece.repeat(count)).join("");
  claude.raw(
    `{"type":"assistant","message":{"id":"m","role":"assistant","content":[{"type":"text","text":"${text}"}]}}\n`,
  );
  claude.result();
});

/** Many small events. */
const flood = afterPrompt(async (claude, options) => {
  for (let sent = 0; sent < options.count; sent += 1000) {
    const lines = Array.from(
      { length: Math.min(1000, options.count - sent) },
      (_, i) =>
        `{"type":"assistant","uuid":"flood-${sent + i}","message":{"content":[{"type":"text","text":"event ${sent + i}"}]}}\n`,
    );
    claude.raw(lines.join(""));
  }
  claude.result();
});

/** A8: `text` in an assistant message, one byte a write. */
const bytewise = afterPrompt(async (claude, options) => {
  const line = Buffer.from(
    `${JSON.stringify({ type: "assistant", message: { content: [{ type: "text", text: options.text }] } })}\n`,
  );
  for (let at = 0; at < line.length; at++) {
    claude.raw(line.subarray(at, at + 1));
    if (at % 16 === 0) await claude.sleep(0);
  }
  claude.result();
});

/** A10: a byte order mark, CRLF and blank lines from the first byte on. */
async function windows(claude) {
  const emit = claude.emit.bind(claude);
  claude.raw("\ufeff");
  claude.emit = (...messages) => {
    for (const message of messages) claude.raw(`\r\n${JSON.stringify(message)}\r\n\n`);
  };
  await claude.handshake();
  await claude.prompt();
  claude.say("crossed");
  claude.result();
  claude.emit = emit;
  await turns(claude);
}

/** Prints the texts of `options.lines` as they are, then a result. */
const lines = afterPrompt(async (claude, options) => {
  for (const line of options.lines) claude.raw(`${line}\n`);
  claude.result();
});

/** A15: cuts its input and complains when a user line comes before its answer to `initialize`. */
async function handshakeFirst(claude) {
  const asked = await claude.next((message) => message.request?.subtype === "initialize");
  await claude.sleep(200);
  if (claude.has((message) => message.type === "user")) {
    claude.stderr("Error parsing streaming input line\n");
    claude.exit(1);
  }
  const response = { current_permission_mode: "default", hooks_applied: true };
  claude.emit({ type: "control_response", response: { subtype: "success", request_id: asked.request_id, response } });
  await turns(claude);
}

/** B1: gives up when no user line comes within 3 s. */
async function impatient(claude) {
  const late = setTimeout(() => claude.exit(1), 3000);
  await claude.handshake();
  await claude.prompt();
  clearTimeout(late);
  claude.result();
  await turns(claude);
}

/** C4, hostile answers to the handshake: `options` is merged into the reply. */
async function oddHandshake(claude, options) {
  await claude.handshake(options);
  await turns(claude);
}

/** C1: after the result a background task is done and asks; if stdin has ended by then the ask fails, and fails. */
const lateAsk = afterPrompt(async (claude) => {
  claude.message({
    type: "system",
    subtype: "background_tasks_changed",
    tasks: [{ task_id: "b1", task_type: "local_bash", description: "build" }],
  });
  claude.result();
  await claude.sleep(50);
  claude.message({ type: "system", subtype: "background_tasks_changed", tasks: [] });
  const answer = await claude.hook("Bash", { command: "ls" });
  claude.fact("note", { lateAnswer: answer ?? "stdin ended" });
  claude.result({ result: "second" });
});

/** C5, C7, C14: asks by hook and by can_use_tool, and judges the shape of each answer as strictly as the real one. */
const strict = afterPrompt(async (claude, options) => {
  for (const [index, kind] of options.kinds.entries()) {
    const input = { command: `command ${index}` };
    const suggestions = [
      { type: "addRules", rules: [{ toolName: "Bash" }], behavior: "allow", destination: "localSettings" },
    ];
    const answer =
      kind === "hook"
        ? await claude.hook("Bash", input)
        : await claude.ask("Bash", input, { permission_suggestions: suggestions });
    claude.fact("note", { answer, fault: faultOf(kind, answer) });
  }
  claude.result();
});

function faultOf(kind, answer) {
  if (answer?.subtype !== "success") return "an error lets a hooked call go on";
  const body = answer.response;
  if (kind === "hook") {
    const output = body.hookSpecificOutput ?? {};
    if (output.hookEventName !== "PreToolUse") return "hookEventName";
    if (!["allow", "deny", "defer"].includes(output.permissionDecision)) return "permissionDecision";
    if (output.permissionDecision === "deny" && !output.permissionDecisionReason) return "a deny without a reason";
    return null;
  }
  if (body.updatedPermissions !== undefined) return "suggestions were sent back";
  if (body.behavior === "allow")
    return typeof body.updatedInput === "object" && body.updatedInput !== null ? null : "updatedInput";
  return body.behavior === "deny" && body.message ? null : "a deny without a message";
}

/** C3, C13: a tool runs that nobody was asked about. */
const ungated = afterPrompt(async (claude, options) => {
  const id = claude.toolUse(
    "Bash",
    { command: "rm -rf build" },
    options.parent ? { parent_tool_use_id: options.parent } : {},
  );
  claude.toolResult(id, "removed");
  claude.result();
});

/** C15 and repeated ids: sends the control requests of `options.requests` as they are and notes the answers of 100 ms. */
const rawControl = afterPrompt(async (claude, options) => {
  claude.emit(...options.requests);
  await claude.sleep(100);
  claude.result();
});

/** One hook call and its cancellation before any answer. */
const cancelled = afterPrompt(async (claude) => {
  const answer = claude.hook("Bash", { command: "ls" }, { id: "to-cancel" });
  claude.emit({ type: "control_cancel_request", request_id: "to-cancel" });
  await Promise.race([answer.then((got) => claude.fact("note", { answeredAfterCancel: got })), claude.sleep(200)]);
  claude.result();
});

/** Holds one hook call open until it is answered, and notes the answer. */
const holds = afterPrompt(async (claude) => {
  claude.fact("note", { answer: (await claude.hook("Bash", { command: "ls" })) ?? "stdin ended" });
  claude.result();
});

/** D15: half an assistant message, then exit 143. */
const breaksOff = afterPrompt(async (claude) => {
  claude.raw('{"type":"assistant","message":{"id":"m","role":"assistant","content":[{"type":"te');
  claude.exit(143);
});

/** E1, E2, E6: starts children of `options.kinds`, says so, and leaves (or stays until it is stopped). */
const parent = afterPrompt(async (claude, options) => {
  for (const kind of options.kinds) {
    if (kind === "group") claude.child(kind, ["sleep", "600"]);
    if (kind === "pipes") claude.child(kind, ["sleep", "600"], { inherit: true });
    if (kind === "setsid") claude.child(kind, ["sleep", "600"], { detached: true });
    if (kind === "daemon") claude.child(kind, ["sh", "-c", "(setsid sleep 600 &) ; exit 0"], { detached: true });
  }
  claude.result();
  if (options.leave) claude.exit(0);
});

/** E8: talks without end. */
const chatters = afterPrompt(async (claude) => {
  for (;;) {
    claude.say("and another thing");
    await claude.sleep(1);
  }
});

/** Stops reading its input: the pipe fills up. */
const deaf = afterPrompt(async (claude) => {
  process.stdin.pause();
  claude.fact("note", { deaf: true });
  await new Promise(() => setInterval(() => undefined, 1 << 30));
});

/** Closes its end of stdin and stays: our next write gets EPIPE. */
const hangsUp = afterPrompt(async (claude) => {
  process.stdin.pause();
  closeSync(0);
  claude.result();
  await new Promise(() => setInterval(() => undefined, 1 << 30));
});

/**
 * What each prompt's words ask for: `ask` a call that a person answers, `stay` a turn that ends with its input, `wait:PATH` one
 * that ends when that file is there.
 */
async function errands(claude) {
  claude.onHangUp = () => claude.exit(1);
  await claude.handshake();
  void claude.obeyInterrupts();
  for (let user = await claude.prompt(); user !== undefined; user = await claude.prompt()) {
    const text = String(user.message.content);
    const { sessionId } = claude;
    claude.fact("prompt", { sessionId, promptId: user.uuid, text, pid: process.pid });
    claude.init();
    if (text.includes(" ask ")) {
      const answer = await claude.hook("Bash", { command: "node gen.mjs" });
      const said = answer?.response?.hookSpecificOutput?.permissionDecision ?? "nothing";
      claude.fact("note", { answered: text, said });
    }
    if (text.includes(" stay ")) await claude.eof();
    const awaited = / wait:(\S+)/.exec(text)?.[1];
    while (awaited !== undefined && !existsSync(awaited)) await claude.sleep(5);
    claude.say("ok");
    claude.result();
  }
  claude.exit(0);
}

/** Plain text mode (process-pipe): reads all of stdin, answers, leaves. */
async function text(claude) {
  const name = process.env.FAKE_CLAUDE_SCENARIO;
  if (name === "silent") return silent(claude);
  const pieces = [];
  process.stdin.on("data", (chunk) => pieces.push(chunk));
  await new Promise((resolve) => process.stdin.once("end", resolve));
  const said = Buffer.concat(pieces).toString("utf8");
  claude.fact("note", { said });
  if (name === "exits") {
    claude.stderr("it broke\n");
    claude.exit(1);
  }
  claude.raw(`you said: ${said}\n`);
  claude.exit(0);
}

export const scenarios = {
  breaksOff,
  builtText,
  bytewise,
  cancelled,
  chatters,
  deaf,
  errands,
  exits,
  flood,
  handshakeFirst,
  hangsUp,
  holds,
  impatient,
  lateAsk,
  lines,
  obedient,
  oddHandshake,
  parent,
  rawControl,
  session,
  silent,
  strict,
  stubborn,
  text,
  turns,
  ungated,
  wideLine,
  windows,
};

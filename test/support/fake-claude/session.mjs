/**
 * A `claude` with a memory: its session is a file, as the real one's is, and a work list says what it asks for. It is
 * the outside that crash tests look at: what it was told, what it asked, what it ran, each with its process.
 *
 * Facts of 2.1.268 that it keeps to: the session file appears a moment after the first prompt, and at SIGTERM at the
 * latest; `--resume` of a session that never got one ends with "No conversation found" and exit code 1; a call that was
 * cut off is asked anew by the resumed session under another id.
 */
import { randomUUID } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/**
 * `options`: `{ sessions, work = [], saveAfterMs = 30, alone = false }`. `sessions` is a folder. With `alone` no two of
 * them may live at once, in whatever session. `work` is a list of calls, made in order,
 * each once a session: `{ name, command, after?, writes? }`. A call is due once a prompt of the session held the text
 * `after`, at once without it. One that is allowed and `writes` a file (relative path) has written it when it is done.
 */
export async function session(claude, options) {
  const memory = new Memory(claude, options);
  const resumed = process.argv.some((word) => word.startsWith("--resume="));
  const known = memory.load();
  if (resumed && !known) {
    await claude.next();
    claude.stderr(`No conversation found with session ID: ${claude.sessionId}\n`);
    claude.exit(1);
  }
  if (!resumed && known) {
    await claude.next();
    claude.stderr(`Error: Session ID ${claude.sessionId} is already in use.\n`);
    claude.exit(1);
  }
  memory.enter();
  claude.onSignal = (signal) => {
    memory.save();
    claude.exit(signal === "SIGTERM" ? 143 : 0);
  };
  claude.onHangUp = () => {
    memory.save();
    claude.exit(1);
  };
  await claude.handshake();
  void claude.obeyInterrupts();
  for (let user = await claude.prompt(); user !== undefined; user = await claude.prompt()) {
    memory.hear(user);
    claude.init();
    memory.saveSoon();
    await work(claude, memory, options.work ?? []);
    claude.say("That is that.");
    claude.result();
    memory.save();
    claude.message({ type: "command_lifecycle", command_uuid: user.uuid, state: "completed" });
  }
  memory.save();
  claude.exit(0);
}

async function work(claude, memory, calls) {
  for (const { name, command, after, writes } of calls) {
    if (memory.isDone(name) || (after !== undefined && !memory.heard(after))) continue;
    const callId = randomUUID();
    const toolUseId = claude.toolUse("Bash", { command }, { id: `toolu_${randomUUID()}` });
    claude.fact("call", { name, callId, toolUseId, pid: process.pid });
    const answer = await claude.hook("Bash", { command }, { id: callId, toolUseId });
    const said = answer?.response?.hookSpecificOutput?.permissionDecision;
    // Without an answer our input has ended, which does not end a turn (2.1.268): it waits for SIGTERM.
    if (said === undefined) await new Promise(() => setInterval(() => undefined, 1 << 30));
    claude.fact("answered", { name, callId, toolUseId, said, pid: process.pid });
    if (said === "allow" && writes !== undefined) writeFileSync(join(process.cwd(), writes), `${name}\n`);
    memory.finish(name);
    claude.toolResult(toolUseId, said === "allow" ? "ran" : "denied", said === "allow" ? {} : { is_error: true });
  }
}

class Memory {
  #claude;
  #file;
  #owner;
  #saveAfterMs;
  #alone;
  #known = { prompts: [], done: [] };

  constructor(claude, { sessions, saveAfterMs = 30, alone = false }) {
    mkdirSync(sessions, { recursive: true });
    this.#claude = claude;
    this.#file = join(sessions, `${claude.sessionId}.json`);
    this.#owner = join(sessions, `${claude.sessionId}.pid`);
    this.#saveAfterMs = saveAfterMs;
    this.#alone = alone ? join(sessions, "alone.pid") : undefined;
  }

  load() {
    if (!existsSync(this.#file)) return false;
    this.#known = JSON.parse(readFileSync(this.#file, "utf8"));
    return true;
  }

  /** Notes when another process is still alive in this very session, or at all where it should be alone. */
  enter() {
    for (const file of [this.#owner, this.#alone]) {
      if (file === undefined) continue;
      const before = existsSync(file) ? Number(readFileSync(file, "utf8")) : 0;
      if (before > 0 && before !== process.pid && isRunning(before)) {
        this.#claude.fact("overlap", { sessionId: this.#claude.sessionId, pid: process.pid, other: before });
      }
      writeFileSync(file, String(process.pid));
    }
  }

  hear(user) {
    const text = typeof user.message.content === "string" ? user.message.content : JSON.stringify(user.message.content);
    this.#known.prompts.push(text);
    const { sessionId } = this.#claude;
    this.#claude.fact("prompt", { sessionId, promptId: user.uuid, text, pid: process.pid });
  }

  heard(text) {
    return this.#known.prompts.some((prompt) => prompt.includes(text));
  }

  isDone(name) {
    return this.#known.done.includes(name);
  }

  finish(name) {
    this.#known.done.push(name);
    if (existsSync(this.#file)) this.save();
  }

  saveSoon() {
    setTimeout(() => this.save(), this.#saveAfterMs).unref();
  }

  save() {
    if (this.#known.prompts.length === 0) return;
    const temporary = `${this.#file}.${process.pid}`;
    writeFileSync(temporary, JSON.stringify(this.#known));
    renameSync(temporary, this.#file);
  }
}

/** A zombie does not count: it does nothing any more. */
function isRunning(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return !/^[ZX]/.test(stat.slice(stat.lastIndexOf(")") + 2));
  } catch {
    return false;
  }
}

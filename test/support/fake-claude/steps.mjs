/**
 * A scenario as data, for tests that make their own: a list of steps, played in order. After the last one the fake goes
 * on as `obedient` does.
 *
 *     [{ "handshake": {} }, { "prompt": true }, { "init": {} }, { "hook": { "tool": "Bash", "input": { "command": "ls" } } },
 *      { "say": "hello" }, { "emit": { "type": "future" } }, { "raw": "noise\n" }, { "sleep": 50 }, { "result": {} },
 *      { "child": { "what": "server", "command": ["sleep", "600"], "detached": true } }, { "obey": true }, { "eof": true }, { "exit": 0 }]
 */
import { existsSync } from "node:fs";
import { scenarios } from "./scenarios.mjs";

const PLAY = {
  handshake: (claude, more) => claude.handshake(more === true ? {} : more),
  /** `"new"`: only where the session begins; a resumed one may have a deferred call to ask again first. */
  prompt: (claude, when) => {
    const resumed = process.argv.some((word) => word.startsWith("--resume"));
    return when === "new" && resumed ? undefined : claude.prompt();
  },
  init: (claude, more) => claude.init(more),
  say: (claude, text) => claude.say(text),
  emit: (claude, message) => claude.emit(message),
  message: (claude, message) => claude.message(message),
  raw: (claude, text) => claude.raw(text),
  stderr: (claude, text) => claude.stderr(text),
  result: (claude, more) => claude.result(more),
  toolUse: (claude, call) => void claude.toolUse(call.tool, call.input),
  hook: async (claude, { tool, input, ...more }) => {
    claude.fact("note", { hook: await claude.hook(tool, input, more) });
  },
  ask: async (claude, { tool, input, ...more }) => {
    claude.fact("note", { ask: await claude.ask(tool, input, more) });
  },
  child: (claude, { what, command, ...options }) => void claude.child(what, command, options),
  sleep: (claude, ms) => claude.sleep(ms),
  /** Goes on once this file is there (in the worker's folder, or by its whole path). */
  waitFile: async (claude, path) => {
    while (!existsSync(path)) await claude.sleep(20);
  },
  obey: (claude) => void claude.obeyInterrupts(),
  eof: (claude) => claude.eof(),
  exit: (claude, code) => claude.exit(code),
};

export async function playSteps(claude, steps) {
  for (const step of steps) {
    for (const [name, value] of Object.entries(step)) {
      const play = PLAY[name];
      if (play === undefined) throw new Error(`fake claude: no step "${name}"`);
      await play(claude, value);
    }
  }
  await scenarios.turns(claude);
}

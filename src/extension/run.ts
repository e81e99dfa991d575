/** Runs one `/supervise` command: parse, open the supervisor, run, answer exactly once. Never throws. */
import { randomBytes } from "node:crypto";
import { createRedactor } from "../redaction/index.ts";
import { type Answer, type BadAnswer, EXIT } from "./answer.ts";
import { commands, needsSupervisor } from "./commands/index.ts";
import { type BadCall, type Call, parseCall } from "./parse/parse.ts";
import type { CommandName } from "./parse/spec.ts";
import type { PiPort, Place } from "./pi-port.ts";
import { whileShown } from "./progress.ts";
import { deliver, getHub, openSupervisor } from "./session-binding.ts";

/** With `--json`, programs get an answer within 15 s whatever happens; these commands may take their own time. */
const ANSWER_MS = 14_000;
const UNHURRIED: ReadonlySet<string> = new Set([
  "start",
  "verify",
  "stop",
  "kill",
  "pause",
  "resume",
  "recover",
  "estop",
]);

/** What may take longer than a moment, as the status line says it meanwhile. */
const LONG: Readonly<Partial<Record<CommandName, (id: string) => string>>> = {
  verify: (id) => `verifying ${id}`,
  recover: (id) => `recovering ${id}`,
  resume: (id) => `resuming ${id}`,
  handback: (id) => `handing ${id} back`,
  pause: (id) => `pausing ${id}`,
  stop: (id) => `stopping ${id}`,
  kill: (id) => `ending ${id}`,
  replay: (id) => `computing ${id} again`,
  report: () => "reading the log",
  doctor: () => "looking at Claude, containment and folders",
};

/** `place` was read while the command's `ctx` was fresh; from here on only the port reaches Pi. */
export async function runCommand(input: string, place: Place, port: PiPort): Promise<void> {
  const call = parseCall(input);
  const answer = withoutSecrets(call.ok ? await answerOf(call, place, port) : badCall(call));
  const text = call.json ? jsonLine(call.command, answer) : answer.ok ? answer.text : answer.message;
  if (call.json) port.forget();
  if (text !== "") deliver(port, text, answer.ok ? (answer.level ?? "info") : call.json ? "info" : "error");
  if (!port.interactive) setExitCode(answer.exitCode ?? (answer.ok ? EXIT.done : EXIT.failed));
}

async function answerOf(call: Call, place: Place, port: PiPort): Promise<Answer | BadAnswer> {
  try {
    const running = runOnce(call, place, port);
    return call.json && !UNHURRIED.has(call.command) ? await inTime(call, running) : await running;
  } catch (error) {
    const what = error instanceof Error ? error.message : String(error);
    return { ok: false, reason: "internal-error", message: `${call.command} failed unexpectedly: ${what}` };
  }
}

async function runOnce(call: Call, place: Place, port: PiPort): Promise<Answer | BadAnswer> {
  const hub = getHub();
  const scene = { call, ...place, port, hub };
  const run = await commands[call.command]();
  const act = async (): Promise<Answer | BadAnswer> => {
    if (!needsSupervisor(call.command)) return run(scene, undefined);
    const opened = await openSupervisor(hub);
    return opened.ok ? run(scene, opened.supervisor) : opened;
  };
  // Only what looks like an id is shown: what was typed in its place may be a secret, and is refused in a moment anyway.
  const [typed = ""] = call.args;
  const what = LONG[call.command]?.(/^t-[0-9a-z]{1,24}$/.test(typed) ? typed : "it");
  return what === undefined || call.json ? act() : whileShown(port, what, act);
}

async function inTime(call: Call, running: Promise<Answer | BadAnswer>): Promise<Answer | BadAnswer> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<BadAnswer>((resolve) => {
    timer = setTimeout(
      () =>
        resolve({
          ok: false,
          reason: "no-answer-yet",
          message: `${call.command} did not finish within ${ANSWER_MS / 1_000} s and goes on. Look with /supervise status.`,
        }),
      ANSWER_MS,
    );
  });
  try {
    return await Promise.race([running, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** An error says back what was typed; a secret among it stays out of Pi's transcript. */
function withoutSecrets(answer: Answer | BadAnswer): Answer | BadAnswer {
  if (answer.ok) return answer;
  const redactor = createRedactor({ salt: randomBytes(16).toString("hex") });
  return redactor.data(answer);
}

function badCall(call: BadCall): BadAnswer {
  return { ok: false, reason: call.reason, message: call.message, exitCode: EXIT.usage };
}

function jsonLine(command: string, answer: Answer | BadAnswer): string {
  return answer.ok
    ? JSON.stringify({ ...answer.fields, ok: true, command })
    : JSON.stringify({ ...answer.fields, ok: false, command, reason: answer.reason, message: answer.message });
}

/** Pi leaves `process.exitCode` alone unless its own is not 0 (both lines); a later command never hides a failure. */
function setExitCode(code: number): void {
  if (code !== 0 || process.exitCode === undefined) process.exitCode = code;
}

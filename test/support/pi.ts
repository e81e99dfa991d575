/**
 * Drives the real Pi of either line over its RPC mode (JSON lines on standard input and output).
 *
 *     const pi = await startPi({ lab, modelServer, line: "0.73.1", cwd });
 *     const started = await pi.run('/supervise start Fix it --mode auto --verify "node --test" --json');
 *     await pi.quit();
 *
 * A command with `--json` shows exactly one `notify` whose message is a JSON object with a `command` field; which answer
 * belongs to which of several open commands is decided in pi-answers.ts.
 *
 * **Extension errors are loud.** An `extension_error` event rejects every open command and makes `quit`, `kill` and the
 * lab's clean-up throw, unless the test took it with `takeExtensionErrors()`.
 */
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { JsonLines } from "./json-lines.ts";
import { type Json, type OpenCommand, PiAnswers } from "./pi-answers.ts";
import { type DialogAnswer, exitOf, type PiExit, type UiRequest, userText } from "./pi-protocol.ts";
import { type PiLine, type PiSetup, preparePi } from "./pi-setup.ts";
import { until, within } from "./until.ts";

export type { Json } from "./pi-answers.ts";
export type { DialogAnswer, PiExit, UiRequest } from "./pi-protocol.ts";
export type { PiLine } from "./pi-setup.ts";

export interface StartPiOptions extends PiSetup {
  /** Called for each dialog. An answer is sent at once; `undefined` leaves the dialog open for `answer()`. */
  onDialog?: (dialog: UiRequest) => DialogAnswer | undefined;
  /** Called for everything the extension shows or asks, after it was recorded. */
  onUi?: (request: UiRequest) => void;
}

export interface RunOptions {
  /** Milliseconds until `run` rejects. Default 30,000 (a harness bound, more than the product may take). */
  deadlineMs?: number;
}

export interface Pi {
  readonly line: PiLine;
  readonly pid: number;
  /** Everything that was shown or asked, oldest first. */
  readonly ui: readonly UiRequest[];
  /** Other events of Pi (agent_start, message_end, …). */
  readonly events: readonly Json[];
  /** JSON answers that no command waited for. */
  readonly unclaimed: readonly Json[];
  readonly exited: Promise<PiExit>;
  /** Runs one slash command with `--json` and resolves with its answer. */
  run(command: string, options?: RunOptions): Promise<Json>;
  /** Runs one slash command and resolves, once its handler has returned, with the texts it notified meanwhile. */
  runForPeople(command: string, options?: RunOptions): Promise<string[]>;
  /** Sends any RPC command and resolves with its response (`success: false` rejects). */
  request(message: Json, options?: RunOptions): Promise<Json>;
  /** Replaces Pi's session, as `/new` does. */
  newSession(options?: RunOptions): Promise<Json>;
  /** Answers an open dialog. */
  answer(dialog: UiRequest, answer: DialogAnswer): void;
  /** Dialogs not answered yet. */
  openDialogs(): UiRequest[];
  /** The first shown or asked thing, past or future, that `matches`. */
  waitForUi(matches: (request: UiRequest) => boolean, deadlineMs: number, what: string): Promise<UiRequest>;
  notifications(): string[];
  /** Present text of a status key, or undefined. */
  status(key: string): string | undefined;
  /** Present lines of a widget, or undefined. */
  widget(key: string): readonly string[] | undefined;
  /** Standard error so far (its last MiB). */
  stderr(): string;
  /** Returns the extension errors seen so far and no longer counts them as failures. */
  takeExtensionErrors(): Json[];
  /** Ends standard input, as a closing client does; resolves with the exit. */
  quit(deadlineMs?: number): Promise<PiExit>;
  /** SIGKILL; resolves with the exit. */
  kill(): Promise<PiExit>;
}

const STDERR_KEPT = 1024 * 1024;
const DIALOGS = new Set(["select", "confirm", "input", "editor"]);

/** Starts Pi and resolves once it answers. Throws when this machine can't run the line (see `findNode22`). */
export async function startPi(options: StartPiOptions): Promise<Pi> {
  const launch = await preparePi(options);
  options.lab.assertOpen();
  const child = spawn(launch.file, [...launch.args, "--mode", "rpc", "--no-session"], {
    cwd: options.cwd,
    env: launch.env,
    stdio: ["pipe", "pipe", "pipe"],
  });
  const pi = drive(child, options);
  options.lab.defer(() => pi.quit());
  try {
    await pi.request({ type: "get_state" }, { deadlineMs: 60_000 });
  } catch (error) {
    if (child.pid !== undefined) child.kill("SIGKILL");
    await pi.exited;
    throw error;
  }
  return pi;
}

function drive(child: ChildProcessWithoutNullStreams, options: StartPiOptions): Pi {
  const ui: UiRequest[] = [];
  const events: Json[] = [];
  const errors: Json[] = [];
  const statuses = new Map<string, string | undefined>();
  const widgets = new Map<string, readonly string[] | undefined>();
  const dialogs = new Map<string, UiRequest>();
  const answers = new PiAnswers();
  const responses = new Map<string, { resolve: (answer: Json) => void; reject: (error: Error) => void }>();
  const lines = new JsonLines();
  let stderr = "";
  let nextId = 0;

  const write = (message: Json) => void child.stdin.write(`${JSON.stringify(message)}\n`);
  child.stdin.on("error", () => undefined); // EPIPE after Pi's end: the exit says more
  child.stdout.on("data", (chunk: Buffer) => {
    for (const message of lines.push(chunk)) receive(message);
  });
  child.stderr.on("data", (chunk: Buffer) => {
    stderr = (stderr + chunk.toString("utf8")).slice(-STDERR_KEPT);
  });
  const exited = exitOf(child);
  exited.then(
    ({ code, signal }) => {
      failAll(new Error(`Pi ended (${signal ?? `exit code ${code}`}) before it answered. ${stderr.slice(-2_000)}`));
    },
    (error: Error) => failAll(error),
  );

  function failAll(error: Error): void {
    answers.rejectAll(error);
    for (const [id, waiting] of responses) {
      responses.delete(id);
      waiting.reject(error);
    }
  }

  function receive(message: Record<string, unknown>): void {
    switch (message.type) {
      case "response": {
        const waiting = responses.get(String(message.id));
        responses.delete(String(message.id));
        if (message.success === true) waiting?.resolve(message);
        else waiting?.reject(new Error(`Pi refused ${String(message.command)}: ${String(message.error)}`));
        return;
      }
      case "extension_ui_request":
        show(message as unknown as UiRequest);
        return;
      case "extension_error":
        errors.push(message);
        failAll(new Error(`Extension error in ${String(message.extensionPath)}: ${String(message.error)}`));
        return;
      case "message_start": {
        events.push(message);
        const prompt = userText(message.message);
        if (prompt) answers.reject(prompt, new Error(`Pi took "${prompt}" for a prompt: is the extension loaded?`));
        return;
      }
      default:
        events.push(message);
    }
  }

  function show(request: UiRequest): void {
    ui.push(request);
    if (request.method === "setStatus" && request.statusKey) statuses.set(request.statusKey, request.statusText);
    if (request.method === "setWidget" && request.widgetKey) widgets.set(request.widgetKey, request.widgetLines);
    if (request.method === "notify") answers.take(request.message ?? "");
    if (DIALOGS.has(request.method)) {
      dialogs.set(request.id, request);
      const answer = options.onDialog?.(request);
      if (answer) pi.answer(request, answer);
    }
    options.onUi?.(request);
  }

  const pi: Pi = {
    line: options.line,
    pid: child.pid ?? -1,
    ui,
    events,
    unclaimed: answers.unclaimed,
    exited,
    async run(command, { deadlineMs = 30_000 } = {}) {
      const [, word = "", ...args] = command.split(/\s+/);
      let waiting: OpenCommand | undefined;
      const answered = new Promise<Json>((resolve, reject) => {
        waiting = { text: command, word, args, resolve, reject };
        answers.open(waiting);
      });
      answered.catch(() => undefined);
      try {
        pi.request({ type: "prompt", message: command }, { deadlineMs }).catch((error: Error) =>
          waiting?.reject(error),
        );
        return await within(answered, deadlineMs, () => `an answer to "${command}"; ${situation()}`);
      } finally {
        if (waiting) answers.close(waiting);
      }
    },
    async runForPeople(command, options) {
      const from = ui.length;
      await pi.request({ type: "prompt", message: command }, options);
      return ui.slice(from).flatMap((request) => (request.method === "notify" ? [request.message ?? ""] : []));
    },
    request(message, { deadlineMs = 30_000 } = {}) {
      const id = `rpc-${++nextId}`;
      const answered = new Promise<Json>((resolve, reject) => responses.set(id, { resolve, reject }));
      write({ ...message, id });
      return within(answered, deadlineMs, () => `Pi's response to ${JSON.stringify(message)}; ${situation()}`);
    },
    newSession: (options) => pi.request({ type: "new_session" }, options),
    answer(dialog, answer) {
      if (!dialogs.delete(dialog.id))
        throw new Error(`The dialog "${dialog.title ?? dialog.id}" was answered already.`);
      write({ type: "extension_ui_response", id: dialog.id, ...answer });
    },
    openDialogs: () => [...dialogs.values()],
    waitForUi: (matches, deadlineMs, what) =>
      until(
        () => ui.find(matches),
        deadlineMs,
        () => `${what}; ${situation()}`,
      ),
    notifications: () => ui.flatMap((request) => (request.method === "notify" ? [request.message ?? ""] : [])),
    status: (key) => statuses.get(key),
    widget: (key) => widgets.get(key),
    stderr: () => stderr,
    takeExtensionErrors: () => errors.splice(0),
    async quit(deadlineMs = 15_000) {
      child.stdin.end();
      const exit = await within(exited, deadlineMs, () => `Pi's exit after end of input; ${situation()}`).catch(
        async (error: unknown) => {
          if (child.pid !== undefined) child.kill("SIGKILL");
          await exited;
          throw error;
        },
      );
      throwExtensionErrors();
      return exit;
    },
    async kill() {
      if (child.pid !== undefined) child.kill("SIGKILL");
      const exit = await exited;
      throwExtensionErrors();
      return exit;
    },
  };

  function throwExtensionErrors(): void {
    if (errors.length > 0) throw new Error(`Extension errors in Pi ${options.line}: ${JSON.stringify(errors)}`);
  }

  function situation(): string {
    const shown = ui.slice(-3).map((request) => request.message ?? request.title ?? request.method);
    return [
      `last shown: ${JSON.stringify(shown).slice(0, 1_500)}`,
      ...(stderr === "" ? [] : [`stderr: ${stderr.slice(-1_000)}`]),
    ].join("; ");
  }

  return pi;
}

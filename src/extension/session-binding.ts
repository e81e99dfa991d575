/**
 * Holds what must outlive a session of Pi: the supervisor with its tasks, and the port to the present session. It lives
 * on `globalThis`, because Pi 0.73.1 evaluates this module again at `/new` (both lines at `/reload`), and tasks go on.
 *
 * Every handler is idempotent: on 0.73.1 `session_start` comes twice for a new session. A second Pi session in the same
 * process (another extension's subagent) never takes the first one's place, and its end stops nothing.
 */
import type { ExtensionContext, SessionShutdownEvent } from "@mariozechner/pi-coding-agent";
import { failure, type Result } from "../core/result.ts";
import type { Supervisor } from "../supervisor/api.ts";
import { lazy } from "./lazy.ts";
import { type Level, openPort, type PiPort } from "./pi-port.ts";
import type { Transcript } from "./transcript.ts";

/** One call of the extension factory: the identity of a session's extension instance. */
export interface Instance {
  readonly startedAt: number;
  /** Absent: milestones are told as notices. */
  readonly transcript?: Transcript;
}

/** Another version of this package may have been loaded before a `/reload`: what it left has another shape. */
const VERSION = 3;

/** What is kept of a `ctx`: neither of the two ends with its session (both lines). */
export type Models = Pick<ExtensionContext, "model" | "modelRegistry">;

export interface Hub {
  readonly version: typeof VERSION;
  /** The supervisor, once a command has opened it. */
  supervisor: Supervisor | undefined;
  opening: Promise<Result<{ supervisor: Supervisor }>> | undefined;
  /** The instance whose session has the port. */
  owner: Instance | undefined;
  port: PiPort | undefined;
  /** Folder of that session. */
  cwd: string | undefined;
  /** Answers that became ready between two sessions (at most 50). */
  waiting: { text: string; level: Level }[];
  /** What shows tasks in the present session. */
  view: { dispose(): void } | undefined;
  /** Requests whose dialog a person closed: not opened again by themselves. */
  later: Set<string>;
  /** Pi's models as the newest command found them: whoever decides has the model that was current then. */
  models: Models | undefined;
  /** The log that is followed in the present session. */
  follower: { taskId: string; stop(): void } | undefined;
  /** The report that a browser follows; it ends with Pi. */
  live: { taskId: string; stop(): void } | undefined;
  /** Our signal listeners, while a supervisor is open. */
  signals: { remove(): void } | undefined;
  /** Another program has the terminal: its Ctrl-C is not meant for us. */
  terminalGiven: boolean;
  /** The dashboard is open. */
  dashboard: boolean;
  /** Pi's end, once it began. */
  quitting: Promise<void> | undefined;
  /** Pi itself told us that it ends. */
  quitSeen: boolean;
  /** The workers are ended; a session that still begins in this process opens a supervisor anew. */
  over: boolean;
}

/** Milliseconds that Pi's quit gives the workers; the guardian ends what is left. */
export const QUIT_MS = 4_000;

const MAX_WAITING = 50;
const KEY = Symbol.for("pi-claude-supervisor");

export function getHub(): Hub {
  const place = globalThis as { [KEY]?: Hub };
  if (place[KEY]?.version === VERSION) return place[KEY];
  const fresh: Hub = {
    version: VERSION,
    supervisor: undefined,
    opening: undefined,
    owner: undefined,
    port: undefined,
    cwd: undefined,
    waiting: [],
    view: undefined,
    later: new Set(),
    models: undefined,
    follower: undefined,
    live: undefined,
    signals: undefined,
    terminalGiven: false,
    dashboard: false,
    quitting: undefined,
    quitSeen: false,
    over: false,
  };
  place[KEY] = fresh;
  return fresh;
}

/** `session_start`: this session is the one that people see now. */
export function bindSession(instance: Instance, ctx: ExtensionContext): void {
  const hub = getHub();
  if (hub.owner !== undefined && hub.port?.probe() === true) return;
  hub.port?.close();
  if (hub.over) Object.assign(hub, { supervisor: undefined, quitting: undefined, quitSeen: false, over: false });
  hub.owner = instance;
  hub.port = openPort(ctx, undefined, undefined, instance.transcript);
  hub.cwd = ctx.cwd;
  for (const { text, level } of hub.waiting.splice(0)) hub.port.show(text, level);
  if (hub.supervisor !== undefined) showTasks(hub);
}

/** Reads the present model while the command's `ctx` is fresh. */
export function noteModels({ model, modelRegistry }: Models): void {
  getHub().models = { model, modelRegistry };
}

/** Something was put into the bound session's transcript. */
export function noteTranscript(instance: Instance): void {
  const hub = getHub();
  if (hub.owner === instance) hub.port?.forget();
}

/** `session_shutdown`: Pi ends (its workers end with it), or another session follows (they go on). */
export async function leaveSession(instance: Instance, reason: SessionShutdownEvent["reason"] | undefined) {
  const hub = getHub();
  if (hub.owner !== undefined && hub.owner !== instance) return;
  hub.view?.dispose();
  hub.view = undefined;
  hub.follower?.stop();
  hub.port?.close();
  hub.port = undefined;
  hub.owner = undefined;
  if (reason !== undefined && reason !== "quit") return;
  hub.quitSeen = true;
  await quit(hub);
  hub.over = true;
  hub.signals?.remove();
  hub.signals = undefined;
}

/** Ends the workers of this process once; their tasks stay recoverable. Never rejects, and never takes much longer. */
export function quit(hub: Hub): Promise<void> {
  hub.live?.stop();
  hub.live = undefined;
  hub.quitting ??= hub.supervisor === undefined ? Promise.resolve() : endWorkers(hub.supervisor);
  return hub.quitting;
}

async function endWorkers(supervisor: Supervisor): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, QUIT_MS + 500);
    timer.unref();
  });
  try {
    await Promise.race([supervisor.shutdown(QUIT_MS), late]);
  } catch {
    // Pi ends all the same; the workers' guardians end what is left.
  }
  clearTimeout(timer);
}

/** Opens the supervisor at the first command that needs it. A failure is that command's failure and is tried again. */
export async function openSupervisor(hub: Hub): Promise<Result<{ supervisor: Supervisor }>> {
  if (hub.quitting !== undefined) return failure("quitting", "Pi is ending; nothing new is begun.");
  if (hub.supervisor === undefined) {
    hub.opening ??= open();
    const opened = await hub.opening.finally(() => {
      hub.opening = undefined;
    });
    if (!opened.ok) return opened;
    if (hub.quitting !== undefined) return failure("quitting", "Pi is ending; nothing new is begun.");
    hub.supervisor ??= opened.supervisor;
  }
  if (hub.signals === undefined) (await lazy.signals()).installSignals(hub);
  if (hub.view === undefined) showTasks(hub);
  return { ok: true, supervisor: hub.supervisor };
}

async function open(): Promise<Result<{ supervisor: Supervisor }>> {
  const [room, sdk, lent] = await Promise.all([lazy.supervisor(), lazy.sdk(), lazy.decisions()]);
  const agentDir = sdk.piAgentDir();
  const decisions = lent.lentDecisions(() => getHub().models);
  return room.getSupervisor(process.env, { decisions, ...(agentDir === null ? {} : { agentDir }) });
}

/** The port for a command: the bound session's, or a port of its own for a session that is not the bound one. */
export function portFor(instance: Instance, ctx: ExtensionContext): PiPort {
  const hub = getHub();
  if (hub.owner === undefined || hub.port === undefined || hub.port.closed) bindSession(instance, ctx);
  return hub.owner === instance && hub.port !== undefined ? hub.port : openPort(ctx);
}

/** Shows a command's answer where its session is, or where the person is now. */
export function deliver(port: PiPort, text: string, level: Level): void {
  if (port.show(text, level)) return;
  const hub = getHub();
  if (hub.port?.show(text, level) === true) return;
  hub.waiting.push({ text, level });
  if (hub.waiting.length > MAX_WAITING) hub.waiting.shift();
}

function showTasks(hub: Hub): void {
  const { supervisor, port } = hub;
  hub.view?.dispose();
  hub.view = undefined;
  if (supervisor === undefined || port === undefined || !port.interactive) return;
  let disposed = false;
  hub.view = {
    dispose: () => {
      disposed = true;
    },
  };
  void lazy.view().then(
    (room) => {
      if (!disposed && hub.port === port) hub.view = room.showTasks(hub, supervisor, port);
    },
    (error: unknown) => {
      port.show(`The task display could not be loaded: ${String(error)}. Commands work all the same.`, "error");
    },
  );
}

/** A Pi session as an extension sees it: records what reaches each channel, and throws once it is stale, as Pi does. */
import type { ExtensionAPI, ExtensionCommandContext } from "@mariozechner/pi-coding-agent";

export type FakeMode = "tui" | "rpc" | "json" | "print";

export interface FakeDialog {
  kind: "select" | "input";
  title: string;
  options: string[];
  /** Answers it; undefined is Esc. */
  choose(value: string | undefined): void;
  open: boolean;
}

export interface FakeSession {
  ctx: ExtensionCommandContext;
  notices: { text: string; level: string }[];
  statuses: (string | undefined)[];
  widgets: Map<string, string[] | undefined>;
  widgetCalls: number;
  /** What was done to Pi's screen: stop, start, render. */
  screen: string[];
  /** Components that were put over or instead of Pi's own. */
  opened: number;
  dialogs: FakeDialog[];
  /** Touches after the session became stale. */
  staleTouches: number;
  /** Pi replaced the session: from now on every access throws. */
  invalidate(): void;
}

/** `withMode: false` is Pi 0.73.1, whose `ctx` has no `mode`. */
export function fakeSession(
  mode: FakeMode,
  options: { withMode?: boolean; cwd?: string; trusted?: boolean } = {},
): FakeSession {
  let stale = false;
  const session: FakeSession = {
    ctx: undefined as never,
    notices: [],
    statuses: [],
    widgets: new Map(),
    widgetCalls: 0,
    screen: [],
    opened: 0,
    dialogs: [],
    staleTouches: 0,
    invalidate() {
      stale = true;
    },
  };
  const interactive = mode === "tui" || mode === "rpc";
  const ui = {
    notify: (text: string, level = "info") => void session.notices.push({ text, level }),
    setStatus: (_key: string, text: string | undefined) => void session.statuses.push(text),
    setWidget(key: string, lines: string[] | undefined) {
      session.widgets.set(key, lines);
      session.widgetCalls++;
    },
    getAllThemes: () => (mode === "tui" ? [{ name: "dark", path: undefined }] : []),
    custom: (make: (screen: object, theme: object, keys: object, done: (result: unknown) => void) => unknown) =>
      new Promise((resolve) => {
        if (mode !== "tui") return resolve(undefined);
        session.opened++;
        const note = (what: string) => () => session.screen.push(what);
        make(
          { stop: note("stop"), start: note("start"), requestRender: note("render"), terminal: { rows: 24 } },
          {},
          {},
          resolve,
        );
      }),
    select: (title: string, choices: string[], opts?: { signal?: AbortSignal }) =>
      dialog("select", title, choices, opts?.signal),
    input: (title: string, _hint?: string, opts?: { signal?: AbortSignal }) => dialog("input", title, [], opts?.signal),
  };
  function dialog(kind: "select" | "input", title: string, choices: string[], signal?: AbortSignal) {
    if (!interactive || signal?.aborted) return Promise.resolve(undefined);
    return new Promise<string | undefined>((resolve) => {
      const one: FakeDialog = {
        kind,
        title,
        options: choices,
        open: true,
        choose(value) {
          one.open = false;
          resolve(value);
        },
      };
      signal?.addEventListener("abort", () => one.choose(undefined), { once: true });
      session.dialogs.push(one);
    });
  }
  const fields: Record<string, unknown> = {
    ui,
    hasUI: interactive,
    isIdle: () => true,
    cwd: options.cwd ?? "/home/me/here",
    ...(options.withMode === false ? {} : { mode }),
    ...(options.trusted === undefined ? {} : { isProjectTrusted: () => options.trusted }),
  };
  session.ctx = new Proxy(fields, {
    get(target, key) {
      if (stale) {
        session.staleTouches++;
        throw new Error("This extension ctx is stale after session replacement or reload.");
      }
      return Reflect.get(target, key);
    },
  }) as unknown as ExtensionCommandContext;
  return session;
}

type Handler = (event: never, ctx: never) => unknown;

/** What a registered tool has, as far as tests use it. */
export interface FakeTool {
  name: string;
  description: string;
  parameters: { type?: string; properties?: Record<string, unknown> };
  execute(id: string, params: object): Promise<{ content: { type: string; text: string }[] }>;
}

export interface FakePi {
  api: ExtensionAPI;
  tools: ReadonlyMap<string, FakeTool>;
  shortcuts: ReadonlyMap<string, (session: FakeSession) => unknown>;
  command(args: string, session: FakeSession): Promise<void>;
  complete(prefix: string): Promise<{ value: string; label: string }[] | null>;
  emit(type: string, event: object, session: FakeSession): Promise<void>;
}

/** One extension instance: what the factory registers. */
export function fakePi(factory: (pi: ExtensionAPI) => void): FakePi {
  const handlers = new Map<string, Handler[]>();
  const tools = new Map<string, FakeTool>();
  const shortcuts = new Map<string, (session: FakeSession) => unknown>();
  let command: Parameters<ExtensionAPI["registerCommand"]>[1] | undefined;
  const api = {
    registerCommand(_name: string, options: Parameters<ExtensionAPI["registerCommand"]>[1]) {
      command = options;
    },
    registerShortcut(key: string, options: { handler: (ctx: ExtensionCommandContext) => unknown }) {
      shortcuts.set(key, (session) => options.handler(session.ctx));
    },
    registerTool(tool: FakeTool) {
      tools.set(tool.name, tool);
    },
    /* Milestones reach the transcript of a Pi that has one: see transcript.test.ts. */
    registerMessageRenderer: () => undefined,
    sendMessage: () => {
      throw new Error("This Pi shows no messages.");
    },
    on(type: string, handler: Handler) {
      handlers.set(type, [...(handlers.get(type) ?? []), handler]);
    },
  } as unknown as ExtensionAPI;
  factory(api);
  return {
    api,
    tools,
    shortcuts,
    command: async (args, session) => command?.handler(args, session.ctx),
    complete: async (prefix) => (await command?.getArgumentCompletions?.(prefix)) ?? null,
    async emit(type, event, session) {
      for (const handler of handlers.get(type) ?? []) await handler({ type, ...event } as never, session.ctx as never);
    },
  };
}

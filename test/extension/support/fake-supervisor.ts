/** A supervisor that answers from a script and records what it was asked. */
import type { PersonCalled } from "../../../src/core/contracts/notice.ts";
import type { StoredEvent } from "../../../src/core/events.ts";
import { foldOne } from "../../../src/core/fold.ts";
import { initialState, type TaskState } from "../../../src/core/machine/state.ts";
import type { Hub } from "../../../src/extension/session-binding.ts";
import { getHub } from "../../../src/extension/session-binding.ts";
import type { RequestView, Supervisor, TaskUpdate, TaskView } from "../../../src/supervisor/api.ts";
import { knownTasks } from "../../../src/supervisor/known-tasks.ts";

export interface FakeSupervisor extends Supervisor {
  calls: { name: string; args: unknown[] }[];
  views: TaskView[];
  /** Appends an event to a task's log, folds it and tells subscribers. */
  happen(taskId: string, type: string, data: object): TaskUpdate;
  /** A task needs its person. */
  call(call: Partial<PersonCalled>): void;
  listeners: number;
  shutdowns: number[];
}

export function taskView(over: Partial<TaskView> = {}): TaskView {
  return {
    taskId: "t-1",
    state: "running",
    waitsFor: null,
    why: null,
    reason: null,
    recoverable: false,
    goal: "Fix the parser",
    cwd: "/home/me/here",
    automation: null,
    asksPer100Calls: null,
    faultReport: null,
    mode: "manual",
    createdAt: "2026-01-01T00:00:00.000Z",
    lastEventAt: "2026-01-01T00:00:05.000Z",
    claudeSessionId: "11111111-1111-4111-8111-111111111111",
    model: "scripted",
    currentTool: null,
    background: [],
    requests: [],
    rounds: { used: 0, failed: 0, max: 3 },
    turns: 3,
    costUsd: 0.12,
    decisions: null,
    budget: null,
    verdicts: { allow: 4, review: 1, person: 0, deny: 1 },
    asksByRule: { "bash.unknown": 1 },
    deniedByRule: {},
    lastVerification: null,
    deadlines: [],
    remaining: [],
    owner: null,
    stopCommand: "/supervise stop t-1",
    logPath: "/state/tasks/t-1/events.jsonl",
    ...over,
  };
}

export function requestView(over: Partial<RequestView> = {}): RequestView {
  return {
    requestId: "r-1",
    taskId: "t-1",
    kind: "tool",
    toolName: "Bash",
    toolUseId: "toolu_1",
    input: { command: "node gen.mjs" },
    cwd: "/home/me/here",
    rule: "bash.unknown",
    reason: "What it does is not known.",
    loss: "recoverable",
    askedOf: "person",
    passedOn: null,
    since: "2026-01-01T00:00:01.000Z",
    deferred: false,
    ...over,
  };
}

export function fakeSupervisor(over: Partial<Supervisor> = {}): FakeSupervisor {
  const listeners = new Set<(update: TaskUpdate) => void>();
  const callListeners = new Set<(call: PersonCalled) => void>();
  const states = new Map<string, TaskState>();
  const calls: FakeSupervisor["calls"] = [];
  const unknown = (id: string) => ({ ok: false as const, reason: "no-such-task", message: `There is no task ${id}.` });
  const fake: FakeSupervisor = {
    calls,
    views: [taskView()],
    shutdowns: [],
    get listeners() {
      return listeners.size;
    },
    call(given) {
      const call = { taskId: "t-1", reason: "approval", title: "t-1 asks", goal: "Fix it", terminal: "auto" } as const;
      for (const listener of [...callListeners]) listener({ ...call, ...given });
    },
    happen(taskId, type, data) {
      const before = states.get(taskId) ?? initialState(taskId);
      const event = stored(taskId, before.seq + 1, type, data);
      const after = foldOne(before, event);
      states.set(taskId, after);
      const update = { taskId, event, before, after };
      for (const listener of [...listeners]) listener(update);
      return update;
    },
    start: async () => ({
      ok: true,
      taskId: "t-1",
      cwd: "/home/me/here",
      mode: "manual",
      stopCommand: "/supervise stop t-1",
      notices: [],
    }),
    status: async (id) => {
      const task = fake.views.find((view) => view.taskId === id);
      return task ? { ok: true, task } : unknown(id);
    },
    defaultTask: async () => fake.views[0]?.taskId ?? null,
    sessions: async () => ({
      ok: true,
      tasks: fake.views.map(({ taskId, state, recoverable, goal, cwd, createdAt, costUsd }) => ({
        taskId,
        state,
        recoverable,
        goal,
        cwd,
        createdAt,
        costUsd,
        problem: null,
      })),
    }),
    send: async () => ({ ok: true, promptId: "p-1", queued: false }),
    approvals: async () => ({ ok: true, requests: fake.views.flatMap((view) => view.requests) }),
    approve: async () => ({ ok: true, taskId: "t-1" }),
    deny: async () => ({ ok: true, taskId: "t-1" }),
    answer: async () => ({ ok: true, taskId: "t-1" }),
    verify: async () => ({ ok: true, outcome: "pass", state: "completed", message: "All passed.", treeId: "abc" }),
    stop: async () => ({ ok: true, state: "stopped" }),
    pause: async () => ({ ok: true, state: "paused" }),
    recover: async () => ({ ok: true, state: "running" }),
    takeover: async (taskId) => ({
      ok: true,
      state: "taken_over",
      resumeCommand: `cd /home/me/here && claude --resume=${taskId}-session`,
      launch: { file: "claude", args: [`--resume=${taskId}-session`], cwd: "/home/me/here", without: ["CLAUDECODE"] },
    }),
    handback: async () => ({ ok: true, state: "running", turns: 2 }),
    discard: async (taskId, apply) => ({
      ok: true,
      removal: { taskId, folder: "/state/tasks/t-1", files: 3, bytes: 4096, removed: apply },
    }),
    prune: async (_olderThanMs, apply) => ({
      ok: true,
      removals: [{ taskId: "t-1", folder: "/state/tasks/t-1", files: 3, bytes: 4096, removed: apply }],
      kept: [],
    }),
    kill: async () => ({ ok: true, state: "stopped" }),
    log: async (id, { since = 1 }) => ({
      ok: true,
      events: [stored(id, since, "notice", { level: "info", text: "hello" })],
      path: "/state/tasks/t-1/events.jsonl",
      lastSeq: since,
    }),
    follow: async () => ({ ok: true }),
    verifyLog: async () => ({ ok: true, records: 7, bytes: 700 }),
    replay: async () => ({ ok: true, state: "completed", matches: true, seq: 7, differences: [] }),
    history: async (id, onEvent) => {
      onEvent(stored(id, 1, "notice", { level: "warning", text: "hello" }));
      return { ok: true, view: taskView({ taskId: id }), damage: null };
    },
    survey: async (onTask) => {
      for (const view of fake.views) onTask(view);
      return { ok: true, unreadable: 0, notLooked: 0 };
    },
    policyCheck: async () => ({
      ok: true,
      decision: { verdict: "person", rule: "bash.git.push", reason: "It leaves the machine." },
      explanation: "",
    }),
    policyShow: async (cwd) => ({
      ok: true,
      policy: {
        profile: "standard",
        workspace: cwd,
        protectedFolders: [],
        frozenVerify: [],
        rules: [{ verdict: "deny", tool: "Bash", argv: ["npm", "publish"], origin: "person" }],
        allowedHosts: [],
        places: [],
        programs: { readers: [{ name: "ls", reason: "It only reads." }] },
      },
      settings: [{ name: "profile", value: "standard", origin: "default" }],
      notes: [],
    }),
    settled: async (id) => taskView({ taskId: id, state: "completed" }),
    live: () => fake.views,
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    subscribeCalls(listener) {
      callListeners.add(listener);
      return () => callListeners.delete(listener);
    },
    shutdown: async (ms) => void fake.shutdowns.push(ms),
    known: () => knownTasks(fake.views, [], []),
    ...over,
  };
  for (const [name, value] of Object.entries(fake)) {
    if (
      typeof value !== "function" ||
      ["happen", "call", "live", "subscribe", "subscribeCalls", "known"].includes(name)
    )
      continue;
    const original = value as (...args: unknown[]) => unknown;
    (fake as unknown as Record<string, unknown>)[name] = (...args: unknown[]) => {
      calls.push({ name, args });
      return original(...args);
    };
  }
  return fake;
}

function stored(taskId: string, seq: number, type: string, data: object): StoredEvent {
  const at = new Date(Date.UTC(2026, 0, 1) + seq * 1_000).toISOString();
  return { v: 1, seq, taskId, workerId: null, at, mono: seq * 1_000, type, data, prev: "0".repeat(64) };
}

/** A hub of this process with this supervisor already open, and without what earlier tests left in it. */
export function hubWith(supervisor: Supervisor | undefined): Hub {
  const hub = getHub();
  hub.view?.dispose();
  hub.port?.close();
  Object.assign(hub, {
    supervisor,
    opening: undefined,
    owner: undefined,
    port: undefined,
    waiting: [],
    view: undefined,
    later: new Set(),
    follower: undefined,
    // Listeners on the test's own process are none of these tests' business.
    signals: { remove: () => undefined },
    terminalGiven: false,
    dashboard: false,
    quitting: undefined,
    quitSeen: false,
    over: false,
  } satisfies Partial<Hub>);
  return hub;
}

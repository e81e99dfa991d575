/** Sessions of Pi come and go; tasks, dialogs and answers survive, and a stale `ctx` is never touched. */
import assert from "node:assert/strict";
import { afterEach, describe, test } from "node:test";
import { openPort } from "../../src/extension/pi-port.ts";
import { getHub } from "../../src/extension/session-binding.ts";
import superviseClaude from "../../src/index.ts";
import type { Supervisor } from "../../src/supervisor/api.ts";
import { until } from "../support/until.ts";
import { type FakeSession, fakePi, fakeSession } from "./support/fake-pi.ts";
import { fakeSupervisor, hubWith, requestView, taskView } from "./support/fake-supervisor.ts";

afterEach(() => {
  hubWith(undefined);
});

const asking = () => taskView({ state: "human_required", waitsFor: "approval", requests: [requestView()] });

/** The dialog that is open now. */
function dialogOf(session: FakeSession) {
  return until(() => session.dialogs.find((dialog) => dialog.open), 10_000, "a dialog opens");
}

describe("loading", () => {
  test("registers and does nothing else", () => {
    hubWith(undefined);
    const listeners = () => ["SIGINT", "SIGTERM", "SIGHUP", "exit"].map((name) => process.listenerCount(name));
    const before = listeners();
    const handles = process.getActiveResourcesInfo().length;
    fakePi(superviseClaude);
    assert.deepEqual(listeners(), before);
    assert.equal(process.getActiveResourcesInfo().length, handles);
    assert.equal(getHub().supervisor, undefined);
  });
});

describe("a new session", () => {
  for (const reason of ["new", "resume", "fork", "reload"] as const) {
    test(`(${reason}) keeps the tasks, takes the dialog over and never touches the old ctx`, async () => {
      const supervisor = fakeSupervisor();
      supervisor.views = [asking()];
      const hub = hubWith(supervisor);
      const first = fakeSession("rpc");
      const old = fakePi(superviseClaude);
      await old.emit("session_start", { reason: "startup" }, first);
      await dialogOf(first);

      await old.emit("session_shutdown", { reason }, first);
      first.invalidate();
      assert.deepEqual(supervisor.shutdowns, []);
      assert.equal(supervisor.listeners, 0);
      assert.ok(first.dialogs.every((dialog) => !dialog.open));
      supervisor.happen("t-1", "notice", { level: "warning", text: "between two sessions" });

      const second = fakeSession("rpc");
      const next = fakePi(superviseClaude);
      await next.emit("session_start", { reason }, second);
      await next.emit("session_start", { reason }, second);
      await dialogOf(second);
      supervisor.happen("t-1", "notice", { level: "warning", text: "in the new one" });

      assert.equal(hub.supervisor, supervisor);
      assert.equal(supervisor.listeners, 1);
      assert.equal(second.dialogs.length, 1);
      assert.deepEqual(
        second.notices.map((notice) => notice.text),
        ["t-1: in the new one"],
      );
      assert.equal(first.staleTouches, 0);
      assert.equal(first.notices.length, 0);
    });
  }

  test("gets the answer of a command that was begun in the old one", async () => {
    let finish: (() => void) | undefined;
    const verify: Supervisor["verify"] = () =>
      new Promise((resolve) => {
        finish = () => resolve({ ok: true, outcome: "pass", state: "completed", message: "", treeId: "a" });
      });
    hubWith(fakeSupervisor({ verify }));
    const first = fakeSession("rpc");
    const pi = fakePi(superviseClaude);
    await pi.emit("session_start", { reason: "startup" }, first);
    const running = pi.command("verify t-1 --json", first);
    const finishNow = await until(() => finish, 10_000, "the verification runs");
    await pi.emit("session_shutdown", { reason: "new" }, first);
    first.invalidate();
    finishNow();
    await running;

    const second = fakeSession("rpc");
    const next = fakePi(superviseClaude);
    await next.emit("session_start", { reason: "new" }, second);
    assert.deepEqual(
      second.notices.map((notice) => JSON.parse(notice.text).command),
      ["verify"],
    );
    assert.equal(first.staleTouches, 0);
  });

  test("that was never told of its predecessor's end takes its place once that one is stale", async () => {
    hubWith(fakeSupervisor());
    const first = fakeSession("rpc");
    const second = fakeSession("rpc");
    await fakePi(superviseClaude).emit("session_start", { reason: "startup" }, first);
    first.invalidate();
    const next = fakePi(superviseClaude);
    await next.emit("session_start", { reason: "new" }, second);
    await next.command("status t-1 --json", second);
    assert.equal(second.notices.filter((notice) => notice.text.startsWith("{")).length, 1);
  });
});

describe("a second session in the same process", () => {
  test("neither takes the first one's dialogs nor ends its tasks", async () => {
    const supervisor = fakeSupervisor();
    hubWith(supervisor);
    const main = fakeSession("rpc");
    const side = fakeSession("print");
    const first = fakePi(superviseClaude);
    const second = fakePi(superviseClaude);
    await first.emit("session_start", { reason: "startup" }, main);
    await second.emit("session_start", { reason: "startup" }, side);
    await second.emit("session_shutdown", { reason: "quit" }, side);
    side.invalidate();
    assert.deepEqual(supervisor.shutdowns, []);
    await first.command("status t-1 --json", main);
    assert.equal(main.notices.filter((notice) => notice.text.startsWith("{")).length, 1);
  });
});

describe("Pi's end", () => {
  for (const reason of ["quit", undefined] as const)
    test(`(${reason}) ends the workers once, within a bound, and leaves no listeners`, async () => {
      const supervisor = fakeSupervisor();
      const hub = hubWith(supervisor);
      let removed = 0;
      hub.signals = { remove: () => void removed++ };
      const session = fakeSession("rpc");
      const pi = fakePi(superviseClaude);
      await pi.emit("session_start", { reason: "startup" }, session);
      await until(() => supervisor.listeners === 1, 10_000, "the display is there");
      await pi.emit("session_shutdown", { reason }, session);
      session.invalidate();
      supervisor.happen("t-1", "notice", { level: "error", text: "late" });
      assert.equal(supervisor.shutdowns.length, 1);
      assert.ok((supervisor.shutdowns[0] ?? 0) <= 4_500);
      assert.equal(removed, 1);
      assert.equal(session.staleTouches, 0);
    });

  test("refuses a command that comes while it goes on", async () => {
    const supervisor = fakeSupervisor({ shutdown: () => new Promise(() => undefined) });
    hubWith(supervisor);
    const session = fakeSession("rpc");
    const pi = fakePi(superviseClaude);
    await pi.emit("session_start", { reason: "startup" }, session);
    void pi.emit("session_shutdown", { reason: "quit" }, session);
    await pi.command('start Fix --verify "true" --json', session);
    const answer = JSON.parse(session.notices.at(-1)?.text ?? "{}");
    assert.deepEqual([answer.ok, answer.reason], [false, "quitting"]);
    assert.equal(supervisor.calls.filter((call) => call.name === "start").length, 0);
  });
});

test("a session that begins after the end of another gets a supervisor of its own", async () => {
  const hub = hubWith(fakeSupervisor());
  const first = fakeSession("rpc");
  const pi = fakePi(superviseClaude);
  await pi.emit("session_start", { reason: "startup" }, first);
  await pi.emit("session_shutdown", { reason: "quit" }, first);
  await fakePi(superviseClaude).emit("session_start", { reason: "startup" }, fakeSession("rpc"));
  assert.deepEqual([hub.supervisor, hub.quitting, hub.quitSeen], [undefined, undefined, false]);
});

test("a project's own settings count only where Pi says that it is trusted", async () => {
  const supervisor = fakeSupervisor();
  hubWith(supervisor);
  const pi = fakePi(superviseClaude);
  for (const trusted of [undefined, false, true]) {
    const session = fakeSession("rpc", { cwd: "/project", ...(trusted !== undefined && { trusted }) });
    await pi.command('start Fix --verify "true" --json', session);
  }
  const given = supervisor.calls.filter((call) => call.name === "start").map((call) => call.args[0]);
  assert.deepEqual(
    given.map((input) => (input as { trustedProject?: string }).trustedProject),
    [undefined, undefined, "/project"],
  );
});

describe("the port", () => {
  for (const mode of ["tui", "rpc", "print"] as const)
    test(`knows ${mode} mode of Pi 0.73.1, which does not say it`, () => {
      assert.equal(openPort(fakeSession(mode, { withMode: false }).ctx).mode, mode);
    });

  test("never writes to standard output, and not to the UI in print mode", () => {
    const session = fakeSession("print");
    const lines: string[] = [];
    const port = openPort(session.ctx, (line) => lines.push(line));
    port.show("text", "error");
    port.setStatus("x");
    port.setWidget("x", ["y"]);
    assert.deepEqual(lines, ["text"]);
    assert.deepEqual([session.notices.length, session.statuses.length, session.widgetCalls], [0, 0, 0]);
  });

  test("swallows a session that went stale between two touches, and stays closed", async () => {
    const session = fakeSession("rpc");
    const port = openPort(session.ctx);
    session.invalidate();
    assert.equal(port.show("lost", "info"), false);
    port.setStatus("x");
    assert.equal(await port.select("t", ["a"], new AbortController().signal), undefined);
    assert.equal(session.staleTouches, 1);
    assert.equal(port.closed, true);
  });

  test("puts a text below the one that Pi's TUI would replace, until something else is in the transcript", () => {
    const session = fakeSession("tui");
    const port = openPort(session.ctx);
    port.show("answer", "info");
    port.show("milestone", "info");
    port.forget();
    port.show("alone", "info");
    port.show("trouble", "error");
    port.show("after it", "info");
    assert.deepEqual(
      session.notices.map((notice) => notice.text),
      ["answer", "answer\n\nmilestone", "alone", "trouble", "after it"],
    );
  });

  test("shows each text by itself in RPC mode", () => {
    const session = fakeSession("rpc");
    const port = openPort(session.ctx);
    port.show("answer", "info");
    port.show("milestone", "info");
    assert.equal(session.notices[1]?.text, "milestone");
  });
});

describe("a long command", () => {
  test("holds the TUI no longer than a moment, and its answer still comes", async () => {
    let finish: (() => void) | undefined;
    const verify: Supervisor["verify"] = () =>
      new Promise((resolve) => {
        finish = () => resolve({ ok: true, outcome: "pass", state: "completed", message: "", treeId: "a" });
      });
    hubWith(fakeSupervisor({ verify }));
    const session = fakeSession("tui");
    const pi = fakePi(superviseClaude);
    await pi.emit("session_start", { reason: "startup" }, session);
    await pi.command("verify t-1", session);
    assert.ok(session.statuses.includes("supervise: verifying t-1…"));
    (await until(() => finish, 10_000, "the verification runs"))();
    await until(() => session.notices.some((notice) => notice.text.includes("passed")), 10_000, "the answer");
    assert.equal(session.statuses.filter((text) => text?.includes("verifying")).length, 1);
    assert.equal(session.statuses.at(-1), undefined, "what was shown while it ran is taken away");
  });
});

import assert from "node:assert/strict";
import { afterEach, describe, test } from "node:test";
import { openPort } from "../../src/extension/pi-port.ts";
import { type Asked, approvalTitle } from "../../src/extension/ui/dialog-text.ts";
import { openDialogs } from "../../src/extension/ui/dialogs.ts";
import { showTasks } from "../../src/extension/ui/task-ui.ts";
import { until } from "../support/until.ts";
import { fakeSession } from "./support/fake-pi.ts";
import { fakeSupervisor, hubWith, requestView } from "./support/fake-supervisor.ts";

afterEach(() => {
  hubWith(undefined);
});

function scene(mode: "tui" | "rpc" = "rpc") {
  const session = fakeSession(mode);
  const supervisor = fakeSupervisor();
  const later = new Set<string>();
  const dialogs = openDialogs(openPort(session.ctx), supervisor, later);
  const open = () => session.dialogs.filter((dialog) => dialog.open);
  const dialog = () => until(() => open()[0], 10_000, "a dialog opens");
  const called = (name: string) => until(() => supervisor.calls.find((call) => call.name === name), 10_000, name);
  return { session, supervisor, dialogs, later, open, dialog, called };
}

const question = (over: Partial<Asked> = {}): Asked =>
  requestView({
    kind: "question",
    toolName: "AskUserQuestion",
    input: {
      questions: [
        {
          question: "Which colour?",
          header: "Colour",
          multiSelect: false,
          options: [
            { label: "Blue", description: "like the sky" },
            { label: "Green\u202e", description: "" },
          ],
        },
      ],
    },
    ...over,
  });

describe("an approval", () => {
  test("is asked with options that begin with Later, Approve and Deny, and Enter alone decides nothing", async () => {
    const { dialogs, dialog, supervisor, session } = scene();
    dialogs.update("t-1", [requestView()]);
    const shown = await dialog();
    assert.deepEqual(
      shown.options.map((option) => option.split(" ")[0]),
      ["Later", "Approve", "Deny", "Deny"],
    );
    shown.choose(shown.options[0]);
    await until(() => session.notices.length > 0, 10_000, "the way to answer later");
    assert.match(session.notices[0]?.text ?? "", /\/supervise approve r-1/);
    assert.deepEqual(supervisor.calls, []);
  });

  test("is approved", async () => {
    const { dialogs, dialog, called } = scene();
    dialogs.update("t-1", [requestView()]);
    (await dialog()).choose("Approve");
    assert.deepEqual((await called("approve")).args, ["r-1", undefined, "dialog"]);
  });

  test("is denied, with and without a reason", async () => {
    const { dialogs, dialog, called } = scene();
    dialogs.update("t-1", [requestView()]);
    (await dialog()).choose("Deny");
    assert.deepEqual((await called("deny")).args, ["r-1", undefined, "dialog"]);
    const why = scene();
    why.dialogs.update("t-1", [requestView()]);
    const asked = await why.dialog();
    asked.choose(asked.options.at(-1));
    (await why.dialog()).choose(" use the script ");
    assert.deepEqual((await why.called("deny")).args, ["r-1", "use the script", "dialog"]);
  });

  for (const [what, choice] of [
    ["Esc or a timeout", undefined],
    ["a client's nonsense", "Yes please"],
  ] as const)
    test(`is left pending by ${what}, and not asked again by itself`, async () => {
      const { dialogs, dialog, supervisor, session, open } = scene();
      dialogs.update("t-1", [requestView()]);
      (await dialog()).choose(choice);
      await until(() => session.notices.length > 0, 10_000, "the notice");
      dialogs.update("t-1", [requestView()]);
      assert.deepEqual(supervisor.calls, []);
      assert.equal(open().length, 0);
      assert.equal(session.dialogs.length, 1);
    });

  test("whose reason is cancelled stays pending", async () => {
    const { dialogs, dialog, supervisor, session } = scene();
    dialogs.update("t-1", [requestView()]);
    const asked = await dialog();
    asked.choose(asked.options.at(-1));
    (await dialog()).choose(undefined);
    await until(() => session.notices.length > 0, 10_000, "the notice");
    assert.deepEqual(supervisor.calls, []);
  });

  test("that was answered elsewhere closes its dialog and decides nothing", async () => {
    const { dialogs, dialog, supervisor, session } = scene();
    dialogs.update("t-1", [requestView()]);
    const shown = await dialog();
    dialogs.update("t-1", []);
    assert.equal(shown.open, false);
    shown.choose("Approve");
    dialogs.update("t-1", [requestView({ requestId: "r-2" })]);
    assert.match((await dialog()).title, /r-2/);
    assert.deepEqual(supervisor.calls, []);
    assert.equal(session.notices.length, 0);
  });

  test("that the supervisor does not take is said, and nothing is repeated", async () => {
    const refused = { ok: false as const, reason: "request-lost", message: "It is gone." };
    const session = fakeSession("rpc");
    const dialogs = openDialogs(
      openPort(session.ctx),
      fakeSupervisor({ approve: async () => refused }),
      new Set<string>(),
    );
    dialogs.update("t-1", [requestView()]);
    (await until(() => session.dialogs[0], 10_000, "a dialog")).choose("Approve");
    await until(() => session.notices.length > 0, 10_000, "the failure");
    assert.deepEqual(session.notices, [{ text: "r-1: It is gone.", level: "error" }]);
    assert.equal(session.dialogs.length, 1);
  });

  test("whose answer fails unexpectedly is said, and the next one is asked", async () => {
    const session = fakeSession("rpc");
    const approve = () => Promise.reject(new Error("boom"));
    const dialogs = openDialogs(openPort(session.ctx), fakeSupervisor({ approve }), new Set<string>());
    dialogs.update("t-1", [requestView(), requestView({ requestId: "r-2" })]);
    (await until(() => session.dialogs[0], 10_000, "a dialog")).choose("Approve");
    await until(() => session.dialogs[1], 10_000, "the next dialog");
    assert.match(session.notices[0]?.text ?? "", /boom.*stays pending/);
  });
});

describe("several requests", () => {
  test("are asked one at a time, in their order, and never twice", async () => {
    const { dialogs, dialog, session, open, called } = scene();
    const all = [requestView(), requestView({ requestId: "r-2" }), requestView({ requestId: "r-3" })];
    dialogs.update("t-1", all);
    dialogs.update("t-1", all);
    dialogs.update("t-2", [requestView({ requestId: "r-9", taskId: "t-2" })]);
    assert.equal(open().length, 1);
    (await dialog()).choose("Approve");
    await called("approve");
    await until(() => session.dialogs.length === 2, 10_000, "the second dialog");
    dialogs.update("t-1", all.slice(1));
    assert.match((await dialog()).title, /r-2/);
    assert.equal(open().length, 1);
    dialogs.update("t-1", all.slice(2));
    await until(() => session.dialogs.length === 3, 10_000, "the third dialog");
    assert.match((await dialog()).title, /r-3/);
    dialogs.update("t-1", []);
    await until(() => session.dialogs.length === 4, 10_000, "the other task's dialog");
    assert.match((await dialog()).title, /r-9/);
  });

  test("are closed with their session, and decide nothing then", async () => {
    const { dialogs, dialog, supervisor, open } = scene();
    dialogs.update("t-1", [requestView(), requestView({ requestId: "r-2" })]);
    const shown = await dialog();
    dialogs.dispose();
    shown.choose("Approve");
    dialogs.update("t-1", [requestView({ requestId: "r-3" })]);
    assert.equal(open().length, 0);
    assert.deepEqual(supervisor.calls, []);
  });
});

describe("a question", () => {
  test("offers its labels and answers with the chosen one, unchanged", async () => {
    const { dialogs, dialog, called } = scene();
    dialogs.update("t-1", [question()]);
    const shown = await dialog();
    assert.deepEqual(shown.options, [
      "Later (it stays pending)",
      "Blue: like the sky",
      "Green",
      "Another answer…",
      "Deny",
    ]);
    shown.choose("Green");
    assert.deepEqual((await called("answer")).args, ["r-1", "Green\u202e", "dialog"]);
  });

  test("takes another answer", async () => {
    const { dialogs, dialog, called } = scene();
    dialogs.update("t-1", [question()]);
    (await dialog()).choose("Another answer…");
    (await dialog()).choose("Red, please");
    assert.deepEqual((await called("answer")).args, ["r-1", "Red, please", "dialog"]);
  });

  test("of several is answered by number", async () => {
    const { dialogs, dialog, called } = scene();
    const one = (text: string, multiSelect: boolean) => ({
      question: text,
      multiSelect,
      options: [{ label: "A" }, { label: "B" }],
    });
    dialogs.update("t-1", [question({ input: { questions: [one("First?", false), one("Second?", true)] } })]);
    (await dialog()).choose("B");
    const second = await dialog();
    assert.match(second.title, /question 2 of 2[\s\S]*Second\?/);
    second.choose(second.options.find((option) => option.startsWith("Several")));
    (await dialog()).choose("A; B");
    assert.deepEqual((await called("answer")).args, ["r-1", "1=B; 2=A, B", "dialog"]);
  });

  test("in a shape that nobody knows is asked like a call", async () => {
    const { dialogs, dialog } = scene();
    dialogs.update("t-1", [question({ input: { questions: "odd" } })]);
    assert.ok((await dialog()).options.includes("Approve"));
  });
});

describe("the text of a dialog", () => {
  test("holds the whole command, its rule, folder, length and hash, with control characters visible", () => {
    const title = approvalTitle(
      requestView({ input: { command: "rm -rf x\u001b[2K\rls\u202e", description: "list" }, loss: "lost" }),
    );
    assert.ok(title.includes("rm -rf x<U+001B>[2K<U+000D>ls<U+202E>"));
    assert.match(title, /Rule bash\.unknown: What it does is not known\./);
    assert.match(title, /cannot be brought back/);
    assert.match(title, /In \/home\/me\/here · \d+ characters · SHA-256 [0-9a-f]{12}/);
    assert.doesNotMatch(title, /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202e]/);
  });

  test("of a shell call shows what it was given beside the command", () => {
    const input = { command: "make", description: "Build", dangerouslyDisableSandbox: true };
    assert.match(approvalTitle(requestView({ input })), /make\nwith \{"dangerouslyDisableSandbox":true\}/);
  });

  test("of a tool with several fields shows them all", () => {
    const title = approvalTitle(requestView({ toolName: "Write", input: { file_path: "/etc/x", content: "evil" } }));
    assert.match(title, /"file_path": "\/etc\/x"/);
    assert.match(title, /"content": "evil"/);
  });

  test("says what it leaves out of a very long command", () => {
    const command = `${"a".repeat(5_000)}MIDDLE${"b".repeat(5_000)}`;
    const title = approvalTitle(requestView({ input: { command } }));
    assert.ok(title.length < 7_000);
    assert.match(title, /4006 characters are not shown; read all: \/supervise approvals --json/);
    assert.match(title, /· 10006 characters ·/);
  });
});

describe("through the supervisor's updates", () => {
  const verdict = (requestId: string) => ({
    callId: `c-${requestId}`,
    via: "hook",
    toolUseId: `toolu-${requestId}`,
    toolName: "Bash",
    verdict: "review",
    rule: "bash.unknown",
    reason: "Not known.",
    input: { command: `node ${requestId}.mjs` },
    cwd: "/home/me/here",
    requestId,
  });
  const created = {
    goal: "Fix",
    goalRedacted: false,
    mode: "manual",
    cwd: "/home/me/here",
    verify: { commands: [] },
    limits: { maxRounds: 3 },
    sessionId: "s",
  };

  test("a request opens a dialog, an answer by command closes it, and the chip follows", async () => {
    const session = fakeSession("rpc");
    const supervisor = fakeSupervisor();
    const shown = showTasks(hubWith(supervisor), supervisor, openPort(session.ctx));
    try {
      supervisor.happen("t-1", "task.created", created);
      supervisor.happen("t-1", "owner.claimed", {
        owner: { pid: 1, startTicks: "1", bootId: "b", host: "h" },
        why: "start",
      });
      supervisor.happen("t-1", "gate.verdict", verdict("r-1"));
      const dialog = await until(() => session.dialogs.find((one) => one.open), 10_000, "the dialog");
      assert.match(dialog.title, /node r-1\.mjs/);
      assert.match(session.notices.at(-1)?.text ?? "", /t-1 asks .*\n\/supervise approve r-1/);
      supervisor.happen("t-1", "request.answered", {
        requestId: "r-1",
        decision: "approve",
        by: "person",
        via: "command",
      });
      assert.equal(dialog.open, false);
      assert.equal(session.statuses[0], "supervise: running · 3 turns · $0.12");
      supervisor.views = [];
      supervisor.happen("t-1", "notice", { level: "info", text: "over" });
      await until(() => session.statuses.at(-1) === undefined && session.statuses.length > 1, 10_000, "no chip");
      assert.equal(session.widgets.get("supervise"), undefined);
    } finally {
      shown.dispose();
    }
  });

  test("a hundred updates in a row cost a few paints", () => {
    const session = fakeSession("rpc");
    const supervisor = fakeSupervisor();
    const shown = showTasks(hubWith(supervisor), supervisor, openPort(session.ctx));
    try {
      for (let turn = 0; turn < 100; turn++) {
        supervisor.views = [{ ...supervisor.views[0], turns: turn } as (typeof supervisor.views)[0]];
        supervisor.happen("t-1", "worker.heartbeat", {});
      }
      assert.ok(session.statuses.length <= 2, `${session.statuses.length} paints`);
    } finally {
      shown.dispose();
    }
  });

  test("a fault of the display does not reach the supervisor", () => {
    const session = fakeSession("rpc");
    const supervisor = fakeSupervisor();
    const shown = showTasks(hubWith(supervisor), supervisor, openPort(session.ctx));
    try {
      assert.doesNotThrow(() => supervisor.happen("t-1", "worker.started", {}));
      assert.match(session.notices.at(-1)?.text ?? "", /could not be shown/);
    } finally {
      shown.dispose();
    }
  });
});

/** Every command in every mode: which channel carries the answer, and that it is exactly one. */
import assert from "node:assert/strict";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, beforeEach, describe, mock, test } from "node:test";
import { lazy } from "../../src/extension/lazy.ts";
import { commandNames } from "../../src/extension/parse/spec.ts";
import { openPort } from "../../src/extension/pi-port.ts";
import { runCommand } from "../../src/extension/run.ts";
import { quit } from "../../src/extension/session-binding.ts";
import type { Supervisor } from "../../src/supervisor/api.ts";
import { realHost } from "../../src/supervisor/doctor/index.ts";
import { supervisorDeps } from "../../src/supervisor/index.ts";
import { LocalSupervisor } from "../../src/supervisor/local-supervisor.ts";
import { until } from "../support/until.ts";
import { type AfterHook, createLab } from "../support/workspace.ts";
import { GOOD, IN_FORCE, UNKNOWN } from "./command-table.ts";
import { type FakeMode, type FakeSession, fakeSession } from "./support/fake-pi.ts";
import { type FakeSupervisor, fakeSupervisor, hubWith, requestView, taskView } from "./support/fake-supervisor.ts";

interface Ran {
  session: FakeSession;
  errorOut: string[];
  exitCode: number | string | null | undefined;
}

const before = process.exitCode;
/** A machine without a fault but one warning; real ones are in test/supervisor/doctor.test.ts. */
const findings = [
  { check: "node", level: "ok" as const, found: "Node 20.20.2.", fix: null },
  { check: "cgroup", level: "warning" as const, found: "No cgroup v2 is mounted.", fix: "Start Pi with systemd-run." },
];
const ownFolder = mkdtempSync(join(tmpdir(), "commands-"));
const CONTROL = "PI_CLAUDE_SUPERVISOR_CONTROL_DIR";
const controlBefore = process.env[CONTROL];
after(() => {
  if (controlBefore === undefined) delete process.env[CONTROL];
  else process.env[CONTROL] = controlBefore;
  rmSync(ownFolder, { recursive: true, force: true });
});
beforeEach(() => {
  /* A stop of this machine's own account is none of these tests' business. */
  process.env[CONTROL] = mkdtempSync(join(ownFolder, "control-"));
  mock.method(lazy, "doctor", async () => ({ realHost, diagnose: async () => findings }));
  process.exitCode = undefined;
});
afterEach(() => {
  mock.restoreAll();
  process.exitCode = before;
  hubWith(undefined);
});

async function run(input: string, mode: FakeMode, supervisor: Supervisor, cwd = "/home/me/here"): Promise<Ran> {
  hubWith(supervisor);
  const session = fakeSession(mode);
  const errorOut: string[] = [];
  await runCommand(
    input,
    { cwd },
    openPort(session.ctx, (line) => errorOut.push(line)),
  );
  const { exitCode } = process;
  process.exitCode = undefined;
  return { session, errorOut, exitCode };
}

/** The one JSON answer, wherever this mode shows it; nothing else may be shown. */
function onlyJson(ran: Ran, mode: FakeMode): Record<string, unknown> {
  const shown = ran.session.notices.map((notice) => notice.text);
  const [text = "", ...more] = mode === "tui" || mode === "rpc" ? shown : ran.errorOut;
  assert.deepEqual(more, []);
  assert.equal(mode === "tui" || mode === "rpc" ? ran.errorOut.length : shown.length, 0);
  assert.ok(text.startsWith("{") && !text.includes("\n"));
  return JSON.parse(text) as Record<string, unknown>;
}

/** A store without tasks: everything that is asked for by name is unknown. */
function nobody(): FakeSupervisor {
  const unknown = async () => ({
    ok: false as const,
    reason: "no-task",
    message: "There is no task or request of that name.",
  });
  const names = [
    "status",
    "verify",
    "stop",
    "kill",
    "pause",
    "recover",
    "takeover",
    "handback",
    "discard",
    "log",
    "replay",
    "history",
    "send",
    "approve",
    "deny",
    "answer",
  ];
  return fakeSupervisor(Object.fromEntries(names.map((name) => [name, unknown])) as Partial<Supervisor>);
}

/** A real supervisor of an empty store, whose account was stopped by the command that people have. */
async function stoppedForReal(t: AfterHook): Promise<Supervisor> {
  const lab = await createLab(t);
  const control = join(lab.root, "control");
  process.env[CONTROL] = control;
  const made = supervisorDeps({ ...lab.env, PI_CLAUDE_SUPERVISOR_STATE_DIR: lab.stateDir, [CONTROL]: control });
  assert.ok(made.ok);
  const supervisor = new LocalSupervisor(made.deps);
  lab.defer(() => supervisor.shutdown(1_000));
  const stopped = await run("estop stop --reason enough --json", "rpc", supervisor);
  assert.equal(onlyJson(stopped, "rpc").ok, true);
  return supervisor;
}

for (const mode of ["tui", "rpc", "json", "print"] as const) {
  describe(`in ${mode} mode`, () => {
    test("the table below knows every command", () => {
      assert.deepEqual(new Set(GOOD.map(([, fields]) => fields.command)), new Set(commandNames));
      assert.deepEqual(new Set(Object.keys(IN_FORCE)), new Set(commandNames));
    });

    for (const [input, fields] of GOOD) {
      test(`${input} --json answers with one object`, async () => {
        const supervisor = fakeSupervisor();
        supervisor.views = [taskView({ requests: [requestView()] })];
        const ran = await run(`${input} --json`, mode, supervisor);
        const answer = onlyJson(ran, mode);
        assert.equal(answer.ok, true);
        for (const [key, value] of Object.entries(fields)) assert.deepEqual(answer[key], value, key);
        assert.equal(ran.session.dialogs.length, 0);
        assert.equal(ran.exitCode, mode === "json" || mode === "print" ? 0 : undefined);
      });

      test(`${input} answers people with one text`, async () => {
        const supervisor = fakeSupervisor();
        supervisor.views = [taskView({ requests: [requestView()] })];
        const ran = await run(input, mode, supervisor);
        const shown = [...ran.session.notices.map((notice) => notice.text), ...ran.errorOut];
        /* In the TUI these lists are a screen of their own. */
        if (mode === "tui" && (input === "sessions" || input === "approvals")) {
          await until(() => ran.session.opened === 1, 60_000, "the dashboard");
          assert.deepEqual(shown, []);
          return;
        }
        assert.equal(shown.length, 1);
        assert.ok(!shown.at(-1)?.startsWith("{") && (shown.at(-1)?.length ?? 0) > 10);
      });
    }

    test("a wrong word is refused with one object, and with one text", async () => {
      const json = await run("statsu --json", mode, fakeSupervisor());
      const answer = onlyJson(json, mode);
      assert.deepEqual([answer.ok, answer.command, answer.reason], [false, "statsu", "unknown-command"]);
      assert.equal(json.exitCode, mode === "json" || mode === "print" ? 2 : undefined);
      const text = await run("statsu", mode, fakeSupervisor());
      const shown = [...text.session.notices.map((notice) => notice.text), ...text.errorOut];
      assert.equal(shown.length, 1);
      assert.match(shown[0] ?? "", /Did you mean "status"/);
    });

    test("what the supervisor refuses is passed on with its code and sentence", async () => {
      const refused = { ok: false as const, reason: "cwd-busy", message: "Task t-0 works there." };
      const ran = await run('start Fix --verify "true" --json', mode, fakeSupervisor({ start: async () => refused }));
      assert.deepEqual(onlyJson(ran, mode), { ...refused, command: "start" });
      assert.equal(ran.exitCode, mode === "json" || mode === "print" ? 1 : undefined);
    });

    for (const name of commandNames) {
      test(`${name} with a flag that it does not have is a usage error, told once`, async () => {
        const ran = await run(`${name} --nonsense --json`, mode, fakeSupervisor());
        const answer = onlyJson(ran, mode);
        assert.deepEqual([answer.ok, answer.command, ran.session.notices[0]?.level ?? "info"], [false, name, "info"]);
        assert.equal(ran.exitCode, mode === "json" || mode === "print" ? 2 : undefined);
        const text = await run(`${name} --nonsense`, mode, fakeSupervisor());
        const shown = [...text.session.notices.map((notice) => notice.text), ...text.errorOut];
        assert.equal(shown.length, 1);
        assert.match(shown[0] ?? "", /nonsense/);
        assert.equal(text.session.notices[0]?.level ?? "error", "error");
      });
    }

    for (const words of UNKNOWN) {
      test(`${words} of an unknown id is refused with its code, told once`, async () => {
        const json = await run(`${words} --json`, mode, nobody());
        const answer = onlyJson(json, mode);
        assert.deepEqual([answer.ok, answer.reason], [false, "no-task"]);
        assert.equal(json.exitCode, mode === "json" || mode === "print" ? 1 : undefined);
        const text = await run(words, mode, nobody());
        const shown = [...text.session.notices.map((notice) => notice.text), ...text.errorOut];
        assert.match(shown.at(-1) ?? "", /There is no task or request of that name\./);
        assert.equal(text.session.notices.at(-1)?.level ?? "error", "error");
      });
    }

    test("with an emergency stop in force nothing begins, and what looks or stops works; each is told once", async (t) => {
      const supervisor = await stoppedForReal(t);
      for (const [words, reason] of Object.values(IN_FORCE).flat()) {
        const json = await run(`${words} --json`, mode, supervisor, tmpdir());
        const answer = onlyJson(json, mode);
        assert.deepEqual([answer.ok, answer.ok === true ? null : answer.reason], [reason === null, reason], words);
        const failed = mode === "json" || mode === "print" ? (reason === null ? 0 : 1) : undefined;
        assert.equal(json.exitCode, failed, words);
        if (words === "estop resume" && mode === "tui") continue; // there it asks: see below
        const text = await run(words, mode, supervisor, tmpdir());
        const shown = [...text.session.notices, ...text.errorOut.map((one) => ({ text: one, level: null }))];
        assert.equal(shown.length, 1, words);
        assert.ok((shown[0]?.text.length ?? 0) > 10 && !shown[0]?.text.startsWith("{"), words);
        const level = reason !== null ? "error" : words === "doctor" ? "warning" : "info";
        if (text.session.notices.length > 0) assert.equal(shown[0]?.level, level, words);
        if (reason === "estop") assert.match(shown[0]?.text ?? "", /stop/i, words);
      }
      const help = onlyJson(await run("help --json", mode, supervisor), mode);
      assert.match(String(help.next), /^\/supervise estop status/);
    });

    test("a bug in the supervisor is an answer, not an exception", async () => {
      const status = () => Promise.reject(new Error("boom"));
      const ran = await run("status t-1 --json", mode, fakeSupervisor({ status }));
      const answer = onlyJson(ran, mode);
      assert.deepEqual([answer.ok, answer.reason], [false, "internal-error"]);
      assert.match(String(answer.message), /boom/);
    });
  });
}

describe("start", () => {
  test("hands every flag to the supervisor, and nothing that was not given", async () => {
    const supervisor = fakeSupervisor();
    await run(
      'start Fix it --verify "npm test" --verify "npm run lint" --cwd sub --mode auto --trust none --max-rounds 2 --timeout 1h --quiet-timeout 5m --patience 2s --model m --profile open --max-turns 4 --verify-in workspace --verify-setup "npm ci" --verify-runs 2 --transport claude-jsonl --json',
      "rpc",
      supervisor,
      "/from",
    );
    assert.deepEqual(supervisor.calls[0]?.args, [
      {
        goal: "Fix it",
        from: "/from",
        verify: ["npm test", "npm run lint"],
        cwd: "sub",
        mode: "auto",
        transport: "claude-jsonl",
        trust: "none",
        profile: "open",
        model: "m",
        maxRounds: 2,
        maxTurns: 4,
        timeoutMs: 3_600_000,
        quietTimeoutMs: 300_000,
        patienceMs: 2_000,
        verifyIn: "workspace",
        verifySetup: "npm ci",
        verifyRuns: 2,
      },
    ]);
    const plain = fakeSupervisor();
    await run("start Fix it --verify x --json", "rpc", plain, "/from");
    assert.deepEqual(plain.calls[0]?.args, [{ goal: "Fix it", from: "/from", verify: ["x"] }]);
  });

  const ends: [state: Parameters<typeof taskView>[0], ok: boolean, exitCode: number][] = [
    [{ state: "completed" }, true, 0],
    [{ state: "failed", reason: "worker-exit-1", why: "Claude ended." }, false, 1],
    [{ state: "stopped", reason: "stop" }, false, 1],
    [{ state: "failed_to_stop" }, false, 1],
    [{ state: "human_required", waitsFor: "approval", requests: [requestView()] }, true, 3],
    [{ state: "human_required", waitsFor: "result" }, true, 3],
  ];
  for (const mode of ["print", "json"] as const)
    for (const [end, ok, exitCode] of ends)
      test(`in ${mode} mode waits for ${end?.state} ${end?.waitsFor ?? ""} and exits with ${exitCode}`, async () => {
        const settled = async () => taskView(end);
        const ran = await run("start Fix --verify x --json", mode, fakeSupervisor({ settled }));
        const answer = onlyJson(ran, mode);
        assert.deepEqual([answer.ok, answer.state, ran.exitCode], [ok, end?.state, exitCode]);
        assert.equal(answer.stopCommand, "/supervise stop t-1");
        if (!ok) assert.match(String(answer.reason), /^[a-z0-9-]+$/);
      });

  test("in RPC mode does not wait for the task", async () => {
    const settled = () => new Promise<never>(() => undefined);
    const ran = await run("start Fix --verify x --json", "rpc", fakeSupervisor({ settled }));
    assert.equal(onlyJson(ran, "rpc").ok, true);
  });

  const missing = async () => ({ ok: false as const, reason: "verify-missing", message: "None was given." });
  for (const [mode, flag] of [
    ["rpc", " --json"],
    ["tui", " --json"],
    ["print", ""],
    ["json", " --json"],
  ] as const)
    test(`without a verification is refused in ${mode} mode${flag}, and asks nobody`, async () => {
      const supervisor = fakeSupervisor({ start: missing });
      const ran = await run(`start Fix${flag}`, mode, supervisor);
      assert.equal(supervisor.calls.length, 1);
      assert.equal(ran.session.dialogs.length, 0);
      const [text = ""] = [...ran.session.notices.map((notice) => notice.text), ...ran.errorOut];
      assert.match(text, flag === "" ? /None was given/ : /"reason":"verify-missing"/);
      assert.equal(ran.exitCode, mode === "print" || mode === "json" ? 2 : undefined);
    });

  for (const chosen of ["make check", undefined])
    test(`without a verification asks a person, who ${chosen === undefined ? "declines" : "names one"}`, async () => {
      const inputs: string[][] = [];
      const start: Supervisor["start"] = async (input) => {
        inputs.push(input.verify);
        return input.verify.length === 0 ? missing() : fakeSupervisor().start(input);
      };
      hubWith(fakeSupervisor({ start }));
      const session = fakeSession("rpc");
      const running = runCommand("start Fix", { cwd: "/nonexistent" }, openPort(session.ctx));
      (await until(() => session.dialogs[0], 10_000, "the question")).choose(chosen);
      await running;
      assert.deepEqual(inputs, chosen === undefined ? [[]] : [[], [chosen]]);
      assert.match(session.notices.at(-1)?.text ?? "", chosen === undefined ? /None was given/ : /has begun/);
    });

  test("says how to stop the task, and shows notices without control characters", async () => {
    const start: Supervisor["start"] = async () => ({
      ok: true,
      taskId: "t-9",
      cwd: "/home/me/\u001b[31mred",
      mode: "auto",
      stopCommand: "/supervise stop t-9",
      notices: ["A newer \u001b]0;title\u0007Claude."],
    });
    const ran = await run("start Fix --verify x", "rpc", fakeSupervisor({ start }));
    const text = ran.session.notices[0]?.text ?? "";
    assert.match(text, /Stop: \/supervise stop t-9/);
    assert.match(text, /\/home\/me\/red/);
    assert.match(text, /A newer Claude\./);
    assert.doesNotMatch(text, /\u001b|\u0007/);
  });
});

test("recover and resume say what was asked for, and nothing else", async () => {
  const supervisor = fakeSupervisor();
  for (const input of ["recover t-1", "recover t-1 --fresh", "resume t-1", "resume t-1 --fault secret-risk"])
    await run(`${input} --json`, "rpc", supervisor);
  assert.deepEqual(
    supervisor.calls.map((call) => call.args[1]),
    [{ fresh: false }, { fresh: true }, { fresh: false }, { fresh: false, fault: "secret-risk" }],
  );
});

describe("a start without a gate", () => {
  const ungated = { ok: false as const, reason: "ungated", message: "It has no gate." };
  const start =
    (inputs: unknown[]): Supervisor["start"] =>
    async (input) => {
      inputs.push(input.ungated);
      const { taskId, cwd, stopCommand } = { taskId: "t-1", cwd: "/w", stopCommand: "/supervise stop t-1" };
      return input.ungated === undefined
        ? ungated
        : { ok: true, taskId, cwd, mode: "manual", stopCommand, notices: [] };
    };

  test("is refused to programs, and taken with the flag", async () => {
    const inputs: unknown[] = [];
    const supervisor = fakeSupervisor({ start: start(inputs) });
    const refused = await run("start Fix --verify x --transport process-pipe --json", "rpc", supervisor);
    assert.equal(onlyJson(refused, "rpc").reason, "ungated");
    const taken = await run("start Fix --verify x --transport process-pipe --ungated --json", "rpc", supervisor);
    assert.equal(onlyJson(taken, "rpc").ok, true);
    assert.deepEqual(inputs, [undefined, "flag"]);
  });

  for (const accepts of [true, false])
    test(`asks a person, who ${accepts ? "knows" : "declines"}`, async () => {
      const inputs: unknown[] = [];
      hubWith(fakeSupervisor({ start: start(inputs) }));
      const session = fakeSession("rpc");
      const running = runCommand("start Fix --verify x --transport process-pipe", { cwd: "/" }, openPort(session.ctx));
      const dialog = await until(() => session.dialogs[0], 10_000, "the question");
      assert.match(dialog.title, /It has no gate\./);
      dialog.choose(accepts ? dialog.options.at(-1) : undefined);
      await running;
      assert.deepEqual(inputs, accepts ? [undefined, "dialog"] : [undefined]);
      assert.match(session.notices.at(-1)?.text ?? "", accepts ? /has begun/ : /It has no gate/);
    });
});

describe("stop", () => {
  test("passes on what may still run, and never says stopped without proof", async () => {
    const remaining = [{ kind: "process", id: "42", detail: "sleep 100" }];
    const stop: Supervisor["stop"] = async () => ({
      ok: false,
      reason: "failed-to-stop",
      message: "Something may still run.",
      state: "failed_to_stop",
      remaining,
    });
    const ran = await run("stop t-1 --json", "rpc", fakeSupervisor({ stop }));
    assert.deepEqual(onlyJson(ran, "rpc"), {
      ok: false,
      command: "stop",
      reason: "failed-to-stop",
      message: "Something may still run.\n  process 42 sleep 100",
      taskId: "t-1",
      state: "failed_to_stop",
      remaining,
    });
  });

  test("of an ended task says that nothing changed", async () => {
    const stop: Supervisor["stop"] = async () => ({ ok: true, state: "completed" });
    const ran = await run("stop t-1", "rpc", fakeSupervisor({ stop }));
    assert.match(ran.session.notices[0]?.text ?? "", /ended already \(completed\)/);
  });

  test("hands the reason on only when one was given", async () => {
    const supervisor = fakeSupervisor();
    await run("stop t-1 too slow --json", "rpc", supervisor);
    await run("stop t-1 --json", "rpc", supervisor);
    assert.deepEqual(
      supervisor.calls.map((call) => call.args),
      [
        ["t-1", "too slow"],
        ["t-1", undefined],
      ],
    );
  });
});

describe("verify", () => {
  for (const [outcome, exitCode] of [
    ["pass", 0],
    ["fail", 1],
    ["error", 1],
  ] as const)
    test(`with outcome ${outcome} is ok, and exits with ${exitCode} in print mode`, async () => {
      const verify: Supervisor["verify"] = async () => ({
        ok: true,
        outcome,
        state: "human_required",
        message: "It ran.",
        treeId: "abc",
      });
      const ran = await run("verify t-1 --json", "print", fakeSupervisor({ verify }));
      const answer = onlyJson(ran, "print");
      assert.deepEqual([answer.ok, answer.outcome, ran.exitCode], [true, outcome, exitCode]);
    });
});

describe("log", () => {
  test("with --follow and --json is a usage error", async () => {
    const ran = await run("log t-1 --follow --json", "print", fakeSupervisor());
    const answer = onlyJson(ran, "print");
    assert.deepEqual([answer.ok, answer.reason, ran.exitCode], [false, "usage", 2]);
  });

  test("shows the newest records when no start was given, and from the asked one else", async () => {
    const asked: unknown[] = [];
    const log: Supervisor["log"] = async (_id, options) => {
      asked.push(options);
      return { ok: true, events: [], path: "/p", lastSeq: 1_000 };
    };
    await run("log t-1 --json", "rpc", fakeSupervisor({ log }));
    await run("log t-1 --since 7 --json", "rpc", fakeSupervisor({ log }));
    assert.deepEqual(asked, [{ limit: 1 }, { since: 501, limit: 500 }, { since: 7, limit: 500 }]);
  });

  test("keeps one answer within its bound: the newest records stay", async () => {
    const events = Array.from({ length: 500 }, (_, index) => ({
      v: 1 as const,
      seq: index + 1,
      taskId: "t-1",
      workerId: null,
      at: "2026-01-01T00:00:00.000Z",
      mono: 0,
      type: "worker.text",
      data: { preview: "x".repeat(8_000), chars: 8_000 },
      prev: "0".repeat(64),
    }));
    const log: Supervisor["log"] = async () => ({ ok: true, events, path: "/p", lastSeq: 500 });
    const ran = await run("log t-1 --json", "rpc", fakeSupervisor({ log }));
    const answer = onlyJson(ran, "rpc") as { events: { seq: number }[] };
    assert.ok(JSON.stringify(answer).length < 450_000);
    assert.ok(answer.events.length > 10);
    assert.equal(answer.events.at(-1)?.seq, 500);
  });

  test("follows on standard error until the task ends", async () => {
    const follow: Supervisor["follow"] = async (id, since, onEvent, signal) => {
      const event = (seq: number, type: string, data: object) => ({
        v: 1 as const,
        seq,
        taskId: id,
        workerId: null,
        at: "2026-01-01T00:00:00.000Z",
        mono: 0,
        type,
        data,
        prev: "",
      });
      onEvent(event(since, "worker.text", { preview: "hi\u001b[2J" }));
      onEvent(event(since + 1, "task.completed", {}));
      return signal.aborted ? { ok: true } : { ok: false, reason: "endless", message: "It did not end." };
    };
    const ran = await run("log t-1 --follow", "print", fakeSupervisor({ follow }));
    assert.deepEqual(ran.errorOut, [
      "1 00:00:00 worker.text preview=hi",
      "2 00:00:00 task.completed",
      "Task t-1 has ended.",
    ]);
  });
});

test("a followed log stands in a widget, and goes with the same command or with the session", async () => {
  let signalled: AbortSignal | undefined;
  const follow: Supervisor["follow"] = (id, since, onEvent, signal) => {
    signalled = signal;
    const event = { v: 1 as const, seq: since, taskId: id, workerId: null, at: "2026-01-01T00:00:00.000Z", mono: 0 };
    onEvent({ ...event, type: "worker.text", data: { preview: "hi" }, prev: "" });
    return new Promise((resolve) => signal.addEventListener("abort", () => resolve({ ok: true })));
  };
  const hub = hubWith(fakeSupervisor({ follow }));
  const session = fakeSession("rpc");
  const port = openPort(session.ctx);
  await runCommand("log t-1 --follow", { cwd: "/" }, port);
  assert.deepEqual(session.widgets.get("supervise-log"), ["1 00:00:00 worker.text preview=hi"]);
  await runCommand("log t-1 --follow", { cwd: "/" }, port);
  assert.equal(session.widgets.get("supervise-log"), undefined);
  assert.equal(signalled?.aborted, true);
  await runCommand("log t-1 --follow", { cwd: "/" }, port);
  assert.equal(signalled?.aborted, false);
  hub.follower?.stop();
  assert.equal(signalled?.aborted, true);
  assert.equal(hub.follower, undefined);
});

describe("report", () => {
  const inFolder = async (body: (folder: string) => Promise<void>): Promise<void> => {
    const folder = mkdtempSync(join(tmpdir(), "report-"));
    try {
      await body(folder);
    } finally {
      rmSync(folder, { recursive: true });
    }
  };
  const answerOf = async (input: string, folder: string, supervisor = fakeSupervisor()) =>
    onlyJson(await run(`${input} --json`, "rpc", supervisor, folder), "rpc");

  test("writes a page where it was asked to, relative to Pi's folder, for its owner alone", () =>
    inFolder(async (folder) => {
      const answer = await answerOf("report t-1 --html out.html", folder);
      assert.deepEqual([answer.ok, answer.file], [true, join(folder, "out.html")]);
      assert.match(readFileSync(join(folder, "out.html"), "utf8"), /Fix the parser/);
      assert.equal(statSync(join(folder, "out.html")).mode & 0o777, 0o600);
      assert.deepEqual(readdirSync(folder).sort(), ["out.evidence.json", "out.html"]);
      assert.equal(JSON.parse(readFileSync(join(folder, "out.evidence.json"), "utf8")).taskId, "t-1");
    }));

  test("replaces an earlier report and an empty file, and nothing else that is there", () =>
    inFolder(async (folder) => {
      writeFileSync(join(folder, "empty.html"), "");
      assert.equal((await answerOf("report t-1 --html empty.html", folder)).ok, true);
      assert.equal((await answerOf("report t-1 --html empty.html", folder)).ok, true);
      assert.equal((await answerOf("report --all --html empty.html", folder)).ok, true);
      assert.match(readFileSync(join(folder, "empty.html"), "utf8"), /All tasks/);

      writeFileSync(join(folder, "mine.html"), "<p>mine</p>");
      mkdirSync(join(folder, "folder"));
      symlinkSync("mine.html", join(folder, "link.html"));
      symlinkSync("nowhere.html", join(folder, "dangling.html"));
      for (const name of ["mine.html", "folder", "link.html", "dangling.html"]) {
        const refused = await answerOf(`report t-1 --html ${name}`, folder);
        assert.equal(refused.reason, "not-a-report", name);
        assert.match(String(refused.message), /is no report of this program\. Name another FILE\.$/);
      }
      assert.equal(readFileSync(join(folder, "mine.html"), "utf8"), "<p>mine</p>");
      assert.equal((await answerOf("report t-1 --html no/such/folder/out.html", folder)).reason, "cannot-write");
    }));

  test("says when the page stands in the folder of a task that goes on", () =>
    inFolder(async (folder) => {
      const supervisor = fakeSupervisor({
        history: async (id) => ({ ok: true, view: taskView({ taskId: id, cwd: folder }), damage: null }),
      });
      const ran = await run("report t-1 --html out.html", "rpc", supervisor, folder);
      assert.match(ran.session.notices[0]?.text ?? "", /next verification sees it as a change/);
    }));

  test("of all tasks counts each, as text, for programs and as a page", () =>
    inFolder(async (folder) => {
      const supervisor = fakeSupervisor();
      supervisor.views = [taskView(), taskView({ taskId: "t-2", state: "completed", goal: "Second", costUsd: null })];
      const numbers = await answerOf("report --all", folder, supervisor);
      assert.deepEqual([numbers.tasks, numbers.withoutCost], [2, 1]);
      const page = await answerOf("report --all --html all.html", folder, supervisor);
      assert.deepEqual([page.ok, page.tasks, page.file], [true, 2, join(folder, "all.html")]);
      const text = readFileSync(join(folder, "all.html"), "utf8");
      assert.ok(text.includes("t-1") && text.includes("Second"));
      const usage = await answerOf("report t-1 --all", folder, supervisor);
      assert.equal(usage.reason, "usage");
    }));

  test("is served live until the same command comes again, another task is shown, or Pi ends", async (t) => {
    let follows: AbortSignal | undefined;
    const follow: Supervisor["follow"] = (_id, _since, _onEvent, signal) => {
      follows = signal;
      return new Promise((resolve) => signal.addEventListener("abort", () => resolve({ ok: true }), { once: true }));
    };
    const hub = hubWith(fakeSupervisor({ follow }));
    t.after(() => hub.live?.stop());
    const session = fakeSession("rpc");
    const port = openPort(session.ctx);
    const serve = async (id: string): Promise<string | null> => {
      await runCommand(`report ${id} --serve --json`, { cwd: "/" }, port);
      return JSON.parse(session.notices.at(-1)?.text ?? "{}").url;
    };
    const url = await serve("t-1");
    assert.match(await (await fetch(url ?? "")).text(), /Fix the parser[\s\S]*<script>/);
    assert.equal(await serve("t-1"), null);
    await assert.rejects(fetch(url ?? ""), "nobody listens any more");
    assert.equal(follows?.aborted, true);

    const first = await serve("t-1");
    const second = await serve("t-2");
    await assert.rejects(fetch(first ?? ""));
    assert.equal((await fetch(second ?? "")).status, 200);
    await quit(hub);
    await assert.rejects(fetch(second ?? ""), "it ends with Pi");
    assert.deepEqual([follows?.aborted, hub.live], [true, undefined]);
  });

  test("is not served by a Pi that ends with its answer, nor into a file", async () => {
    const ran = await run("report t-1 --serve --json", "print", fakeSupervisor());
    assert.equal(onlyJson(ran, "print").reason, "no-ui");
    for (const more of ["--html out.html", "--all"])
      assert.equal((await answerOf(`report --serve ${more}`, "/")).reason, "usage", more);
  });
});

test("verify waits for a reviewer as long as it takes, but not where a program waits and Pi stays", async () => {
  const waits: [input: string, mode: FakeMode, reviewWaitMs: number | undefined][] = [
    ["verify t-1 --json", "rpc", 12_000],
    ["verify t-1 --json", "tui", 12_000],
    ["verify t-1", "tui", undefined],
    ["verify t-1 --json", "print", undefined],
  ];
  for (const [input, mode, expected] of waits) {
    const asked: unknown[] = [];
    const verify: Supervisor["verify"] = async (_id, options) => {
      asked.push(options?.reviewWaitMs);
      return { ok: true, outcome: "pass", state: "verifying", message: "The reviewer still looks at it.", treeId: "t" };
    };
    await run(input, mode, fakeSupervisor({ verify }));
    assert.deepEqual(asked, [expected], `${input} in ${mode}`);
  }
});

describe("status", () => {
  test("says what it waits for, who must act and how to stop it", async () => {
    const supervisor: FakeSupervisor = fakeSupervisor();
    supervisor.views = [
      taskView({
        state: "human_required",
        waitsFor: "approval",
        requests: [requestView({ input: { command: "rm \u001b[8mhidden" } })],
      }),
    ];
    const ran = await run("status t-1", "rpc", supervisor);
    const text = ran.session.notices[0]?.text ?? "";
    assert.match(text, /^t-1: waits for a person/);
    assert.match(text, /\/supervise approve r-1/);
    assert.match(text, /rm <U\+001B>\[8mhidden/);
    assert.match(text, /Stop: \/supervise stop t-1/);
    assert.match(text, /\$0\.12/);
  });

  test("leaves out a cost that nobody reported", async () => {
    const supervisor = fakeSupervisor();
    supervisor.views = [taskView({ costUsd: null })];
    const ran = await run("status t-1", "rpc", supervisor);
    assert.doesNotMatch(ran.session.notices[0]?.text ?? "", /\$0/);
  });
});

test("an exit code of a failed command is not hidden by a later good one", async () => {
  hubWith(fakeSupervisor());
  const session = fakeSession("print");
  const port = openPort(session.ctx, () => undefined);
  await runCommand("statsu", { cwd: "/" }, port);
  await runCommand("help", { cwd: "/" }, port);
  assert.equal(process.exitCode, 2);
});

test("commands with --json run side by side", async () => {
  let open: (() => void) | undefined;
  const verify: Supervisor["verify"] = () =>
    new Promise((resolve) => {
      open = () => resolve({ ok: true, outcome: "pass", state: "completed", message: "", treeId: "a" });
    });
  hubWith(fakeSupervisor({ verify }));
  const session = fakeSession("rpc");
  const port = openPort(session.ctx);
  const slow = runCommand("verify t-1 --json", { cwd: "/" }, port);
  await until(() => open, 10_000, "the verification runs");
  await runCommand("status t-1 --json", { cwd: "/" }, port);
  assert.deepEqual(
    session.notices.map((notice) => JSON.parse(notice.text).command),
    ["status"],
  );
  open?.();
  await slow;
  assert.deepEqual(
    session.notices.map((notice) => JSON.parse(notice.text).command),
    ["status", "verify"],
  );
});

describe("estop", () => {
  for (const mode of ["tui", "rpc", "json", "print"] as const) {
    const printing = mode === "json" || mode === "print";

    test(`in ${mode} mode: a mistake and an unknown id are told once, and change nothing`, async () => {
      const table: [words: string, reason: string, exitCode: number][] = [
        ["estop", "missing-argument", 2],
        ["estop halt", "bad-value", 2],
        ["estop stop t-9 --all", "bad-value", 2],
        ["estop stop --now --after-call", "bad-value", 2],
        ["estop status t-9", "unknown-identity", 1],
        ["estop stop t-9", "unknown-identity", 1],
      ];
      assert.equal(onlyJson(await run("estop pause --json", mode, fakeSupervisor()), mode).ok, true);
      for (const [words, reason, exitCode] of table) {
        const json = await run(`${words} --json`, mode, fakeSupervisor());
        assert.deepEqual([onlyJson(json, mode).ok, onlyJson(json, mode).reason], [false, reason], words);
        assert.equal(json.exitCode, printing ? exitCode : undefined, words);
        const text = await run(words, mode, fakeSupervisor());
        assert.equal(text.session.notices.length + text.errorOut.length, 1, words);
        assert.equal(text.session.notices[0]?.level ?? "error", "error", words);
      }
      const now = onlyJson(await run("estop status --json", mode, fakeSupervisor()), mode);
      assert.deepEqual([now.inForce, now.epoch], [true, 1]);
    });
  }

  test("is lifted in the TUI by what a person types, and by nothing else", async () => {
    assert.equal(onlyJson(await run("estop stop --json", "tui", fakeSupervisor()), "tui").ok, true);
    hubWith(fakeSupervisor());
    const lift = async (typed: string | undefined, why?: string) => {
      const session = fakeSession("tui");
      const running = runCommand("estop resume", { cwd: "/" }, openPort(session.ctx));
      (await until(() => session.dialogs[0], 10_000, "the epoch to be asked for")).choose(typed);
      if (why !== undefined) (await until(() => session.dialogs[1], 10_000, "the reason to be asked for")).choose(why);
      await running;
      return session.notices[0]?.text ?? "";
    };
    for (const typed of [undefined, "", "1", "2 all", "1 all really"])
      assert.match(await lift(typed), /Nothing changed/, String(typed));
    assert.match(await lift("1 all", "It was a drill"), /The stop is lifted \(epoch 1\)\. Nothing starts by itself\./);
    assert.match(await lift2(), /No stop is in force/);

    async function lift2(): Promise<string> {
      const session = fakeSession("tui");
      await runCommand("estop resume", { cwd: "/" }, openPort(session.ctx));
      return session.notices[0]?.text ?? "";
    }
  });
});

/** Bad input: one clear sentence, nothing left running, nothing half-written. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { chmod, mkdir, readdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import type { StartInput } from "../../src/supervisor/api.ts";
import { getSupervisor } from "../../src/supervisor/index.ts";
import { LocalSupervisor } from "../../src/supervisor/local-supervisor.ts";
import { claudeBinary, workerEnvNames } from "../support/claude.ts";
import { assertNoneLeft } from "../support/processes.ts";
import { createLab, type Lab } from "../support/workspace.ts";
import { openStage } from "./stage.ts";

interface Case {
  name: string;
  reason: string;
  /** What the sentence must say, so that a person knows what to do. */
  says: RegExp;
  input?: Partial<StartInput>;
  env?: (lab: Lab) => Promise<Record<string, string>>;
  prepare?: (lab: Lab, cwd: string) => Promise<Partial<StartInput>>;
}

const script = async (lab: Lab, body: string): Promise<Record<string, string>> => {
  const path = join(lab.tmp, "claude");
  await writeFile(path, `#!/bin/sh\n${body}\n`);
  await chmod(path, 0o755);
  return { PI_CLAUDE_SUPERVISOR_CLAUDE: path };
};

const CASES: Case[] = [
  { name: "no goal", reason: "goal-missing", says: /supervise start/, input: { goal: "  " } },
  { name: "no verification", reason: "verify-missing", says: /--verify/, input: { verify: [] } },
  { name: "an empty verification", reason: "verify-empty", says: /empty/i, input: { verify: ["  "] } },
  {
    name: "a verification that can't be parsed",
    reason: "verify-syntax",
    says: /verif/i,
    input: { verify: ["echo 'open"] },
  },
  {
    name: "a verification that the policy denies",
    reason: "verify-denied",
    says: /policy/,
    input: { verify: ["claude --dangerously-skip-permissions -p hi"] },
  },
  { name: "a folder that does not exist", reason: "cwd", says: /does not exist.*--cwd/, input: { cwd: "missing" } },
  { name: "a file instead of a folder", reason: "cwd", says: /is no folder.*--cwd/, input: { cwd: "a.txt" } },
  {
    name: "a workspace that holds the state folder",
    reason: "state-dir-in-workspace",
    says: /STATE_DIR/,
    prepare: async (lab) => ({ cwd: lab.root }),
  },
  {
    name: "no Claude on PATH",
    reason: "claude-not-found",
    says: /PI_CLAUDE_SUPERVISOR_CLAUDE/,
    env: async () => ({ PI_CLAUDE_SUPERVISOR_CLAUDE: "", PATH: "/usr/bin:/bin" }),
  },
  {
    name: "a Claude path that is not there",
    reason: "claude-not-found",
    says: /PI_CLAUDE_SUPERVISOR_CLAUDE/,
    env: async (lab) => ({ PI_CLAUDE_SUPERVISOR_CLAUDE: join(lab.tmp, "none") }),
  },
  {
    name: "a Claude that is not executable",
    reason: "claude-not-executable",
    says: /may not be read and run/,
    env: async (lab) => {
      const env = await script(lab, "exit 0");
      await chmod(join(lab.tmp, "claude"), 0o644);
      return env;
    },
  },
  {
    name: "a Claude that is too old",
    reason: "claude-too-old",
    says: /2\.1\.200.*2\.1\.268/,
    env: (lab) => script(lab, "echo '2.1.200 (Claude Code)'"),
  },
  {
    name: "the stub that npm leaves when scripts are off",
    reason: "claude-stub",
    says: /install/,
    env: (lab) => script(lab, 'echo "Error: claude native binary not installed." >&2; exit 1'),
  },
  {
    name: "a Claude that prints no version",
    reason: "claude-version-unknown",
    says: /version/,
    env: (lab) => script(lab, "echo hello"),
  },
  { name: "a bad number of rounds", reason: "bad-limit", says: /--max-rounds/, input: { maxRounds: 0 } },
  { name: "a bad time limit", reason: "bad-limit", says: /--timeout/, input: { timeoutMs: -5 } },
  { name: "the transport without a gate", reason: "ungated", says: /gate/, input: { transport: "process-pipe" } },
  {
    name: "a setting that is no choice",
    reason: "config-value",
    says: /PI_CLAUDE_SUPERVISOR_MODE.*manual/,
    env: async () => ({ PI_CLAUDE_SUPERVISOR_MODE: "yolo" }),
  },
  {
    name: "automatic mode with the transport without a gate",
    reason: "config-conflict",
    says: /claude-jsonl/,
    input: { mode: "auto", transport: "process-pipe" },
  },
  {
    name: "a variable that may never reach a worker",
    reason: "config-value",
    says: /NODE_OPTIONS/,
    env: async () => ({ PI_CLAUDE_SUPERVISOR_WORKER_ENV: "NODE_OPTIONS", NODE_OPTIONS: "--no-warnings" }),
  },
];

async function open(t: TestContext, extra: (lab: Lab) => Promise<Record<string, string>>) {
  const lab = await createLab(t);
  const cwd = await lab.repo({ "a.txt": "x\n" });
  const env = {
    ...lab.env,
    PI_CLAUDE_SUPERVISOR_STATE_DIR: lab.stateDir,
    PI_CLAUDE_SUPERVISOR_CLAUDE: claudeBinary(),
    PI_CLAUDE_SUPERVISOR_WORKER_ENV: workerEnvNames(),
    ...(await extra(lab)),
  };
  return { lab, cwd, env, opened: await getSupervisor(env) };
}

async function openSupervisor(t: TestContext, extra: (lab: Lab) => Promise<Record<string, string>> = async () => ({})) {
  const { lab, cwd, opened } = await open(t, extra);
  assert.ok(opened.ok, JSON.stringify(opened));
  const { supervisor } = opened;
  lab.defer(() => supervisor.shutdown(1_000));
  return { lab, cwd, supervisor };
}

const good = (cwd: string): StartInput => ({ goal: "Look", from: cwd, verify: ["true"], mode: "manual" });

function isOneSentence(message: string): void {
  assert.ok(message.length > 20 && message.length < 600, message);
  assert.ok(!message.includes("\n") && !/undefined|\[object|at .*\(.*:\d+\)/.test(message), message);
  assert.match(message, /[.!?]$|run: [^\n]+$/);
}

describe("start refuses", () => {
  for (const one of CASES) {
    test(one.name, async (t) => {
      const { lab, cwd, supervisor } = await openSupervisor(t, one.env);
      const prepared = (await one.prepare?.(lab, cwd)) ?? {};
      const answer = await supervisor.start({ ...good(cwd), ...one.input, ...prepared });
      assert.equal(answer.ok, false);
      if (answer.ok) return;
      assert.equal(answer.reason, one.reason, answer.message);
      assert.match(answer.message, one.says);
      isOneSentence(answer.message);
      assert.deepEqual(await readdir(join(lab.stateDir, "tasks")), [], "nothing half-written");
      await assertNoneLeft(lab.mark, 2_000);
    });
  }

  test("a verification that holds a secret", async (t) => {
    const { lab, cwd, supervisor } = await openSupervisor(t);
    const token = `ghp_${randomBytes(18).toString("hex")}`;
    const answer = await supervisor.start({
      ...good(cwd),
      verify: [`curl -H "Authorization: Bearer ${token}" http://127.0.0.1:9`],
    });
    assert.ok(!answer.ok && answer.reason === "verify-secret", JSON.stringify(answer));
    assert.ok(!answer.message.includes(token));
    assert.deepEqual(await readdir(join(lab.stateDir, "tasks")), []);
  });

  test("a folder in which another task works, whatever its spelling", async (t) => {
    const { lab, cwd, supervisor } = await openSupervisor(t, (lab) =>
      script(lab, 'case "$1" in --version) echo "2.1.268 (Claude Code)";; *) exec sleep 60;; esac'),
    );
    const first = await supervisor.start(good(cwd));
    assert.ok(first.ok, JSON.stringify(first));
    await symlink(cwd, join(lab.tmp, "alias"));
    const second = await supervisor.start({ ...good(cwd), cwd: join(lab.tmp, "alias") });
    assert.ok(!second.ok && second.reason === "cwd-busy", JSON.stringify(second));
    assert.match(second.message, new RegExp(first.taskId));
    const stopped = await supervisor.kill(first.taskId);
    assert.deepEqual([stopped.ok, stopped.ok && stopped.state], [true, "stopped"], JSON.stringify(stopped));
    await assertNoneLeft(lab.mark, 3_000);
  });
});

test("a Claude that exits before the handshake fails the task with its own words, and nothing is left", async (t) => {
  const { lab, cwd, supervisor } = await openSupervisor(t, (lab) =>
    script(
      lab,
      'case "$1" in --version) echo "2.1.268 (Claude Code)";; *) echo "no config for you" >&2; exit 3;; esac',
    ),
  );
  const started = await supervisor.start(good(cwd));
  assert.ok(started.ok);
  const view = await supervisor.settled(started.taskId);
  assert.equal(view.state, "failed");
  assert.match(view.why ?? "", /no config for you/);
  await assertNoneLeft(lab.mark, 3_000);
  const replayed = await supervisor.replay(started.taskId);
  assert.ok(replayed.ok);
});

describe("the state folder is refused", () => {
  const broken: { name: string; reason: string; make: (lab: Lab) => Promise<void> }[] = [
    {
      name: "open to others",
      reason: "wrong-mode",
      make: (lab) => mkdir(lab.stateDir, { mode: 0o755 }).then(() => chmod(lab.stateDir, 0o755)),
    },
    {
      name: "a symbolic link",
      reason: "symlink",
      make: async (lab) => {
        await mkdir(join(lab.root, "elsewhere"), { mode: 0o700 });
        await symlink(join(lab.root, "elsewhere"), lab.stateDir);
      },
    },
    { name: "a file", reason: "not-a-directory", make: (lab) => writeFile(lab.stateDir, "x") },
  ];
  for (const one of broken) {
    test(one.name, async (t) => {
      const { opened } = await open(t, async (lab) => {
        await one.make(lab);
        return {};
      });
      assert.equal(opened.ok, false);
      if (opened.ok) return;
      assert.equal(opened.reason, one.reason, opened.message);
      isOneSentence(opened.message);
    });
  }

  test("a relative path", async (t) => {
    const { opened } = await open(t, async () => ({ PI_CLAUDE_SUPERVISOR_STATE_DIR: "state" }));
    assert.ok(!opened.ok && opened.reason === "state-dir", JSON.stringify(opened));
  });
});

test("an automatic task is refused while supervisor.json has automation off; a manual one is not", async (t) => {
  const stage = await openStage(t, { scenario: "obedient" });
  const settings = join(stage.lab.tmp, "supervisor.json");
  await writeFile(settings, '{ "automation": "off" }', { mode: 0o600 });
  const supervisor = new LocalSupervisor({ ...stage.deps, agentDir: stage.lab.tmp });
  stage.lab.defer(() => supervisor.shutdown(1_000));
  const refused = await supervisor.start({ ...good(stage.cwd), mode: "auto" });
  assert.ok(!refused.ok && refused.reason === "automation-off", JSON.stringify(refused));
  isOneSentence(refused.message);
  assert.ok((await supervisor.start(good(stage.cwd))).ok);
});

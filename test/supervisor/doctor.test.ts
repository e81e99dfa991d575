/** `doctor` finds each fault of an installation and says how to mend it; a good one has nothing to say. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { existsSync, readdirSync } from "node:fs";
import { chmod, chown, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "node:test";
import { type DoctorHost, diagnose, type Finding, realHost } from "../../src/supervisor/doctor/index.ts";
import { FAKE_CLAUDE, FAKE_CLAUDE_VARIABLES, fakeClaude } from "../support/fake-claude/index.ts";
import { assertNoneLeft, MARK_NAME } from "../support/processes.ts";
import { type AfterHook, createLab, type Lab } from "../support/workspace.ts";

const NAMES = [...FAKE_CLAUDE_VARIABLES, MARK_NAME].join(",");

interface Setting {
  lab: Lab;
  env: Record<string, string>;
  more: Partial<DoctorHost>;
}

/** A healthy installation, then one thing spoiled. */
async function examine(t: AfterHook, spoil: (setting: Setting) => unknown = () => undefined) {
  const lab = await createLab(t);
  await mkdir(join(lab.home, ".claude"));
  await writeFile(join(lab.home, ".claude", ".credentials.json"), randomUUID(), { mode: 0o600 });
  const setting: Setting = {
    lab,
    env: {
      ...lab.env,
      ...fakeClaude(lab.tmp).env,
      PI_CLAUDE_SUPERVISOR_STATE_DIR: lab.stateDir,
      PI_CLAUDE_SUPERVISOR_CLAUDE: FAKE_CLAUDE,
      PI_CLAUDE_SUPERVISOR_WORKER_ENV: NAMES,
    },
    more: { containment: () => ({ kind: "cgroup", text: "A cgroup of its own holds each worker." }) },
  };
  await spoil(setting);
  const { env, more } = setting;
  const host = realHost({ env, agentDir: undefined, trustedProject: undefined, cwd: lab.root, piVersion: "1.6.0" });
  const findings = await diagnose({ ...host, ...more });
  await assertNoneLeft(lab.mark, 5_000);
  return { lab, findings };
}

async function program(lab: Lab, text: string, mode = 0o755): Promise<string> {
  const path = join(lab.root, "claude");
  await writeFile(path, text);
  await chmod(path, mode);
  return path;
}

type Fault = [
  name: string,
  spoil: (setting: Setting) => unknown,
  check: string,
  level: Finding["level"],
  found: RegExp,
  fix: RegExp,
];

/** Only root can give a folder away. */
const FOREIGN_OWNER: Fault = [
  "a state folder of another owner",
  async ({ lab }) => {
    await mkdir(lab.stateDir, { mode: 0o700 });
    await chown(lab.stateDir, 65_534, 65_534);
  },
  "state-folder",
  "error",
  /belongs to user 65534, not to you/,
  /Choose a folder of your own/,
];

const FAULTS: readonly Fault[] = [
  [
    "no Claude",
    ({ env }) => {
      delete env["PI_CLAUDE_SUPERVISOR_CLAUDE"];
      env["PATH"] = "/nowhere:/usr/bin:/bin";
    },
    "claude",
    "error",
    /No claude program was found on PATH/,
    /Install Claude Code, or set PI_CLAUDE_SUPERVISOR_CLAUDE/,
  ],
  [
    "a Claude that is too old",
    async ({ lab, env }) => {
      env["PI_CLAUDE_SUPERVISOR_CLAUDE"] = await program(lab, "#!/bin/sh\necho '2.0.1 (Claude Code)'\n");
    },
    "claude",
    "error",
    /is Claude Code 2\.0\.1; at least 2\.1\.268 is needed/,
    /Update it \(claude update\)/,
  ],
  [
    "a Claude that may not be run",
    async ({ lab, env }) => {
      env["PI_CLAUDE_SUPERVISOR_CLAUDE"] = await program(lab, "#!/bin/sh\n", 0o644);
    },
    "claude",
    "error",
    /may not be read and run by this user/,
    /Change its mode/,
  ],
  [
    "a Claude that ends at once",
    async ({ lab, env }) => {
      Object.assign(env, fakeClaude(lab.tmp, "exits", { stderr: "no such option\n", code: 1 }).env);
    },
    "gate",
    "error",
    /no such option/,
    /Run .*claude in a terminal.*worker-exit/,
  ],
  [
    "a Claude that does not confirm the gate",
    ({ lab, env }) => {
      Object.assign(env, fakeClaude(lab.tmp, "oddHandshake", { hooks_applied: false }).env);
    },
    "gate",
    "error",
    /A trial start failed: /,
    /hooks-not-applied/,
  ],
  [
    "no login",
    ({ lab, env }) => {
      env["HOME"] = join(lab.root, "another-home");
    },
    "login",
    "error",
    /No login for Claude was found/,
    /Run `claude` once and type \/login/,
  ],
  [
    "a key that does not reach the worker",
    ({ lab, env }) => {
      env["HOME"] = join(lab.root, "another-home");
      env["ANTHROPIC_API_KEY"] = randomUUID();
    },
    "login",
    "error",
    /ANTHROPIC_API_KEY is set for Pi, but does not reach the worker/,
    /PI_CLAUDE_SUPERVISOR_WORKER_ENV=.*ANTHROPIC_API_KEY/,
  ],
  [
    "no cgroup",
    ({ more }) => {
      more.containment = () => ({ kind: "census", text: "No cgroup v2 is mounted on this system." });
    },
    "cgroup",
    "warning",
    /No cgroup v2/,
    /systemd-run --user --scope/,
  ],
  [
    "no cgroup where one is required",
    ({ env, more }) => {
      env["PI_CLAUDE_SUPERVISOR_CGROUP"] = "required";
      more.containment = () => ({ kind: "census", text: "No cgroup v2 is mounted on this system." });
    },
    "cgroup",
    "error",
    /required/,
    /PI_CLAUDE_SUPERVISOR_CGROUP=auto/,
  ],
  ...[0x6969, 0xfe534d42, -28095166, 0x65735546].map(
    (type): Fault => [
      `a state folder on a network file system (${type})`,
      ({ more }) => {
        more.fileSystemType = () => type;
      },
      "file-system",
      "warning",
      /The state folder is on (NFS|SMB 2|FUSE)/,
      /PI_CLAUDE_SUPERVISOR_STATE_DIR to a folder on a local disk/,
    ],
  ),
  [
    "a read-only file system",
    ({ more }) => {
      more.writable = () => "read-only";
    },
    "state-folder",
    "error",
    /is on a read-only file system/,
    /Set PI_CLAUDE_SUPERVISOR_STATE_DIR/,
  ],
  [
    "a folder that can't be written",
    ({ more }) => {
      more.writable = () => "denied";
    },
    "state-folder",
    "error",
    /You can't write/,
    /folder of your own/,
  ],
  [
    "a state folder that is open to others",
    async ({ lab }) => {
      await mkdir(lab.stateDir);
      await chmod(lab.stateDir, 0o755);
    },
    "state-folder",
    "error",
    /open to other users \(mode 0755\)/,
    /chmod 700/,
  ],
  [
    "a state folder that is a link",
    async ({ lab }) => {
      await mkdir(join(lab.root, "elsewhere"), { mode: 0o700 });
      await symlink(join(lab.root, "elsewhere"), lab.stateDir);
    },
    "state-folder",
    "error",
    /goes through the symbolic link/,
    /Give the real path, without links/,
  ],
  ...(process.getuid?.() === 0 ? [FOREIGN_OWNER] : []),
  [
    "a state folder whose path is not absolute",
    ({ env }) => {
      env["PI_CLAUDE_SUPERVISOR_STATE_DIR"] = "not/absolute";
    },
    "state-folder",
    "error",
    /is not an absolute path/,
    /starts with \//,
  ],
  [
    "a Claude that is npm's placeholder",
    async ({ lab, env }) => {
      env["PI_CLAUDE_SUPERVISOR_CLAUDE"] = await program(lab, "#!/bin/sh\necho claude native binary not installed\n");
    },
    "claude",
    "error",
    /only npm's placeholder/,
    /Reinstall it with install scripts/,
  ],
  [
    "an old Node",
    ({ more }) => {
      more.nodeVersion = "18.20.4";
    },
    "node",
    "error",
    /Node 18\.20\.4/,
    /Install Node 22\.19 or newer/,
  ],
  [
    "a Pi inside of Claude Code",
    ({ env }) => {
      env["CLAUDECODE"] = "1";
    },
    "nesting",
    "warning",
    /CLAUDECODE is set/,
    /unset CLAUDECODE/,
  ],
  [
    "no git and no flock",
    ({ env }) => {
      env["PATH"] = "/nowhere";
    },
    "flock",
    "error",
    /flock can't be run/,
    /Install util-linux/,
  ],
  [
    "automation that is switched off",
    async ({ lab, more }) => {
      more.agentDir = join(lab.root, "agent");
      await mkdir(more.agentDir);
      await writeFile(join(more.agentDir, "supervisor.json"), '{ "automation": "off" }', { mode: 0o600 });
    },
    "automation",
    "warning",
    /Automation is off \(person\): automatic tasks wait/,
    /"automation": "on" in supervisor\.json/,
  ],
  [
    "an emergency stop in force",
    async ({ lab, env }) => {
      const control = join(lab.root, "control");
      await mkdir(control, { mode: 0o700 });
      await writeFile(join(control, "STOP-ALL"), "", { mode: 0o600 });
      env["PI_CLAUDE_SUPERVISOR_CONTROL_DIR"] = control;
    },
    "emergency-stop",
    "error",
    /STOP-ALL|stop/i,
    /\/supervise estop status/,
  ],
  [
    "a setting with a wrong value",
    ({ env }) => {
      env["PI_CLAUDE_SUPERVISOR_MODE"] = "automatic";
    },
    "settings",
    "error",
    /PI_CLAUDE_SUPERVISOR_MODE/,
    /manual|auto/,
  ],
];

describe("doctor", () => {
  test("has nothing to mend on a good installation, makes no folder and leaves nothing behind", async (t) => {
    const own = await mkdtemp(join(tmpdir(), "pcs-doctor-"));
    const before = process.env["TMPDIR"];
    t.after(async () => {
      if (before === undefined) delete process.env["TMPDIR"];
      else process.env["TMPDIR"] = before;
      await rm(own, { recursive: true, force: true });
    });
    process.env["TMPDIR"] = own;
    const { lab, findings } = await examine(t);
    assert.deepEqual(
      findings.filter((one) => one.level !== "ok"),
      [],
    );
    assert.deepEqual(
      findings.map((one) => one.check),
      [
        "node",
        "pi",
        "nesting",
        "git",
        ...(process.platform === "darwin" ? [] : ["flock"]),
        "claude",
        "login",
        "gate",
        "cgroup",
        "state-folder",
        "file-system",
        "emergency-stop",
        "automation",
        "settings",
      ],
    );
    const gate = findings.find((one) => one.check === "gate");
    assert.match(gate?.found ?? "", /confirmed the gate, contained by (cgroup|census), watched by a guardian/);
    assert.equal(existsSync(lab.stateDir), false);
    const left = readdirSync(own).filter((name) => name.startsWith("pi-claude-"));
    assert.deepEqual(left, [], "its folders are removed");
  });

  for (const [name, spoil, check, level, found, fix] of FAULTS) {
    test(`finds ${name}, and says how to mend it`, async (t) => {
      const { findings } = await examine(t, spoil);
      const told = findings.find((one) => one.check === check);
      assert.equal(told?.level, level, JSON.stringify(findings, null, 1));
      assert.match(told?.found ?? "", found);
      assert.match(told?.fix ?? "", fix);
    });
  }

  test("names the kind of a login and where settings come from, and shows no value of a secret", async (t) => {
    const key = randomUUID();
    const { findings } = await examine(t, ({ lab, env }) => {
      env["HOME"] = join(lab.root, "another-home");
      env["ANTHROPIC_API_KEY"] = key;
      env["PI_CLAUDE_SUPERVISOR_WORKER_ENV"] += ",ANTHROPIC_API_KEY";
      env["PI_CLAUDE_SUPERVISOR_HUMAN_WEBHOOK_URL"] = `https://example.invalid/${key}`;
    });
    const said = JSON.stringify(findings);
    assert.match(said, /Claude's login is the variable ANTHROPIC_API_KEY/);
    assert.match(said, /webhook\.url = \(set\) \(environment\)/);
    assert.ok(!said.includes(key));
  });
});

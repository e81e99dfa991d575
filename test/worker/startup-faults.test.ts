/** Group B of the failure cases: start-up, environment and the program itself. */
import assert from "node:assert/strict";
import { chmod, mkdir, rename, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import type { WorkerStartInput } from "../../src/core/contracts/worker.ts";
import { executableDrift, findClaude, platformBinary } from "../../src/worker/index.ts";
import { FAKE_CLAUDE, fakeClaude } from "../support/fake-claude/index.ts";
import { assertNoneLeft, MARK_NAME } from "../support/processes.ts";
import { createLab, type Lab } from "../support/workspace.ts";
import { drive } from "./driver.ts";
import { FAKE_FACTS, fakeScene, readyFake } from "./fake-scene.ts";

const UPDATER = ["CLAUDE_CODE_SDK_READS_SESSION_STATE", "DISABLE_AUTOUPDATER"];
/** What shells and the containment add by themselves. */
const ADDED = (name: string): boolean => /^(PWD|OLDPWD|SHLVL|_|PI_CLAUDE_SUPERVISOR_\w+|FAKE_\w+|E2E_MARK)$/.test(name);

describe("a start", () => {
  test("B1: the prompt goes by stdin, in time for a program that waits 3 s for it", async (t) => {
    const { driven } = await readyFake(t, "impatient");
    await driven.prompt("go");
    assert.equal((await driven.next("result")).isError, false);
  });

  test("B2: a program that stays silent is startup-timeout, its tree is ended, the message points at MCP", async (t) => {
    const { driven, lab } = await fakeScene(t, "silent", {}, { input: { startupTimeoutMs: 700 } });
    const started = await driven.worker.start();
    assert.ok(!started.ok);
    assert.equal(started.reason, "startup-timeout");
    assert.match(started.message, /0\.7 s.*MCP/);
    await assertNoneLeft(lab.mark, 1000);
  });

  test("B2: no MCP server comes from the repository unless it is trusted", async (t) => {
    const expected: [WorkerStartInput["trust"], string[]][] = [
      ["none", ["--setting-sources=", "--strict-mcp-config"]],
      ["user", ["--setting-sources=user", "--strict-mcp-config"]],
      ["project", ["--setting-sources=user,project,local"]],
    ];
    for (const [trust, flags] of expected) {
      const { driven, fake } = await readyFake(t, "obedient", {}, { input: { trust } });
      const argv = fake.factsOf("start")[0]?.argv ?? [];
      assert.deepEqual(
        argv.filter((word) => /setting-sources|mcp/.test(word)),
        flags,
      );
      await driven.worker.stop({ kind: "now", graceMs: 0 });
    }
  });

  test("B3: no command line of ours asks for a bypass, and a refusal of Claude is told in its words", async (t) => {
    const words = "--dangerously-skip-permissions cannot be used with root/sudo privileges for security reasons\n";
    for (const trust of ["none", "user", "project"] as const) {
      const { driven, fake, lab } = await fakeScene(t, "exits", { stderr: words }, { input: { trust } });
      const started = await driven.worker.start();
      assert.ok(!started.ok);
      assert.deepEqual([started.reason, started.message.includes(words.trim())], ["worker-exit", true]);
      const argv = fake.factsOf("start")[0]?.argv ?? [];
      assert.ok(!argv.some((word) => /dangerous|bypass|allowed-?tools/i.test(word)));
      assert.equal(argv[argv.indexOf("--permission-mode") + 1], "default");
      await assertNoneLeft(lab.mark, 1000);
    }
  });

  test("B6: an expired login is told apart by the API error that the result carries", async (t) => {
    const lines = [
      '{"type":"assistant","error":"authentication_failed","message":{"content":[{"type":"text","text":"Please run /login"}]}}',
      '{"type":"result","subtype":"success","is_error":true,"num_turns":1,"result":"Please run /login"}',
    ];
    const { driven } = await readyFake(t, "lines", { lines });
    await driven.prompt("go");
    const result = await driven.next("result");
    assert.deepEqual([result.isError, result.subtype, result.apiError], [true, "success", "authentication_failed"]);
  });

  test("B7: an error result before the handshake stands in the message", async (t) => {
    const result = {
      subtype: "error_during_execution",
      is_error: true,
      errors: ["config_file_invalid: /home/user/.claude.json"],
    };
    const { driven } = await fakeScene(t, "exits", { stderr: "bad config\n", result });
    const started = await driven.worker.start();
    assert.ok(!started.ok);
    assert.equal(started.reason, "worker-exit");
    assert.match(started.message, /exit code 1.*bad config.*config_file_invalid/s);
  });

  test("an exit without a word says so", async (t) => {
    const { driven } = await fakeScene(t, "exits", { code: 3 });
    const started = await driven.worker.start();
    assert.ok(!started.ok);
    assert.match(started.message, /exit code 3.*printed nothing/);
  });

  test("F1: a session that is not there is no-session only where it was asked for", async (t) => {
    const words = { stderr: "No conversation found with session ID: x\n" };
    for (const [resume, reason] of [
      [true, "no-session"],
      [false, "worker-exit"],
    ] as const) {
      const { driven } = await fakeScene(t, "exits", words, { input: { resume } });
      const started = await driven.worker.start();
      assert.equal(started.ok ? "" : started.reason, reason);
    }
  });

  const HANDSHAKES: [string, object, string][] = [
    ["C4: the mode auto", { current_permission_mode: "auto" }, "permission-mode"],
    ["C4: the mode bypassPermissions", { current_permission_mode: "bypassPermissions" }, "permission-mode"],
    ["no mode at all", { current_permission_mode: null }, "permission-mode"],
    ["hooks that were not applied", { hooks_applied: false }, "hooks-not-applied"],
    ["a reply that does not speak of hooks", { hooks_applied: null }, "hooks-not-applied"],
  ];
  for (const [what, reply, reason] of HANDSHAKES) {
    test(`${what} is refused before the first prompt, and nothing is left`, async (t) => {
      const { driven, fake, lab } = await fakeScene(t, "oddHandshake", reply);
      const started = await driven.worker.start();
      assert.equal(started.ok ? "" : started.reason, reason);
      assert.deepEqual(
        fake.factsOf("stdin").filter((fact) => fact.line.includes('"type":"user"')),
        [],
      );
      await assertNoneLeft(lab.mark, 1000);
    });
  }

  test("the narrower mode plan is fine", async (t) => {
    const { driven } = await fakeScene(t, "oddHandshake", { current_permission_mode: "plan" });
    assert.deepEqual(await driven.worker.start(), { ok: true, permissionMode: "plan" });
  });
});

describe("the worker's environment", () => {
  const minimal = (lab: Lab): Record<string, string> => ({
    PATH: lab.env.PATH ?? "",
    HOME: lab.home,
    LANG: "C.UTF-8",
    LC_TIME: "C.UTF-8",
    TERM: "dumb",
  });

  async function namesFor(t: TestContext, host: Record<string, string>, listed: string[]): Promise<string[]> {
    const lab = await createLab(t);
    const fake = fakeClaude(lab.root);
    const driven = await drive({
      lab,
      cwd: lab.root,
      executable: FAKE_FACTS,
      input: { workerEnvNames: [...listed, MARK_NAME, ...Object.keys(fake.env)] },
      hostEnv: { ...minimal(lab), [MARK_NAME]: lab.mark, ...fake.env, ...host },
    });
    const started = await driven.worker.start();
    assert.ok(started.ok, JSON.stringify(started));
    const foreign = (names: readonly string[]): string[] => names.filter((name) => !ADDED(name));
    const names = foreign(fake.factsOf("start")[0]?.env ?? []);
    assert.deepEqual(foreign(driven.of("spawned")[0]?.envNames ?? []), names, "the names that are recorded");
    return names;
  }

  test("B4, B11: only the minimal set and listed names arrive, whatever the host has", async (t) => {
    const host = {
      CLAUDECODE: "1",
      NODE_OPTIONS: "--max-old-space-size=100",
      DEBUG: "*",
      IS_SANDBOX: "1",
      CLAUDE_CODE_ENTRYPOINT: "cli",
      CLAUDE_CODE_BUBBLEWRAP: "1",
      FAKETOKEN: "made-up",
      HTTPS_PROXY: "http://user:word@proxy.invalid",
      SSH_AUTH_SOCK: "/nowhere",
    };
    const names = await namesFor(t, host, []);
    assert.deepEqual(names, [...UPDATER, "HOME", "LANG", "LC_TIME", "PATH", "TERM", "TMPDIR"].sort());
  });

  test("a listed name arrives, also one whose prefix is stripped", async (t) => {
    const host = { CLAUDE_CODE_USE_BEDROCK: "1", ANTHROPIC_API_KEY: "made-up", OTHER: "no" };
    const names = await namesFor(t, host, ["CLAUDE_CODE_USE_BEDROCK", "ANTHROPIC_API_KEY", "NOT_THERE"]);
    assert.ok(names.includes("CLAUDE_CODE_USE_BEDROCK") && names.includes("ANTHROPIC_API_KEY"));
    assert.ok(!names.includes("OTHER") && !names.includes("NOT_THERE"));
  });

  for (const name of [
    "CLAUDECODE",
    "NODE_OPTIONS",
    "IS_SANDBOX",
    "CLAUDE_CODE_BUBBLEWRAP",
    "PI_CLAUDE_SUPERVISOR_CGROUP",
    "A B",
    "X=1",
  ]) {
    test(`listing ${name} is refused at the start`, async (t) => {
      for (const options of [{ hostEnv: {}, input: { workerEnvNames: [name] } }, { input: { env: { [name]: "1" } } }]) {
        const { driven, fake } = await fakeScene(t, "obedient", {}, options);
        const started = await driven.worker.start();
        assert.equal(started.ok ? "" : started.reason, "env-refused");
        assert.deepEqual(fake.facts(), []);
      }
    });
  }
});

describe("the program", () => {
  async function program(lab: Lab, name: string, script: string): Promise<string> {
    const path = join(lab.root, name);
    await writeFile(path, script);
    await chmod(path, 0o755);
    return path;
  }
  const version = (text: string): string => `#!/bin/sh\necho "${text}"\n`;

  async function reasonFor(configured: string, timeout = 5000): Promise<[string, string]> {
    const found = await findClaude({ configured, host: process.env, versionTimeoutMs: timeout });
    return found.ok ? ["ok", found.notice ?? ""] : [found.reason, found.message];
  }

  test("is found on PATH by its real path, past folders that are relative or empty", async (t) => {
    const lab = await createLab(t);
    const bin = join(lab.root, "bin");
    await mkdir(bin);
    await symlink(FAKE_CLAUDE, join(bin, "claude"));
    await program(lab, "claude", version("9.9.9"));
    const found = await findClaude({ host: { PATH: `:.:relative:/nowhere:${bin}:/usr/bin:/bin`, HOME: lab.home } });
    assert.ok(found.ok, JSON.stringify(found));
    assert.deepEqual([found.executable.path, found.executable.realPath], [join(bin, "claude"), FAKE_CLAUDE]);
    assert.equal(found.executable.version, "2.1.268");
    assert.match(found.executable.sha256, /^[0-9a-f]{64}$/);
    assert.equal(found.notice, undefined);
  });

  test("is one clear sentence when it cannot be used", async (t) => {
    const lab = await createLab(t);
    const plain = join(lab.root, "plain");
    await writeFile(plain, "x", { mode: 0o644 });
    const folder = join(lab.root, "folder");
    await mkdir(folder);
    const cases: [string, string, string, RegExp][] = [
      ["is not there", join(lab.root, "none"), "claude-not-found", /There is no .*none/],
      ["is relative", "bin/claude", "claude-not-found", /absolute/],
      ["is a folder", folder, "claude-not-executable", /no file/],
      ["may not be run", plain, "claude-not-executable", /may not be read and run/],
      [
        "is too old",
        await program(lab, "old", version("2.1.267 (Claude Code)")),
        "claude-too-old",
        /2\.1\.267; at least 2\.1\.268/,
      ],
      ["is something else", await program(lab, "other", version("hello")), "claude-version-unknown", /"hello"/],
      ["fails", await program(lab, "fails", "#!/bin/sh\necho oh no >&2\nexit 3\n"), "claude-cannot-run", /oh no/],
      [
        "does not answer",
        await program(lab, "slow", "#!/bin/sh\nexec sleep 30\n"),
        "claude-cannot-run",
        /within 0\.5 s/,
      ],
    ];
    for (const [what, path, reason, words] of cases) {
      const [got, message] = await reasonFor(path, 500);
      assert.equal(got, reason, `${what}: ${message}`);
      assert.match(message, words, what);
      assert.match(message, /\.$/, what);
    }
    const none = await findClaude({ host: { PATH: "/nowhere" } });
    assert.equal(none.ok ? "" : none.reason, "claude-not-found");
  });

  test("is recognised as npm's placeholder, and the way out is named", async (t) => {
    const lab = await createLab(t);
    const modules = join(lab.root, "node_modules");
    const bin = join(modules, "@anthropic-ai", "claude-code", "bin");
    await mkdir(bin, { recursive: true });
    const placeholder = join(bin, "claude.exe");
    await writeFile(placeholder, 'echo "Error: claude native binary not installed." >&2\nexit 1\n', { mode: 0o755 });
    const [reason, message] = await reasonFor(placeholder);
    assert.deepEqual([reason, /Reinstall/.test(message)], ["claude-stub", true]);
    const binary = platformBinary(modules);
    await mkdir(join(binary, ".."), { recursive: true });
    await writeFile(binary, version("2.1.268 (Claude Code)"), { mode: 0o755 });
    const [, better] = await reasonFor(placeholder);
    assert.ok(better.includes(binary), better);
    assert.equal((await reasonFor(binary))[0], "ok");
  });

  test("newer than the tested version it starts with a notice", async (t) => {
    const lab = await createLab(t);
    for (const text of ["2.1.300 (Claude Code)", "2.10.0 (Claude Code)", "3.0.1"]) {
      const [reason, notice] = await reasonFor(await program(lab, "newer", version(text)));
      assert.equal(reason, "ok");
      assert.match(notice, /newer than 2\.1\.268/);
    }
  });

  test("B8: a program that was swapped between two starts is a drift that names what changed", async (t) => {
    const lab = await createLab(t);
    const first = await program(lab, "v1", version("2.1.268 (Claude Code)"));
    const second = await program(lab, "v2", version("2.1.269 (Claude Code)"));
    const link = join(lab.root, "current");
    await symlink(first, link);
    const before = await findClaude({ configured: link, host: process.env });
    await symlink(second, `${link}.new`);
    await rename(`${link}.new`, link);
    const now = await findClaude({ configured: link, host: process.env });
    assert.ok(before.ok && now.ok);
    assert.equal(executableDrift(before.executable, before.executable), undefined);
    const drift = executableDrift(before.executable, now.executable) ?? "";
    assert.match(drift, /v1 to .*v2.*2\.1\.268 to 2\.1\.269.*content/);
    assert.equal(before.executable.path, now.executable.path);
  });
});

import assert from "node:assert/strict";
import { chmodSync, mkdirSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { type Ownership, systemOwnership } from "../../src/platform/account.ts";
import { type ConfigSources, loadConfig } from "../../src/store/config.ts";
import type { Settings } from "../../src/store/config-settings.ts";
import { parseDuration } from "../../src/store/config-values.ts";
import { describeSettings, showConfig } from "../../src/store/config-view.ts";
import { isPlainSentence, mustBeOk, reasonOf, tempFolder } from "./temp-store.ts";

function sources(
  t: TestContext,
  files: { person?: unknown; project?: unknown },
): ConfigSources & { personFile: string } {
  const folder = tempFolder(t);
  const [agentDir, trustedProject] = [join(folder, "agent"), join(folder, "project")];
  mkdirSync(agentDir);
  mkdirSync(join(trustedProject, ".pi"), { recursive: true });
  const write = (path: string, value: unknown): void => {
    if (value === undefined) return;
    writeFileSync(path, typeof value === "string" ? value : JSON.stringify(value), { mode: 0o600 });
  };
  const personFile = join(agentDir, "supervisor.json");
  write(personFile, files.person);
  write(join(trustedProject, ".pi", "supervisor.json"), files.project);
  return { agentDir, trustedProject, env: {}, personFile };
}

describe("the configuration", () => {
  test("without files and variables is the documented default", () => {
    const { config } = mustBeOk(loadConfig({ env: {} }));
    const { settings } = config;
    assert.deepEqual(
      [
        settings.mode,
        settings.transport,
        settings.maxRounds,
        settings.timeout,
        settings.quietTimeout,
        settings.patience,
      ],
      ["manual", "claude-jsonl", 3, 8 * 3_600_000, 600_000, 600_000],
    );
    assert.deepEqual(
      [settings.trust, settings.profile, settings.maxTurns, settings.maxDecisions],
      ["user", "standard", undefined, 200],
    );
    assert.ok(Object.values(config.origins).every((origin) => origin === "default"));
  });

  test("flags beat environment, environment beats files, and every origin is known", (t) => {
    const config = mustBeOk(
      loadConfig({
        ...sources(t, {
          person: { mode: "auto", maxRounds: 9, verify: { in: "workspace" }, cgroup: "off" },
          project: { maxRounds: 5 },
        }),
        env: { PI_CLAUDE_SUPERVISOR_CGROUP: "required", PI_CLAUDE_SUPERVISOR_WORKER_ENV: "A, B_2,,C", HOME: "/x" },
        flags: { mode: "manual" },
      }),
    ).config;
    const shown = (name: keyof Settings) => [config.settings[name], config.origins[name]];
    assert.deepEqual(shown("mode"), ["manual", "flag"]);
    assert.deepEqual(shown("cgroup"), ["required", "environment"]);
    assert.deepEqual(shown("workerEnv"), [["A", "B_2", "C"], "environment"]);
    assert.deepEqual(shown("maxRounds"), [5, "project"]);
    assert.deepEqual(shown("verify.in"), ["workspace", "person"]);
    assert.equal(config.files.length, 2);
  });

  const PROJECT: [string, object, object, keyof Settings, unknown, boolean][] = [
    ["a lower limit", { maxRounds: 5 }, { maxRounds: 2 }, "maxRounds", 2, true],
    ["a higher limit", { maxRounds: 5 }, { maxRounds: 50 }, "maxRounds", 5, false],
    ["a limit where there was none", {}, { budgetUsd: 2.5 }, "budgetUsd", 2.5, true],
    ["a shorter time", {}, { timeout: "1h" }, "timeout", 3_600_000, true],
    ["a longer time", {}, { timeout: "9h" }, "timeout", 8 * 3_600_000, false],
    ["a stricter profile", { profile: "open" }, { profile: "strict" }, "profile", "strict", true],
    ["an open profile", {}, { profile: "open" }, "profile", "standard", false],
    ["trust in itself", {}, { trust: "project" }, "trust", "user", false],
    ["less trust", {}, { trust: "none" }, "trust", "none", true],
    ["auto mode", {}, { mode: "auto" }, "mode", "manual", false],
    ["manual mode", { mode: "auto" }, { mode: "manual" }, "mode", "manual", true],
    ["a reviewer", {}, { review: true }, "review", true, true],
    ["no reviewer", { review: true }, { review: false }, "review", true, false],
    ["automation off", {}, { automation: "off" }, "automation", "off", true],
    ["a required cgroup", {}, { cgroup: "required" }, "cgroup", "required", true],
    ["no cgroup", { cgroup: "required" }, { cgroup: "off" }, "cgroup", "required", false],
    ["fewer carried folders", {}, { verify: { carry: ["vendor"] } }, "verify.carry", ["vendor"], true],
    ["more carried folders", {}, { verify: { carry: ["vendor", "evil"] } }, "verify.carry", ["vendor"], false],
    ["fewer variables", { workerEnv: ["A", "B"] }, { workerEnv: ["B"] }, "workerEnv", ["B"], true],
    ["more variables", { workerEnv: ["A"] }, { workerEnv: ["A", "B"] }, "workerEnv", ["A"], false],
    [
      "another host",
      { policy: { allowedHosts: ["a.example"] } },
      { policy: { allowedHosts: ["b.example"] } },
      "policy.allowedHosts",
      [],
      false,
    ],
    ["more verification runs", {}, { verify: { runs: 3 } }, "verify.runs", 3, true],
  ];
  for (const [what, person, project, name, expected, granted] of PROJECT) {
    test(`a project's wish for ${what} is ${granted ? "granted" : "ignored and named"}`, (t) => {
      const { config } = mustBeOk(loadConfig(sources(t, { person, project })));
      assert.deepEqual(config.settings[name], expected);
      assert.equal(config.notes.length, granted ? 0 : 1, JSON.stringify(config.notes));
      assert.ok(config.notes.every((note) => note.includes(name) && isPlainSentence(note)));
    });
  }

  test("rules of a project are added and marked as its own, its allow rules are not", (t) => {
    const rule = (verdict: string, tool: string) => ({ verdict, tool, argv: ["npm", "publish"] });
    const { config } = mustBeOk(
      loadConfig(
        sources(t, {
          person: { policy: { rules: [rule("allow", "Bash")] } },
          project: { policy: { rules: [rule("allow", "Write"), rule("deny", "Bash")] } },
        }),
      ),
    );
    assert.deepEqual(
      config.settings["policy.rules"].map((one) => [one.verdict, one.tool, one.origin]),
      [
        ["allow", "Bash", "person"],
        ["deny", "Bash", "project"],
      ],
    );
    assert.equal(config.notes.length, 1);
  });

  const WRONG: [string, { person?: unknown; project?: unknown }, Record<string, string>, string, RegExp][] = [
    [
      "an unknown key",
      { person: { maxRound: 3 } },
      {},
      "config-unknown-key",
      /agent\/supervisor\.json.*"maxRound".*Allowed: .*maxRounds/,
    ],
    ["an unknown nested key", { person: { verify: { where: 1 } } }, {}, "config-unknown-key", /"verify\.where"/],
    ["a variable's setting in a file", { person: { controlDir: "/x" } }, {}, "config-unknown-key", /"controlDir"/],
    [
      "a webhook from a project",
      { project: { webhook: { url: "https://example.org" } } },
      {},
      "config-unknown-key",
      /a project may not set "webhook\.url"/,
    ],
    [
      "a program from a project",
      { project: { claude: "/tmp/claude" } },
      {},
      "config-unknown-key",
      /may not set "claude"/,
    ],
    [
      "verification commands from a project",
      { project: { verify: { commands: ["true"] } } },
      {},
      "config-unknown-key",
      /may not set "verify\.commands"/,
    ],
    ["a bad word", { person: { mode: "automatic" } }, {}, "config-value", /"mode".*Allowed: manual, auto\./],
    ["a bad number", { person: { maxRounds: 0 } }, {}, "config-value", /"maxRounds".*from 1 to/],
    ["a number as text", { person: { maxRounds: "3" } }, {}, "config-value", /"maxRounds"/],
    ["a bad duration", { person: { timeout: "8 hours" } }, {}, "config-value", /duration such as/],
    [
      "a bad rule",
      { person: { policy: { rules: [{ verdict: "ok", tool: "Bash" }] } } },
      {},
      "config-value",
      /policy\.rules/,
    ],
    ["a group that is no object", { person: { verify: true } }, {}, "config-unknown-key", /"verify"/],
    ["a list", { person: [] }, {}, "config-malformed", /one JSON object/],
    ["half a file", { person: '{"mode": "auto"' }, {}, "config-malformed", /not JSON/],
    [
      "a bad variable",
      {},
      { PI_CLAUDE_SUPERVISOR_MODE: "yes" },
      "config-value",
      /PI_CLAUDE_SUPERVISOR_MODE.*manual, auto/,
    ],
    [
      "a refused worker variable",
      {},
      { PI_CLAUDE_SUPERVISOR_WORKER_ENV: "PATH,NODE_OPTIONS" },
      "config-value",
      /not CLAUDECODE, NODE_OPTIONS/,
    ],
    [
      "one of our own variables for the worker",
      {},
      { PI_CLAUDE_SUPERVISOR_WORKER_ENV: "PI_CLAUDE_SUPERVISOR_MODE" },
      "config-value",
      /WORKER_ENV/,
    ],
    [
      "a bad webhook address",
      {},
      { PI_CLAUDE_SUPERVISOR_HUMAN_WEBHOOK_URL: "file:///etc/passwd" },
      "config-value",
      /http or https/,
    ],
    ["a bad control id", {}, { PI_CLAUDE_SUPERVISOR_CONTROL_ID: "../x" }, "config-value", /CONTROL_ID/],
    [
      "two control folders",
      {},
      { PI_CLAUDE_SUPERVISOR_CONTROL_DIR: "/a", PI_CLAUDE_SUPERVISOR_CONTROL_STATE_DIR: "/b" },
      "config-conflict",
      /CONTROL_DIR and .*CONTROL_STATE_DIR/,
    ],
  ];
  for (const [what, files, env, reason, says] of WRONG) {
    test(`${what} is an error that names place and remedy`, (t) => {
      const outcome = loadConfig({ ...sources(t, files), env });
      assert.equal(reasonOf(outcome), reason, JSON.stringify(outcome));
      assert.ok(!outcome.ok && says.test(outcome.message), JSON.stringify(outcome));
    });
  }

  test("a file read by mistake does not show in the error", (t) => {
    const secret = `s${process.hrtime.bigint()}`;
    const outcome = loadConfig(sources(t, { person: `${secret} is not JSON` }));
    assert.ok(!outcome.ok && !outcome.message.includes(secret.slice(0, 6)), JSON.stringify(outcome));
  });

  test("auto forces the transport that has a gate, whoever asked for the other one, but not against the same call's flag", (t) => {
    const places: [object, Record<string, string>][] = [
      [{ person: '{"mode":"auto"}' }, { PI_CLAUDE_SUPERVISOR_TRANSPORT: "process-pipe" }],
      [{ person: '{"transport":"process-pipe"}' }, { PI_CLAUDE_SUPERVISOR_MODE: "auto" }],
      [{}, { PI_CLAUDE_SUPERVISOR_MODE: "auto", PI_CLAUDE_SUPERVISOR_TRANSPORT: "process-pipe" }],
    ];
    for (const [files, env] of places) {
      const { config } = mustBeOk(loadConfig({ ...sources(t, files), env }));
      assert.deepEqual([config.settings.mode, config.settings.transport], ["auto", "claude-jsonl"]);
      assert.match(config.notes.join(), /process-pipe .*has no gate/);
    }
    const env = { PI_CLAUDE_SUPERVISOR_MODE: "auto" };
    const asked = loadConfig({ env, flags: { transport: "process-pipe" } });
    assert.equal(reasonOf(asked), "config-conflict");
    assert.ok(!asked.ok && /claude-jsonl/.test(asked.message));
  });

  test("the alias of the control folder counts, and an unknown variable of ours is only noted", () => {
    const { config } = mustBeOk(
      loadConfig({ env: { PI_CLAUDE_SUPERVISOR_CONTROL_STATE_DIR: "/a", PI_CLAUDE_SUPERVISOR_CGROUPS: "off" } }),
    );
    assert.equal(config.settings.controlDir, "/a");
    assert.match(config.notes.join(), /PI_CLAUDE_SUPERVISOR_CGROUPS is not known/);
  });

  test("the person's file may be a link or begin with a byte order mark, but nobody else may be able to change it", (t) => {
    const from = sources(t, { person: '\uFEFF{"maxRounds":4}' });
    renameSync(from.personFile, `${from.personFile}.real`);
    symlinkSync(`${from.personFile}.real`, from.personFile);
    assert.equal(mustBeOk(loadConfig(from)).config.settings.maxRounds, 4);
    chmodSync(from.personFile, 0o666);
    assert.equal(reasonOf(loadConfig(from)), "config-unsafe");
    chmodSync(from.personFile, 0o600);
    const ownership: Ownership = { ...systemOwnership, ownerOf: () => 4711 };
    assert.equal(reasonOf(loadConfig({ ...from, ownership })), "config-unsafe");
  });

  test("shows every value with its origin, durations as they are written, and no secret", () => {
    const secret = `s-${process.hrtime.bigint()}`;
    const { config } = mustBeOk(
      loadConfig({
        env: {
          PI_CLAUDE_SUPERVISOR_HUMAN_WEBHOOK_SECRET: secret,
          PI_CLAUDE_SUPERVISOR_HUMAN_WEBHOOK_URL: `https://example.org/${secret}`,
        },
      }),
    );
    const shown = showConfig(config);
    assert.ok(!JSON.stringify(shown).includes(secret));
    const line = (name: string) => shown.find((one) => one.name === name);
    assert.deepEqual(line("webhook.secret"), { name: "webhook.secret", value: "(set)", origin: "environment" });
    assert.deepEqual([line("timeout")?.value, line("patience")?.value, line("maxTurns")?.value], ["8h", "10m", "none"]);
    const described = describeSettings();
    assert.equal(described.length, shown.length);
    assert.deepEqual(
      described.find((one) => one.name === "cgroup"),
      {
        name: "cgroup",
        allowed: "auto, required, off",
        fallback: "auto",
        files: "person and project",
        variable: "PI_CLAUDE_SUPERVISOR_CGROUP",
      },
    );
  });

  test("durations are read exactly", () => {
    const read = ["500ms", "2s", "10m", "1h", "1.5h", "7d", "0s", "", "10", "1 h", "-1s", "1e3s", "1h30m"].map(
      parseDuration,
    );
    const u = undefined;
    assert.deepEqual(read, [500, 2_000, 600_000, 3_600_000, 5_400_000, 604_800_000, 0, u, u, u, u, u, u]);
  });
});

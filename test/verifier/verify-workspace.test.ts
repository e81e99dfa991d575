import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import type { VerifyOutcome } from "../../src/core/contracts/verifier.ts";
import { treeId } from "../../src/verifier/index.ts";
import { isAlive } from "../support/processes.ts";
import { until } from "../support/until.ts";
import { createLab } from "../support/workspace.ts";
import { bench, hiding, script } from "./support.ts";

interface Case {
  name: string;
  exitCode?: number | null;
  signal?: string;
  command: string | string[];
  outcome: VerifyOutcome;
  reason?: string;
  timeoutMs?: number;
  files?: Record<string, string>;
}

const CASES: Case[] = [
  { name: "exit 0 passes", command: "true", outcome: "pass" },
  { name: "exit 1 fails", command: "false", outcome: "fail", reason: "exit-code" },
  { name: "any other status fails", command: "sh -c 'exit 3'", outcome: "fail", reason: "exit-code" },
  {
    name: "printed PASS does not pass",
    command: "echo PASS && echo 'ok 1 - all' && exit 1",
    outcome: "fail",
    reason: "exit-code",
  },
  { name: "printed FAIL does not fail", command: "echo FAIL; echo 'not ok 1'; true", outcome: "pass" },
  {
    name: "a command that is not there cannot start",
    command: "no-such-program-7",
    outcome: "error",
    reason: "cannot-start",
  },
  {
    name: "a shell that misses a program cannot start",
    command: "true && no-such-program-7",
    outcome: "error",
    reason: "cannot-start",
  },
  {
    name: "a file that may not be executed cannot start",
    command: "./plain.txt",
    files: { "plain.txt": "x" },
    outcome: "error",
    reason: "cannot-start",
  },
  {
    name: "an npm script whose tool is missing cannot start",
    command: "npm test --silent",
    files: { "package.json": '{"scripts":{"test":"no-such-tool-7"}}' },
    outcome: "error",
    reason: "cannot-start",
  },
  {
    name: "a dependency that is not installed cannot start",
    command: "node check.mjs",
    files: { "check.mjs": 'import "no-such-dependency-7";\n' },
    outcome: "error",
    reason: "cannot-start",
  },
  {
    name: "a file of the project that is missing fails",
    command: "node check.mjs",
    files: { "check.mjs": 'import "./not-written-yet.mjs";\n' },
    outcome: "fail",
    reason: "exit-code",
  },
  {
    name: "a missing dependency after a test ran fails",
    command: "node check.cjs",
    files: { "check.cjs": 'console.log("ok 1 - first"); require("no-such-dependency-7");\n' },
    outcome: "fail",
    reason: "exit-code",
  },
  {
    name: "text about a missing module cannot turn success into an error",
    command: `echo "Error: Cannot find module 'x'"; true`,
    outcome: "pass",
  },
  { name: "a timeout is an error", command: "sleep 30", timeoutMs: 300, outcome: "error", reason: "timeout" },
  { name: "a crash by signal is an error", command: "sh -c 'kill -SEGV $$'", outcome: "error", reason: "signal" },
  { name: "a prompt on stdin reads end of file", command: "read answer", outcome: "fail", reason: "exit-code" },
  { name: "a prompt on the terminal has no terminal", command: "read answer </dev/tty", outcome: "fail" },
  {
    name: "a prompt that asks until it is answered ends at the time limit",
    command: "until read answer; do sleep 0.05; done",
    timeoutMs: 400,
    outcome: "error",
    reason: "timeout",
  },
  {
    name: "a program that takes no answer for one is what its status says",
    command: `python3 -c 'input("Go on? ")'`,
    outcome: "fail",
    reason: "exit-code",
    exitCode: 1,
  },
  {
    name: "a program that reads all of standard input gets nothing",
    command: 'test -z "$(cat)"',
    outcome: "pass",
  },
  {
    name: "neither stream is a terminal, so that nothing pages, paints or asks",
    command: "test -t 0 || test -t 1 || test -t 2",
    outcome: "fail",
    reason: "exit-code",
    exitCode: 1,
  },
  {
    name: "a command that ignores the word to end is killed at its time limit",
    command: "trap '' TERM INT HUP; while :; do sleep 0.1; done",
    timeoutMs: 300,
    outcome: "error",
    reason: "timeout",
  },
  {
    name: "an endless flood ends at the time limit",
    command: "yes",
    timeoutMs: 400,
    outcome: "error",
    reason: "timeout",
  },
  {
    name: "a flood before a failure is a failure",
    command: "yes flood | head -c 20000000; exit 4",
    outcome: "fail",
    reason: "exit-code",
    exitCode: 4,
  },
  {
    name: "one line of many megabytes passes like any other",
    command: "head -c 20000000 /dev/zero | tr '\\0' x",
    outcome: "pass",
    exitCode: 0,
  },
  {
    name: "a kill from outside is an error, not a failure of the work",
    command: "sh -c 'kill -KILL $$'",
    outcome: "error",
    reason: "signal",
    exitCode: null,
    signal: "SIGKILL",
  },
  {
    name: "an abort of the command itself is an error",
    command: "sh -c 'kill -ABRT $$'",
    outcome: "error",
    reason: "signal",
    signal: "SIGABRT",
  },
  {
    name: "a crashed child that its parent reports is a failure",
    command: "sh -c 'kill -SEGV $$'; exit $?",
    outcome: "fail",
    reason: "exit-code",
    exitCode: 139,
  },
  {
    name: "a command that closes its output and goes on is what its status says",
    command: "exec >&- 2>&-; exit 3",
    outcome: "fail",
    reason: "exit-code",
    exitCode: 3,
  },
  { name: "status 255 fails", command: "exit 255", outcome: "fail", reason: "exit-code", exitCode: 255 },
  { name: "status 77 (skipped, for automake) fails", command: "exit 77", outcome: "fail", reason: "exit-code" },
  {
    name: "a script whose interpreter is not there cannot start",
    command: "./check",
    files: { "check!x": "#!/no/such/interpreter\n" },
    outcome: "error",
    reason: "cannot-start",
    exitCode: 127,
  },
  {
    name: "a folder cannot start",
    command: "./folder",
    files: { "folder/x.txt": "x" },
    outcome: "error",
    reason: "cannot-start",
    exitCode: 126,
  },
  { name: "several commands pass together", command: ["true", "test 1 = 1"], outcome: "pass" },
  {
    name: "one failing command of several fails",
    command: ["true", "false", "true"],
    outcome: "fail",
    reason: "exit-code",
  },
];

const PYTHON_CHECK = { "check.py": "import some_module_7\n" };
const TSC_OUTPUT = `echo "a.ts(1,1): error TS2307: Cannot find module 'some-module-7' or its corresponding type declarations."; exit 2`;
/** Who has to act on a module that is not there: a person (error) or the worker (fail). */
CASES.push(
  {
    name: "a Python module that the project declares cannot start",
    command: "python3 check.py",
    files: { ...PYTHON_CHECK, "requirements.txt": "Some-Module-7>=1\n" },
    outcome: "error",
    reason: "cannot-start",
  },
  {
    name: "a Python module that nobody declares is what the task may be about",
    command: "python3 check.py",
    files: PYTHON_CHECK,
    outcome: "fail",
    reason: "exit-code",
  },
  {
    name: "a Python tool that is not installed cannot start",
    command: "python3 -m some_tool_7 -q",
    outcome: "error",
    reason: "cannot-start",
  },
  { name: "a compiler's complaint about a module fails", command: TSC_OUTPUT, outcome: "fail", reason: "exit-code" },
  {
    name: "a compiler's complaint about a declared dependency cannot start",
    command: TSC_OUTPUT,
    files: { "package.json": '{"dependencies":{"some-module-7":"1"}}' },
    outcome: "error",
    reason: "cannot-start",
  },
  {
    name: "an alias into the project's own sources fails",
    command: `echo "Error: Cannot find module '@/x'"; exit 1`,
    outcome: "fail",
    reason: "exit-code",
  },
);

describe("verification in the workspace: exit status alone decides", () => {
  for (const { name, command, outcome, reason, timeoutMs, files, exitCode, signal } of CASES) {
    test(name, async (t) => {
      const lab = await createLab(t);
      const cwd = await lab.repo({ "a.txt": "a\n", ...files });
      for (const path of Object.keys(files ?? {}))
        if (path.endsWith("!x")) await script(join(cwd, path.slice(0, -2)), files?.[path] ?? "");
      const report = await bench(lab).check(cwd, command, timeoutMs === undefined ? {} : { timeoutMs });
      assert.equal(report.outcome, outcome, JSON.stringify(report, null, 1));
      if (reason !== undefined) assert.equal(report.reason, reason);
      if (outcome === "pass") assert.equal(report.reason, undefined);
      const last = report.commands.at(-1);
      if (exitCode !== undefined) assert.equal(last?.exitCode, exitCode);
      if (signal !== undefined) assert.equal(last?.signal, signal);
      assert.ok((last?.outputTail.length ?? 0) <= 8_000, "bounded, whatever was printed");
      assert.match(report.treeBefore, /^[0-9a-f]{40}$/);
      assert.equal(report.treeAfter, report.treeBefore);
      assert.ok(report.message.length > 0);
    });
  }
});

test("a dependency that the worker imported without declaring it is the worker's failure", async (t) => {
  const lab = await createLab(t);
  const cwd = await lab.repo({ "check.mjs": 'import "./lib.mjs";\n', "lib.mjs": "\n", "package.json": "{}" });
  const made = bench(lab);
  const start = await treeId(cwd, { scratchDir: made.scratchDir, hostEnv: lab.env });
  assert.ok(start.ok);
  const spec = await made.spec(cwd, "node check.mjs");
  await writeFile(join(cwd, "lib.mjs"), 'import "some-module-7";\n');
  assert.equal((await made.verify(spec, { since: { tree: start.id } })).outcome, "fail");
  assert.equal((await made.verify(spec)).reason, "cannot-start");
});

test("a failing command does not hide the results of the next ones; an error ends the list", async (t) => {
  const lab = await createLab(t);
  const cwd = await lab.repo({ "a.txt": "a\n" });
  const failing = await bench(lab).check(cwd, ["false", "true"]);
  assert.deepEqual(
    failing.commands.map((one) => one.outcome),
    ["fail", "pass"],
  );
  const broken = await bench(lab).check(cwd, ["no-such-program-7", "true"]);
  assert.deepEqual(
    broken.commands.map((one) => one.outcome),
    ["error"],
  );
});

test("a timeout ends children in sessions of their own", async (t) => {
  const lab = await createLab(t);
  const cwd = await lab.repo({ "a.txt": "a\n" });
  const pidFile = join(lab.root, "pid");
  const command = `setsid sh -c 'echo $$ >${pidFile}; exec sleep 300' & sleep 300`;
  const report = await bench(lab).check(cwd, command, { timeoutMs: 700 });
  assert.equal(report.reason, "timeout");
  assert.equal(isAlive(Number(readFileSync(pidFile, "utf8"))), false);
});

test("what a passing command leaves running is ended before the verdict", async (t) => {
  const lab = await createLab(t);
  const cwd = await lab.repo({ "a.txt": "a\n" });
  const pidFile = join(lab.root, "pid");
  const report = await bench(lab).check(
    cwd,
    `setsid sh -c 'echo $$ >${pidFile}; exec sleep 300' >/dev/null 2>&1 & while ! test -s ${pidFile}; do :; done`,
  );
  assert.equal(report.outcome, "pass", report.message);
  assert.equal(isAlive(Number(readFileSync(pidFile, "utf8"))), false);
});

test("a stop ends the command with proof and the report says aborted", async (t) => {
  const lab = await createLab(t);
  const cwd = await lab.repo({ "a.txt": "a\n" });
  const pidFile = join(lab.root, "pid");
  const stop = new AbortController();
  const running = bench(lab).check(cwd, `echo $$ >${pidFile}; sleep 300`, {}, { signal: stop.signal });
  await until(() => existsSync(pidFile) && readFileSync(pidFile, "utf8").trim() !== "", 10_000, "the command runs");
  stop.abort();
  const report = await running;
  assert.equal(report.outcome, "error");
  assert.equal(report.reason, "aborted");
  assert.equal(isAlive(Number(readFileSync(pidFile, "utf8"))), false);
});

test("a stop before the start runs nothing", async (t) => {
  const lab = await createLab(t);
  const cwd = await lab.repo({ "a.txt": "a\n" });
  const report = await bench(lab).check(cwd, `touch ${join(lab.root, "ran")}`, {}, { signal: AbortSignal.abort() });
  assert.equal(report.reason, "aborted");
  assert.equal(existsSync(join(lab.root, "ran")), false);
});

test("the environment is the person's minimal one, without what the host process carries", async (t) => {
  const lab = await createLab(t);
  const cwd = await lab.repo({ "a.txt": "a\n" });
  const out = join(lab.root, "env");
  const report = await bench(lab).check(cwd, `env >${out}; pwd >>${out}`);
  assert.equal(report.outcome, "pass");
  const names = readFileSync(out, "utf8")
    .split("\n")
    .map((line) => line.split("=")[0]);
  for (const name of ["PATH", "HOME", "TMPDIR", "E2E_MARK"]) assert.ok(names.includes(name), name);
  for (const name of names) assert.doesNotMatch(name ?? "", /^(ANTHROPIC|CLAUDE|NODE_OPTIONS|npm_|GIT_DIR)/);
  assert.ok(readFileSync(out, "utf8").endsWith(`${cwd}\n`));
});

test("a file that changes while the command runs makes the result count for no tree", async (t) => {
  const lab = await createLab(t);
  const cwd = await lab.repo({ "a.txt": "a\n", "b.txt": "b\n" });
  const report = await bench(lab).check(cwd, "echo changed >b.txt; true");
  assert.equal(report.outcome, "error");
  assert.equal(report.reason, "tree-changed");
  assert.notEqual(report.treeAfter, report.treeBefore);
  assert.match(report.message, /b\.txt/);
  assert.deepEqual(
    report.findings.filter((one) => one.kind === "tree-changed").map((one) => one.path),
    ["b.txt"],
  );
});

test("a secret is hidden before the output is cut, in tail and artifact alike", async (t) => {
  const lab = await createLab(t);
  const secret = `s3cr3t${randomBytes(12).toString("hex")}`;
  // The secret lies across the cut of the 8,000-character tail.
  const cwd = await lab.repo({
    "noise.mjs": `console.log("x".repeat(5000) + process.env.HUSH + "y".repeat(7990));\nprocess.exit(1);\n`,
  });
  const artifacts: string[] = [];
  await writeFile(join(lab.root, "hush"), secret);
  const report = await bench(lab).check(
    cwd,
    `HUSH=${"$"}(cat ../hush) node noise.mjs`,
    {},
    {
      redactor: hiding(secret),
      artifactSink: {
        write: async (hint, text) => {
          artifacts.push(text);
          return hint;
        },
      },
    },
  );
  const tail = report.commands[0]?.outputTail ?? "";
  assert.ok(tail.length <= 8000 && tail.length > 7000);
  for (let size = 4; size <= secret.length; size += 4) assert.equal(tail.includes(secret.slice(-size)), false);
  assert.equal(artifacts.join("").includes(secret.slice(0, 10)), false);
  assert.match(artifacts.join(""), /\[hidden\]/);
  assert.equal(report.commands[0]?.artifact, "verify-1-1.log");
});

test("mixed outcomes of one tree are flaky and fail", async (t) => {
  const lab = await createLab(t);
  const cwd = await lab.repo({ "a.txt": "a\n" });
  const count = join(lab.root, "count");
  const report = await bench(lab).check(cwd, `echo x >>${count}; test $(wc -l <${count}) -ne 2`, { runs: 3 });
  assert.equal(report.outcome, "fail");
  assert.equal(report.reason, "flaky");
  assert.deepEqual(
    report.commands.map((one) => [one.run, one.outcome]),
    [
      [1, "pass"],
      [2, "fail"],
      [3, "pass"],
    ],
  );
  assert.equal(report.findings.filter((one) => one.kind === "flaky").length, 1);
});

test("a workspace that vanished is reported, not thrown", async (t) => {
  const lab = await createLab(t);
  const cwd = await lab.repo({ "a.txt": "a\n" });
  const made = bench(lab);
  const spec = await made.spec(cwd, "true");
  const report = await made.verify({ ...spec, cwd: join(lab.root, "gone") });
  assert.equal(report.outcome, "error");
  assert.equal(report.reason, "workspace-unusable");
});

test("a program that the worker puts beside relative PATH entries is not found", async (t) => {
  const lab = await createLab(t);
  const cwd = await lab.repo({ "a.txt": "a\n" });
  await script(join(cwd, "bin", "checker"), "#!/bin/sh\nexit 0\n");
  const { createVerifier } = await import("../../src/verifier/index.ts");
  const made = bench(lab);
  const verifier = createVerifier({
    scratchDir: made.scratchDir,
    hostEnv: { ...lab.env, PATH: `bin:.:${lab.env["PATH"]}` },
  });
  const report = await verifier.verify(await made.spec(cwd, "checker"), { redactor: hiding("-") });
  assert.equal(report.reason, "cannot-start");
});

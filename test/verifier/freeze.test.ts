import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdir, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import fc from "fast-check";
import type { VerifyFinding } from "../../src/core/contracts/verifier.ts";
import { splitCommand } from "../../src/verifier/argv.ts";
import { changedInputs } from "../../src/verifier/findings.ts";
import { type FreezeInput, freezeVerification, proposeVerification } from "../../src/verifier/index.ts";
import { createLab, writeTree } from "../support/workspace.ts";
import { bench } from "./support.ts";

describe("a command is split without a shell where every shell reads it the same way", () => {
  const cases: [string, string[] | undefined][] = [
    ["npm test", ["npm", "test"]],
    ["  npm \t test  ", ["npm", "test"]],
    ["node --test 'a b.mjs'", ["node", "--test", "a b.mjs"]],
    ['grep -q "it\'s" f', ["grep", "-q", "it's", "f"]],
    ['echo "a\\"b" c\\ d', ["echo", 'a"b', "c d"]],
    ["x ''", ["x", ""]],
    ["a'b'\"c\"d", ["abcd"]],
    ["npm run test:unit -- --grep=x", ["npm", "run", "test:unit", "--", "--grep=x"]],
    ["make -j2 a~b x#y", ["make", "-j2", "a~b", "x#y"]],
    ["", []],
    ["a && b", undefined],
    ["a; b", undefined],
    ["a | b", undefined],
    ["a > f", undefined],
    ["echo $HOME", undefined],
    ['echo "$HOME"', undefined],
    ["echo `x`", undefined],
    ["ls *.js", undefined],
    ["ls a?", undefined],
    ["ls [ab]", undefined],
    ["echo {a,b}", undefined],
    ["ls ~/x", undefined],
    ["a # b", undefined],
    ["FOO=1 npm test", undefined],
    ["cd x", undefined],
    ["! false", undefined],
    ["a\nb", undefined],
    ["echo 'open", undefined],
    ['echo "open', undefined],
    ["echo \\", undefined],
    ["test 1 = 1", ["test", "1", "=", "1"]],
  ];
  for (const [text, expected] of cases) {
    test(JSON.stringify(text), () => assert.deepEqual(splitCommand(text), expected));
  }

  test("whatever is split, sh sees the same words", () => {
    const piece = fc.constantFrom("a", "b c", "'", '"', "\\", " ", "\t", "-x", "=", "~", "#", "$", "é", "''", '"\\$"');
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
        const text = `w${pieces.join("")}`;
        const words = splitCommand(text);
        if (words === undefined || text.includes("\n")) return;
        const out = execFileSync("sh", ["-c", `set -f; printf '%s\\0' ${text}`], {
          encoding: "utf8",
          stdio: ["ignore", "pipe", "ignore"],
        });
        assert.deepEqual(out.split("\0").slice(0, -1), words);
      }),
      { numRuns: 150 },
    );
  });
});

describe("what cannot be frozen is refused with a sentence that says what to do", () => {
  const cases: [string, Partial<FreezeInput>, string][] = [
    ["no command", { commands: [] }, "verify-missing"],
    ["an empty command", { commands: [""] }, "verify-empty"],
    ["a blank command", { commands: ["true", " \t\n"] }, "verify-empty"],
    ["an empty program name", { commands: ["'' x"] }, "verify-empty"],
    ["an open quote", { commands: ["echo 'x"] }, "verify-syntax"],
    ["an open operator", { commands: ["true &&"] }, "verify-syntax"],
    ["a NUL character", { commands: ["true\0"] }, "verify-syntax"],
    ["no runs", { runs: 0 }, "verify-runs"],
    ["half a run", { runs: 1.5 }, "verify-runs"],
    ["too many runs", { runs: 1000 }, "verify-runs"],
    ["no time", { timeoutMs: 0 }, "verify-timeout"],
    ["a carry folder outside", { carry: ["../x"] }, "verify-carry"],
    ["an absolute carry folder", { carry: ["/etc"] }, "verify-carry"],
    ["the git folder as carry", { carry: [".git"] }, "verify-carry"],
    ["a strange variable name", { envNames: ["A=B"] }, "verify-env"],
    ["a folder that is not there", { cwd: "/no/such/folder" }, "cwd-missing"],
    ["an empty setup", { setup: " " }, "verify-setup"],
    ["a setup in the workspace", { setup: "npm ci", where: "workspace" }, "verify-setup"],
  ];
  for (const [name, input, reason] of cases) {
    test(name, async (t) => {
      const lab = await createLab(t);
      const cwd = await lab.repo({ "a.txt": "a\n" });
      const result = await freezeVerification({ commands: ["true"], cwd, ...input });
      assert.equal(result.ok ? "ok" : result.reason, reason);
      assert.match(result.ok ? "" : result.message, /^[^\n]{20,}[.]$/);
    });
  }
});

test("a spec says what will run, and is plain JSON", async (t) => {
  const lab = await createLab(t);
  const cwd = await lab.repo({ "a.txt": "a\n" });
  await symlink(cwd, join(lab.root, "link"));
  const frozen = await freezeVerification({
    commands: [" npm test ", "a && b"],
    cwd: join(lab.root, "link"),
    timeoutMs: 1000,
    setup: "npm ci",
  });
  assert.ok(frozen.ok);
  assert.deepEqual(frozen.spec.commands, [
    { text: "npm test", argv: ["npm", "test"], shell: false, timeoutMs: 1000 },
    { text: "a && b", argv: ["sh", "-c", "a && b"], shell: true, timeoutMs: 1000 },
  ]);
  assert.equal(frozen.spec.cwd, cwd);
  assert.deepEqual(frozen.spec.carry, ["node_modules", ".venv", "vendor"]);
  assert.deepEqual(JSON.parse(JSON.stringify(frozen.spec)), frozen.spec);
});

type Kind = VerifyFinding["kind"];

describe("changed inputs are named; changed scripts of the verification need a sign-off", () => {
  const files = {
    "package.json":
      '{"scripts":{"pretest":"echo","test":"npm run unit && sh tools/check.sh","unit":"node --test test/","build":"tsc"}}',
    "tools/check.sh": "exit 0\n",
    "test/a.test.mjs": "1\n",
    "test.mjs": "1\n",
    Makefile: "test:\n\ttrue\n",
    "src/x.js": "1\n",
    "data.txt": "1\n",
    ".github/workflows/ci.yml": "on: push\n",
  };
  const manifest = (scripts: Record<string, string>) => JSON.stringify({ scripts });
  const old = { pretest: "echo", test: "npm run unit && sh tools/check.sh", unit: "node --test test/", build: "tsc" };
  const cases: [string, string, Record<string, string>, Record<string, Kind>][] = [
    ["nothing", "npm test", {}, {}],
    ["a source file", "npm test", { "src/x.js": "2\n" }, {}],
    [
      "the test script set to true",
      "npm test",
      { "package.json": manifest({ ...old, test: "true" }) },
      { "package.json#scripts.test": "changed-script", "package.json": "changed-input" },
    ],
    [
      "a script that the test script calls",
      "npm test",
      { "package.json": manifest({ ...old, unit: "true" }) },
      { "package.json#scripts.unit": "changed-script", "package.json": "changed-input" },
    ],
    [
      "a pre script",
      "npm t",
      { "package.json": manifest({ ...old, pretest: "evil" }) },
      { "package.json#scripts.pretest": "changed-script", "package.json": "changed-input" },
    ],
    [
      "a post script that was added",
      "npm run test",
      { "package.json": manifest({ ...old, posttest: "x" }) },
      { "package.json#scripts.posttest": "changed-script", "package.json": "changed-input" },
    ],
    [
      "a script that has nothing to do with it",
      "npm test",
      { "package.json": manifest({ ...old, build: "x" }) },
      { "package.json": "changed-input" },
    ],
    [
      "a shell script that a package script calls",
      "npm test",
      { "tools/check.sh": "exit 0 # x\n" },
      { "tools/check.sh": "changed-script" },
    ],
    ["npm's own configuration", "npm test", { ".npmrc": "script-shell=./x\n" }, { ".npmrc": "changed-script" }],
    [
      "a shell script that is called directly",
      "sh tools/check.sh",
      { "tools/check.sh": "true\n" },
      { "tools/check.sh": "changed-script" },
    ],
    [
      "a script behind options and operators",
      "true && sh -eu tools/check.sh",
      { "tools/check.sh": "true\n" },
      { "tools/check.sh": "changed-script" },
    ],
    ["a test file that is named", "node test.mjs", { "test.mjs": "2\n" }, { "test.mjs": "changed-input" }],
    [
      "a data file that the command names",
      "grep -q 1 data.txt",
      { "data.txt": "2\n" },
      { "data.txt": "changed-input" },
    ],
    ["a file that is to be made", "test -f done.txt", { "done.txt": "x\n" }, { "done.txt": "changed-input" }],
    ["a makefile", "make test", { Makefile: "test:\n\t@true\n" }, { Makefile: "changed-script" }],
    ["a makefile that is not used", "npm test", { Makefile: "test:\n\t@true\n" }, { Makefile: "changed-input" }],
    [
      "a test configuration that was added",
      "npm test",
      { "vitest.config.ts": "x\n" },
      { "vitest.config.ts": "changed-input" },
    ],
    [
      "a CI file",
      "npm test",
      { ".github/workflows/ci.yml": "on: x\n" },
      { ".github/workflows/ci.yml": "changed-input" },
    ],
  ];
  for (const [name, command, changes, expected] of cases) {
    test(name, async (t) => {
      const lab = await createLab(t);
      const cwd = await lab.repo(files);
      const spec = await bench(lab).spec(cwd, command);
      await writeTree(cwd, changes);
      const found = await changedInputs(spec, cwd);
      assert.deepEqual(Object.fromEntries(found.map((one) => [one.path, one.kind])), expected);
    });
  }
  test("a script that was removed", async (t) => {
    const lab = await createLab(t);
    const cwd = await lab.repo(files);
    const spec = await bench(lab).spec(cwd, "sh tools/check.sh");
    await rm(join(cwd, "tools"), { recursive: true });
    assert.deepEqual(
      (await changedInputs(spec, cwd)).map((one) => [one.kind, one.path]),
      [["changed-script", "tools/check.sh"]],
    );
  });
});

describe("findings against the task's start", () => {
  test("test files, large files, no change, rewritten history, detached HEAD, unfinished merges, locks", async (t) => {
    const lab = await createLab(t);
    const cwd = await lab.repo({ "a.txt": "a\n", "test/a.test.js": "1\n" });
    const made = bench(lab);
    const { gitHead, treeId } = await import("../../src/verifier/index.ts");
    const options = { scratchDir: made.scratchDir, hostEnv: lab.env };
    const start = await treeId(cwd, options);
    const head = await gitHead(cwd, options);
    assert.ok(start.ok && head.ok);
    const { ok: _, ...position } = head;
    const since = { tree: start.id, ...position };
    assert.equal(since.branch, "refs/heads/main");

    const same = await made.check(cwd, "true", {}, { since });
    assert.deepEqual(
      same.findings.map((one) => one.kind),
      ["no-change"],
    );
    assert.equal(same.outcome, "pass");

    await writeTree(cwd, { "test/a.test.js": "2\n" });
    await writeFile(join(cwd, "big.bin"), Buffer.alloc(6 * 1024 * 1024));
    await symlink("a.txt", join(cwd, "link"));
    await lab.git(cwd, "commit", "-q", "--amend", "-m", "rewritten");
    await lab.git(cwd, "checkout", "-q", "--detach");
    await writeFile(join(cwd, ".git", "MERGE_HEAD"), `${since.head}\n`);
    await writeFile(join(cwd, ".git", "index.lock"), "");
    const report = await made.check(cwd, "true", {}, { since });
    assert.equal(report.outcome, "pass", "none of this is a failure");
    assert.deepEqual(
      report.changes?.files.map(({ hash: _hash, ...file }) => file),
      [
        { path: "big.bin", status: "added", kind: "binary", size: 6 * 1024 * 1024 },
        { path: "link", status: "added", kind: "symlink", size: 5 },
        { path: "test/a.test.js", status: "modified", kind: "text", size: 2, added: 1, deleted: 1 },
      ],
    );
    assert.deepEqual([report.changes?.added, report.changes?.deleted, report.changes?.more], [1, 1, 0]);
    assert.deepEqual(
      report.findings.map((one) => [one.kind, one.path]),
      [
        ["large-file", "big.bin"],
        ["changed-input", "test/a.test.js"],
        ["git-state", undefined],
        ["git-state", undefined],
        ["git-state", undefined],
        ["git-state", undefined],
      ],
    );
    assert.match(report.findings.map((one) => one.detail).join(" "), /detached.*rewritten.*merge.*locked/s);
  });

  test("a locked worktree is shown with whether its process exists", async (t) => {
    const lab = await createLab(t);
    const cwd = await lab.repo({ "a.txt": "a\n" });
    const linked = join(lab.root, "linked");
    await lab.git(cwd, "worktree", "add", "-q", "--lock", "--reason", "agent (pid 4194303)", linked);
    const report = await bench(lab).check(linked, "test -f a.txt", { where: "clean" });
    assert.equal(report.outcome, "pass", report.message);
    assert.match(report.findings.map((one) => one.detail).join(), /locked.*there is no process 4194303/);
    assert.match(await lab.git(cwd, "worktree", "list", "--porcelain"), /locked/);
  });
});

describe("the project's own test command is proposed", () => {
  const cases: [string, Record<string, string>, string[]][] = [
    ["npm", { "package.json": '{"scripts":{"test":"node --test"}}' }, ["npm test"]],
    ["pnpm", { "package.json": '{"scripts":{"test":"vitest run"}}', "pnpm-lock.yaml": "" }, ["pnpm test"]],
    ["yarn", { "package.json": '{"scripts":{"test":"jest"}}', "yarn.lock": "" }, ["yarn test"]],
    [
      "the placeholder of npm init",
      { "package.json": '{"scripts":{"test":"echo \\"Error: no test specified\\" && exit 1"}}' },
      [],
    ],
    ["a broken package.json", { "package.json": "{" }, []],
    ["cargo", { "Cargo.toml": "" }, ["cargo test"]],
    ["go", { "go.mod": "" }, ["go test ./..."]],
    ["pytest in pyproject", { "pyproject.toml": "[tool.pytest.ini_options]" }, ["python3 -m pytest -q"]],
    ["a Python project with tests", { "setup.py": "", "tests/test_a.py": "" }, ["python3 -m pytest -q"]],
    ["a Python project without tests", { "setup.py": "" }, []],
    ["make test", { Makefile: "all:\n\ttrue\ntest: all\n\ttrue\n" }, ["make test"]],
    ["a makefile without test", { Makefile: "all:\n\ttrue\ntest := 1\n" }, []],
    [
      "two at once",
      { "package.json": '{"scripts":{"test":"x"}}', Makefile: "check:\n\ttrue\n" },
      ["npm test", "make check"],
    ],
    ["nothing", { "a.txt": "" }, []],
  ];
  for (const [name, files, expected] of cases) {
    test(name, async (t) => {
      const lab = await createLab(t);
      const cwd = join(lab.root, "project");
      await mkdir(cwd);
      await writeTree(cwd, files);
      assert.deepEqual(
        (await proposeVerification(cwd)).map((one) => one.command),
        expected,
      );
    });
  }
});

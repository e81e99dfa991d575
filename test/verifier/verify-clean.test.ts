import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { chmod, cp, lstat, mkdir, mkdtemp, readFile, rm, symlink, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { freezeVerification, sweepScratch } from "../../src/verifier/index.ts";
import { makeOwnFolder, removeFolder } from "../../src/verifier/own-folder.ts";
import { assertNoneLeft, isAlive } from "../support/processes.ts";
import { until } from "../support/until.ts";
import { createLab, writeTree } from "../support/workspace.ts";
import { bench, hiding, plainTree, script } from "./support.ts";

const CLEAN = { where: "clean" } as const;

test("clean is the default in git, workspace outside it", async (t) => {
  const lab = await createLab(t);
  const repo = await lab.repo({ "a.txt": "a\n" });
  await mkdir(join(lab.root, "plain"));
  const inGit = await freezeVerification({ commands: ["true"], cwd: repo });
  const outside = await freezeVerification({ commands: ["true"], cwd: join(lab.root, "plain") });
  const asked = await freezeVerification({ commands: ["true"], cwd: join(lab.root, "plain"), where: "clean" });
  assert.equal(inGit.ok && inGit.spec.where, "clean");
  assert.equal(outside.ok && outside.spec.where, "workspace");
  assert.equal(!asked.ok && asked.reason, "clean-needs-git");
  assert.match(asked.ok ? "" : asked.message, /--verify-in workspace/);
});

test("an ignored leftover makes the workspace pass and the clean worktree fail, which names it", async (t) => {
  const lab = await createLab(t);
  const cwd = await lab.repo({ ".gitignore": "build/\n" });
  await writeTree(cwd, { "build/out.txt": "left over\n" });
  const made = bench(lab);
  assert.equal((await made.check(cwd, "test -f build/out.txt")).outcome, "pass");
  const clean = await made.check(cwd, "test -f build/out.txt", CLEAN);
  assert.equal(clean.outcome, "fail");
  assert.ok(
    clean.findings.some((one) => one.kind === "not-covered" && one.detail.includes("build")),
    JSON.stringify(clean.findings),
  );
});

test("what the worker changed and added without a commit is in the clean worktree", async (t) => {
  const lab = await createLab(t);
  const cwd = await lab.repo({ "a.txt": "old\n", "gone.txt": "x\n", "run.sh": "#!/bin/sh\nexit 0\n" });
  await writeTree(cwd, { "a.txt": "new\n", "deep/er/added.txt": "added\n" });
  await rm(join(cwd, "gone.txt"));
  await chmod(join(cwd, "run.sh"), 0o755);
  await symlink("a.txt", join(cwd, "link"));
  const report = await bench(lab).check(
    cwd,
    ["grep -q new a.txt", "test -f deep/er/added.txt", "test ! -e gone.txt", "./run.sh", "test -L link"],
    CLEAN,
  );
  assert.equal(report.outcome, "pass", JSON.stringify(report, null, 1));
});

test("checks that use git work, and nothing of it reaches the person's repository", async (t) => {
  const lab = await createLab(t);
  const cwd = await lab.repo({ "a.txt": "a\n" });
  await lab.git(cwd, "tag", "v1");
  await lab.git(cwd, "branch", "side");
  await writeTree(cwd, { "added.txt": "added\n" });
  const snapshot = async () =>
    [
      await lab.git(cwd, "for-each-ref"),
      await lab.git(cwd, "config", "--list", "--local"),
      await lab.git(cwd, "worktree", "list"),
      await lab.git(cwd, "count-objects", "-v"),
      (await readFile(join(cwd, ".git", "index"))).toString("base64"),
      readdirSync(join(cwd, ".git")).join(),
    ].join("\n");
  const before = await snapshot();
  const made = bench(lab);
  const tree = await plainTree(lab, await copyOf(lab.root, cwd));
  const commands = [
    'test -z "$(git status --porcelain)"',
    "git diff --exit-code HEAD",
    "git log --oneline | grep -q start",
    "git describe --tags | grep -q v1",
    "git rev-parse --verify side",
    "git ls-files --error-unmatch added.txt",
    `test "$(git rev-parse 'HEAD^{tree}')" = ${tree}`,
    "git worktree add -q ../second HEAD",
    "git config core.hooksPath x && git tag t && git branch b",
    "git commit -q --allow-empty -m x && git gc -q --prune=now && git fsck --connectivity-only",
  ];
  const report = await made.check(cwd, commands, CLEAN);
  for (const one of report.commands) assert.equal(one.outcome, "pass", `${one.text}: ${one.outputTail}`);
  assert.equal(report.commands.length, commands.length);
  assert.equal(report.treeBefore, tree);
  assert.equal(await snapshot(), before);
  assert.deepEqual(readdirSync(join(made.scratchDir, "clean")), []);
});

async function copyOf(root: string, cwd: string): Promise<string> {
  const copy = join(root, "copy");
  await cp(cwd, copy, { recursive: true, preserveTimestamps: true });
  return copy;
}

test("an unborn HEAD and a detached HEAD can be verified", async (t) => {
  const lab = await createLab(t);
  const unborn = join(lab.root, "unborn");
  await writeTree(unborn, { "a.txt": "a\n" });
  await lab.git(unborn, "init", "-q");
  const made = bench(lab);
  assert.equal((await made.check(unborn, "test -f a.txt && git rev-parse HEAD", CLEAN)).outcome, "pass");
  const cwd = await lab.repo({ "a.txt": "a\n" });
  await lab.git(cwd, "checkout", "-q", "--detach");
  const report = await made.check(cwd, "test -f a.txt", CLEAN);
  assert.equal(report.outcome, "pass");
  assert.ok(report.findings.some((one) => one.kind === "git-state" && /detached/.test(one.detail)));
});

test("a subfolder of a repository is verified in its counterpart, with the whole tree around it", async (t) => {
  const lab = await createLab(t);
  const cwd = await lab.repo({ "top.txt": "t\n", "pkg/inner.txt": "i\n" });
  const report = await bench(lab).check(join(cwd, "pkg"), "test -f inner.txt -a -f ../top.txt", CLEAN);
  assert.equal(report.outcome, "pass", report.message);
});

describe("dependency folders", () => {
  const files = {
    ".gitignore": "node_modules\n.venv\n/cfg\n",
    "package.json": '{"scripts":{"test":"node check.mjs"}}',
    "check.mjs":
      'import { v } from "dep"; import { w } from "@scope/lib"; if (v !== 1 || w !== "clean") process.exit(1);\n',
    "packages/lib/package.json": '{"name":"@scope/lib","type":"module","exports":"./index.js"}',
    "packages/lib/index.js":
      'import { sep } from "node:path";\nexport const w = import.meta.dirname?.includes("scratch") || import.meta.url.includes("scratch") ? "clean" : "workspace";\nvoid sep;\n',
  };
  const ignored = {
    "node_modules/dep/package.json": '{"name":"dep","type":"module","exports":"./index.js"}',
    "node_modules/dep/index.js": "export const v = 1;\n",
    "node_modules/.cache/result.json": "{}",
    "node_modules/.bin/.keep": "",
  };

  test("are carried, so that modules and workspace packages resolve inside the clean worktree", async (t) => {
    const lab = await createLab(t);
    const cwd = await lab.repo(files);
    await writeTree(cwd, ignored);
    await mkdir(join(cwd, "node_modules", "@scope"));
    await symlink("../../packages/lib", join(cwd, "node_modules", "@scope", "lib"));
    await writeTree(cwd, { "packages/lib/node_modules/x/index.js": "1" });
    const report = await bench(lab).check(
      cwd,
      ["npm test --silent", "test ! -e node_modules/.cache", "test -f packages/lib/node_modules/x/index.js"],
      CLEAN,
    );
    assert.equal(report.outcome, "pass", JSON.stringify(report, null, 1));
    const carried = report.findings.filter((one) => one.kind === "not-covered").map((one) => one.path);
    assert.deepEqual(carried.sort(), ["node_modules", "packages/lib/node_modules"]);
  });

  test("that are links, or link to packages beside the repository, still resolve", async (t) => {
    const lab = await createLab(t);
    const cwd = await lab.repo({ ".gitignore": "node_modules\n" });
    await writeTree(lab.root, {
      "sibling/package.json": '{"name":"sibling"}',
      "sibling/index.js": "module.exports = 1;\n",
      "shared/node_modules/dep/index.js": "module.exports = 1;\n",
    });
    await writeTree(cwd, { "a/node_modules/.keep": "", "b/index.txt": "b\n" });
    await symlink("../../../sibling", join(cwd, "a", "node_modules", "sibling"));
    await symlink("../../shared/node_modules", join(cwd, "b", "node_modules"));
    const commands = [`node -e 'require("./a/node_modules/sibling")'`, `node -e 'require("./b/node_modules/dep")'`];
    const report = await bench(lab).check(cwd, commands, CLEAN);
    assert.equal(report.outcome, "pass", JSON.stringify(report.commands, null, 1));
  });

  test("of the workspace stay as they are when a check writes into its own", async (t) => {
    const lab = await createLab(t);
    const cwd = await lab.repo(files);
    await writeTree(cwd, ignored);
    const report = await bench(lab).check(
      cwd,
      "rm -rf node_modules/dep && mkdir node_modules/other && touch node_modules/other/x",
      CLEAN,
    );
    assert.equal(report.outcome, "pass", report.message);
    assert.equal(existsSync(join(cwd, "node_modules/dep/index.js")), true);
    assert.equal(existsSync(join(cwd, "node_modules/other")), false);
  });

  test("are not carried when a setup command makes them; a failing setup is an error", async (t) => {
    const lab = await createLab(t);
    const cwd = await lab.repo(files);
    await writeTree(cwd, ignored);
    const made = bench(lab);
    const setup = "sh -c 'test ! -e node_modules && mkdir -p node_modules/made'";
    const good = await made.check(cwd, "test -d node_modules/made", { ...CLEAN, setup });
    assert.equal(good.outcome, "pass", JSON.stringify(good, null, 1));
    assert.deepEqual(
      good.commands.map((one) => one.run),
      [0, 1],
    );
    const bad = await made.check(cwd, "true", { ...CLEAN, setup: "false" });
    assert.equal(bad.outcome, "error");
    assert.equal(bad.reason, "setup-failed");
  });

  test("carry takes names and paths, and nothing else", async (t) => {
    const lab = await createLab(t);
    const cwd = await lab.repo(files);
    await writeTree(cwd, { ...ignored, "cfg/x": "1" });
    const report = await bench(lab).check(cwd, "test -f cfg/x -a ! -e node_modules", { ...CLEAN, carry: ["cfg"] });
    assert.equal(report.outcome, "pass", report.message);
  });
});

test("on another file system dependency folders are copied", async (t) => {
  if (!existsSync("/dev/shm")) return t.skip("there is no second file system");
  const lab = await createLab(t);
  const cwd = await lab.repo({ ".gitignore": "node_modules\n" });
  await writeTree(cwd, { "node_modules/dep/index.js": "module.exports = 1;\n" });
  const scratchDir = await mkdtemp("/dev/shm/pcs-lab-");
  lab.defer(() => rm(scratchDir, { recursive: true, force: true }));
  const made = bench(lab, scratchDir);
  const report = await made.check(cwd, "test ! -L node_modules && node -e 'require(\"dep\")'", CLEAN);
  assert.equal(report.outcome, "pass", report.commands[0]?.outputTail);
  assert.match(report.findings[0]?.detail ?? "", /copy, 1 files|reflink/);
});

test("submodules are checked out at their commit; uncommitted changes inside them are refused with a way out", async (t) => {
  const lab = await createLab(t);
  const inner = await lab.repo({ "inner.txt": "1\n" }, "inner");
  const cwd = await lab.repo({ "a.txt": "a\n" });
  await lab.git(cwd, "-c", "protocol.file.allow=always", "submodule", "add", "-q", inner, "sub");
  await lab.git(cwd, "commit", "-qm", "sub");
  await writeFile(join(cwd, "sub", "leftover.txt"), "x\n");
  const made = bench(lab);
  const report = await made.check(
    cwd,
    "test -f sub/inner.txt -a ! -e sub/leftover.txt && git -C sub rev-parse HEAD",
    CLEAN,
  );
  assert.equal(report.outcome, "pass", JSON.stringify(report, null, 1));
  await writeFile(join(cwd, "sub", "inner.txt"), "2\n");
  const dirty = await made.check(cwd, "true", CLEAN);
  assert.equal(dirty.reason, "submodule-changed");
  assert.match(dirty.message, /--verify-in workspace/);
  assert.equal((await made.check(cwd, "true")).outcome, "pass");
});

test("a sparse checkout stays sparse", async (t) => {
  const lab = await createLab(t);
  const cwd = await lab.repo({ "in/x.txt": "x\n", "out/y.txt": "y\n" });
  await lab.git(cwd, "sparse-checkout", "set", "in");
  const report = await bench(lab).check(
    cwd,
    'test -f in/x.txt -a ! -e out && test -z "$(git status --porcelain)"',
    CLEAN,
  );
  assert.equal(report.outcome, "pass", JSON.stringify(report.commands, null, 1));
});

test("a filtered file (as of Git LFS) has its workspace content; no smudge filter runs and a pointer stays one", async (t) => {
  const lab = await createLab(t);
  const ran = join(lab.root, "ran");
  const clean = await script(join(lab.root, "clean.sh"), "#!/bin/sh\nread x; echo pointer\n");
  const smudge = await script(join(lab.root, "smudge.sh"), `#!/bin/sh\ntouch ${ran}\ncat\n`);
  await lab.git(lab.root, "config", "--global", "filter.big.clean", clean);
  await lab.git(lab.root, "config", "--global", "filter.big.smudge", smudge);
  await lab.git(lab.root, "config", "--global", "filter.big.required", "true");
  const cwd = await lab.repo({ ".gitattributes": "*.bin filter=big\n", "x.bin": "real content\n" });
  await rm(ran, { force: true });
  const report = await bench(lab).check(cwd, "grep -q 'real content' x.bin", CLEAN);
  assert.equal(report.outcome, "pass", report.commands[0]?.outputTail);
  assert.equal(existsSync(ran), false);
  assert.equal(await lab.git(cwd, "show", "HEAD:x.bin"), "pointer\n");
});

test("hooks and configuration of the repository do not come along", async (t) => {
  const lab = await createLab(t);
  const cwd = await lab.repo({ "a.txt": "a\n" });
  const ran = join(lab.root, "ran");
  for (const hook of ["post-checkout", "post-commit", "pre-commit", "post-index-change"]) {
    await script(join(cwd, ".git", "hooks", hook), `#!/bin/sh\necho ${hook} >>${ran}\n`);
  }
  const trap = await script(join(lab.root, "trap.sh"), `#!/bin/sh\necho filter >>${ran}\ncat\n`);
  await writeTree(cwd, { ".gitattributes": "*.txt filter=trap\n", "b.txt": "b\n" });
  await lab.git(cwd, "config", "filter.trap.clean", trap);
  await lab.git(cwd, "config", "filter.trap.smudge", trap);
  await lab.git(cwd, "config", "core.fsmonitor", join(cwd, ".git", "hooks", "post-commit"));
  await rm(ran, { force: true });
  const report = await bench(lab).check(
    cwd,
    "grep -q b b.txt && git status && git commit -q --allow-empty -m x",
    CLEAN,
  );
  assert.equal(report.outcome, "pass", report.commands[0]?.outputTail);
  assert.equal(existsSync(ran), false);
});

test("a background writer in the workspace makes the result count for no tree", async (t) => {
  const lab = await createLab(t);
  const cwd = await lab.repo({ "a.txt": "a\n" });
  const go = join(lab.root, "go");
  const done = join(lab.root, "done");
  const writer = spawn(
    "sh",
    ["-c", `while ! test -e ${go}; do sleep 0.01; done; echo late >${join(cwd, "a.txt")}; touch ${done}`],
    { env: lab.env, stdio: "ignore" },
  );
  const report = await bench(lab).check(cwd, `touch ${go}; while ! test -e ${done}; do sleep 0.01; done`, {
    ...CLEAN,
    timeoutMs: 20_000,
  });
  assert.equal(report.reason, "tree-changed");
  assert.notEqual(report.treeAfter, report.treeBefore);
  assert.match(report.message, /a\.txt/);
  if (writer.exitCode === null) await new Promise((resolve) => writer.once("exit", resolve));
});

test("a check that writes into its clean worktree invalidates nothing, and folders without write permission go too", async (t) => {
  const lab = await createLab(t);
  const cwd = await lab.repo({ "a.txt": "a\n" });
  const made = bench(lab);
  const report = await made.check(cwd, "echo x >a.txt; mkdir -p ro/sub; touch ro/sub/f; chmod 500 ro/sub ro", CLEAN);
  assert.equal(report.outcome, "pass");
  assert.equal(readFileSync(join(cwd, "a.txt"), "utf8"), "a\n");
  assert.deepEqual(readdirSync(join(made.scratchDir, "clean")), []);
});

test("SIGKILL of the verifying process leaves no process; the clean worktree goes at the next run and a live one stays", async (t) => {
  const lab = await createLab(t);
  const cwd = await lab.repo({ "a.txt": "a\n" });
  const made = bench(lab);
  const pidFile = join(lab.root, "pid");
  const spec = await made.spec(cwd, `setsid sleep 300 & echo $$ >${pidFile}; sleep 300`, CLEAN);
  const program = fileURLToPath(new URL("./verify-once.fixture.ts", import.meta.url));
  const args = ["--import", "tsx", program, made.scratchDir, JSON.stringify(spec)];
  const verifying = spawn(process.execPath, args, { env: lab.env, stdio: "ignore" });
  await until(() => existsSync(pidFile) && readFileSync(pidFile, "utf8").trim() !== "", 20_000, "the check runs");
  const refsBefore = await lab.git(cwd, "for-each-ref");
  verifying.kill("SIGKILL");
  await new Promise((resolve) => verifying.once("exit", resolve));
  await until(() => !isAlive(Number(readFileSync(pidFile, "utf8"))), 6_000, "the guardian ends the check");
  await assertNoneLeft(lab.mark, 6_000);
  assert.equal(readdirSync(join(made.scratchDir, "clean")).length, 1);
  assert.equal(await lab.git(cwd, "worktree", "list").then((text) => text.trim().split("\n").length), 1);
  assert.equal(await lab.git(cwd, "for-each-ref"), refsBefore);

  const live = join(made.scratchDir, "clean", "live");
  const own = await makeOwnFolder(made.scratchDir, "clean");
  await mkdir(live);
  assert.equal((await made.check(cwd, "true", CLEAN)).outcome, "pass");
  assert.deepEqual(
    readdirSync(join(made.scratchDir, "clean")).sort(),
    [own, live].map((path) => path.split("/").at(-1)).sort(),
  );
  assert.equal((await lstat(own)).mode & 0o777, 0o700);
});

test("stores that nobody used for long are swept, the others stay", async (t) => {
  const lab = await createLab(t);
  const made = bench(lab);
  const [old, fresh] = [await lab.repo({ "a.txt": "a\n" }), await lab.repo({ "b.txt": "b\n" })];
  assert.equal((await made.check(old, "true")).outcome, "pass");
  const name = readdirSync(made.scratchDir).find((one) => /^[0-9a-f]{16}$/.test(one)) ?? "";
  await utimes(join(made.scratchDir, name, "trees", "info", "alternates"), 1, 1);
  assert.equal((await made.check(fresh, "true")).outcome, "pass");
  await made.check(fresh, "true", CLEAN);
  assert.deepEqual(await sweepScratch(made.scratchDir), { removed: 1 });
  assert.equal(readdirSync(made.scratchDir).includes(name), false);
  assert.equal(readdirSync(made.scratchDir).filter((one) => /^[0-9a-f]{16}$/.test(one)).length, 1);
  assert.equal((await made.check(old, "true")).outcome, "pass");
});

test("a command that names the workspace by its absolute path is pointed out", async (t) => {
  const lab = await createLab(t);
  const cwd = await lab.repo({ "a.txt": "a\n" });
  const report = await bench(lab).check(cwd, `test -f ${join(cwd, "a.txt")}`, CLEAN);
  assert.equal(report.outcome, "pass");
  assert.match(report.findings.map((one) => one.detail).join(), /absolute path/);
});

test("two removals of one folder at once both succeed, and links are not followed", async (t) => {
  const lab = await createLab(t);
  const folder = join(lab.root, "folder");
  await writeTree(lab.root, { "kept/x.txt": "x\n" });
  for (let round = 0; round < 10; round++) {
    await writeTree(
      folder,
      Object.fromEntries(Array.from({ length: 60 }, (_, at) => [`d${at % 6}/e${at % 4}/f${at}`, "x"])),
    );
    await symlink(join(lab.root, "kept"), join(folder, "d1", "link"));
    await Promise.all([removeFolder(folder), rm(folder, { recursive: true, force: true }), removeFolder(folder)]);
    assert.equal(existsSync(folder), false);
  }
  assert.equal(existsSync(join(lab.root, "kept", "x.txt")), true);
});

test("a stop while the check runs removes the clean worktree too", async (t) => {
  const lab = await createLab(t);
  const cwd = await lab.repo({ "a.txt": "a\n" });
  const made = bench(lab);
  const stop = new AbortController();
  const started = join(lab.root, "started");
  const running = made.verify(await made.spec(cwd, `touch ${started}; sleep 300`, CLEAN), {
    signal: stop.signal,
    redactor: hiding("-"),
  });
  await until(() => existsSync(started), 10_000, "the check runs");
  stop.abort();
  const report = await running;
  assert.equal(report.reason, "aborted");
  assert.deepEqual(readdirSync(join(made.scratchDir, "clean")), []);
});

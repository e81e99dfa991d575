/** Files that no commit holds may hold anything, secrets too: nothing of their contents outlives the look at them. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { appendFile, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { changedFiles, checkoutTree, diffText, sweepScratch, treeId } from "../../src/verifier/index.ts";
import { filesHolding } from "../support/files-holding.ts";
import { assertNoneLeft } from "../support/processes.ts";
import { until } from "../support/until.ts";
import { createLab, type Lab, writeTree } from "../support/workspace.ts";
import { type Bench, bench } from "./support.ts";

const CLEAN = { where: "clean" } as const;

interface Scene {
  lab: Lab;
  cwd: string;
  made: Bench;
  options: { scratchDir: string; hostEnv: Lab["env"] };
  /** What is written in an untracked and in a changed file. */
  word: string;
}

async function scene(lab: Lab): Promise<Scene> {
  const word = randomBytes(12).toString("hex");
  const cwd = await lab.repo({ "tracked.txt": "one\n" });
  await writeTree(cwd, { "notes/untracked.txt": `${word}\n`, "tracked.txt": `one\n${word}\n` });
  const made = bench(lab);
  return { lab, cwd, made, options: { scratchDir: made.scratchDir, hostEnv: lab.env }, word };
}

/** A verification that waits in its check, in this process or in one of its own. */
async function waiting({ lab, cwd, made }: Scene): Promise<{ spec: string; started: string }> {
  const started = join(lab.root, "started");
  return { spec: JSON.stringify(await made.spec(cwd, `touch ${started}; sleep 300`, CLEAN)), started };
}

const LOOKS: [string, (scene: Scene) => Promise<unknown>][] = [
  ["a tree id", ({ cwd, options }) => treeId(cwd, options)],
  ["a pass", async ({ cwd, made }) => assert.equal((await made.check(cwd, "true", CLEAN)).outcome, "pass")],
  ["a failure", async ({ cwd, made }) => assert.equal((await made.check(cwd, "false", CLEAN)).outcome, "fail")],
  ["a pass in the workspace", async ({ cwd, made }) => assert.equal((await made.check(cwd, "true")).outcome, "pass")],
  [
    "a check that cannot start",
    async ({ cwd, made }) => assert.equal((await made.check(cwd, "no-such-program-7", CLEAN)).outcome, "error"),
  ],
  [
    "a list and a diff of changes",
    async ({ cwd, options, word }) => {
      const head = { tree: "HEAD" };
      const files = await changedFiles(cwd, head, options);
      const diff = await diffText(cwd, head, options);
      assert.ok(files.ok && files.files.length === 2 && diff.ok && diff.text.includes(word));
    },
  ],
  [
    "a checkout for a reader",
    async ({ cwd, options, word }) => {
      const made = await checkoutTree({ cwd }, options);
      assert.ok(made.ok);
      assert.equal(await readFile(join(made.tree.root, "notes", "untracked.txt"), "utf8"), `${word}\n`);
      await made.tree.remove();
    },
  ],
  [
    "a stop in the middle",
    async (given) => {
      const { spec, started } = await waiting(given);
      const stop = new AbortController();
      const running = given.made.verify(JSON.parse(spec), { signal: stop.signal });
      await until(() => existsSync(started), 30_000, "the check runs");
      assert.notDeepEqual(await filesHolding(given.made.scratchDir, given.word), [], "they are there while it runs");
      stop.abort();
      assert.equal((await running).reason, "aborted");
    },
  ],
  [
    "a crash in the middle and the next start's sweep",
    async (given) => {
      const { spec, started } = await waiting(given);
      const program = fileURLToPath(new URL("./verify-once.fixture.ts", import.meta.url));
      const args = ["--import", "tsx", program, given.made.scratchDir, spec];
      const verifying = spawn(process.execPath, args, { env: given.lab.env, stdio: "ignore" });
      await until(() => existsSync(started), 60_000, "the check runs");
      verifying.kill("SIGKILL");
      await new Promise((resolve) => verifying.once("exit", resolve));
      await assertNoneLeft(given.lab.mark, 30_000);
      assert.notDeepEqual(await filesHolding(given.made.scratchDir, given.word), [], "a crash leaves them");
      assert.deepEqual(await sweepScratch(given.made.scratchDir), { removed: 2 });
    },
  ],
];

describe("no content of an uncommitted file is left in the scratch folder after", () => {
  for (const [what, look] of LOOKS) {
    test(what, async (t) => {
      const given = await scene(await createLab(t));
      await look(given);
      assert.deepEqual(await filesHolding(given.made.scratchDir, given.word), []);
    });
  }
});

test("a repeat checks out uncommitted files again, although nothing of the first look is left but the index", async (t) => {
  const { cwd, made, options, word } = await scene(await createLab(t));
  const command = `grep -q ${word} notes/untracked.txt && grep -q ${word} tracked.txt`;
  const first = await made.check(cwd, command, CLEAN);
  for (let round = 0; round < 2; round++) {
    const again = await made.check(cwd, command, CLEAN);
    assert.deepEqual([again.outcome, again.treeBefore], ["pass", first.treeBefore], again.message);
  }
  const id = await treeId(cwd, options);
  assert.equal(id.ok && id.id, first.treeBefore);
});

test("what was uncommitted at the start is compared with the commit before it, and the diff says so", async (t) => {
  const { lab, cwd, made, options, word } = await scene(await createLab(t));
  const start = await treeId(cwd, options);
  assert.ok(start.ok);
  const head = (await lab.git(cwd, "rev-parse", "HEAD")).trim();
  await appendFile(join(cwd, "tracked.txt"), "later\n");
  await appendFile(join(cwd, "notes", "untracked.txt"), "later\n");
  await writeFile(join(cwd, "fresh.txt"), "1\n2\n");
  const report = await made.check(cwd, "true", CLEAN, { since: { tree: start.id, head } });
  const seen = report.changes?.files.map(({ path, status, size, added }) => [path, status, size, added]);
  assert.deepEqual(seen, [
    ["fresh.txt", "added", 4, 2],
    ["notes/untracked.txt", "modified", word.length + 7, undefined],
    ["tracked.txt", "modified", word.length + 11, undefined],
  ]);
  const diff = await diffText(cwd, { tree: start.id, head }, options);
  assert.ok(diff.ok, JSON.stringify(diff));
  assert.match(
    diff.text,
    /^\[No commit held these files as they were at the start; .*notes\/untracked\.txt, tracked\.txt\]\n/,
  );
  assert.match(diff.text, /new file mode 100644[\s\S]*\n\+[0-9a-f]{24}\n\+later\n/);
  assert.match(diff.text, /\n one\n\+[0-9a-f]{24}\n\+later\n/);
});

/** Long proof: whatever happens to a workspace, the tree id stays what git itself would give, repeats included. */
import assert from "node:assert/strict";
import { mkdir, rename, rm, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { test } from "node:test";
import fc from "fast-check";
import { checkoutTree, treeId } from "../../src/verifier/index.ts";
import { createLab, type Lab } from "../support/workspace.ts";
import { plainTree } from "./support.ts";

const NAMES = ["a", "b", "dir/a", "dir/b", "dir/sub/c", "x.log", "dir/y.log", ".gitignore", "dir/.gitignore"];
const name = fc.constantFrom(...NAMES);
const content = fc.constantFrom("1\n", "2\n", "*.log\n", "dir/\n", "!*.log\n", "a\r\nb\r\n", "");

type Step = (cwd: string, lab: Lab) => Promise<unknown>;

const put =
  (path: string, text: string): Step =>
  async (cwd) => {
    await mkdir(dirname(join(cwd, path)), { recursive: true });
    await writeFile(join(cwd, path), text);
  };
const step: fc.Arbitrary<[string, Step]> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc
      .tuple(name, content)
      .map(([path, text]): [string, Step] => [`write ${path} ${JSON.stringify(text)}`, put(path, text)]),
  },
  {
    weight: 2,
    arbitrary: name.map((path): [string, Step] => [
      `remove ${path}`,
      (cwd) => rm(join(cwd, path), { recursive: true, force: true }),
    ]),
  },
  {
    weight: 1,
    arbitrary: fc
      .tuple(name, name)
      .map(([from, to]): [string, Step] => [`rename ${from} ${to}`, (cwd) => rename(join(cwd, from), join(cwd, to))]),
  },
  {
    weight: 1,
    arbitrary: name.map((path): [string, Step] => [`link ${path}`, (cwd) => symlink("a", join(cwd, path))]),
  },
  ...[
    "add -A",
    "commit -qm x --allow-empty",
    "reset -q",
    "checkout -q --detach",
    "rm -rq --cached --ignore-unmatch a dir",
    "add -f x.log",
    "stash -q",
    "gc -q",
  ].map((command) => ({
    weight: 1,
    arbitrary: fc.constant<[string, Step]>([`git ${command}`, (cwd, lab) => lab.git(cwd, ...command.split(" "))]),
  })),
);

test("random edits and git commands, seen after every step with a reused scratch index", async (t) => {
  const lab = await createLab(t);
  let count = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 12 }), async (steps) => {
      count++;
      const cwd = await lab.repo({ a: "1\n", "dir/b": "1\n" }, `soak-${count}`);
      const scratchDir = join(lab.root, `scratch-${count}`);
      const done: string[] = [];
      for (const [what, run] of steps) {
        // A step that cannot be done here (no such file, nothing to stash) changes nothing, or something: both count.
        done.push(
          await run(cwd, lab).then(
            () => what,
            () => `(${what})`,
          ),
        );
        const result = await treeId(cwd, { scratchDir, hostEnv: lab.env });
        assert.ok(result.ok, `${done.join("; ")}: ${JSON.stringify(result)}`);
        assert.equal(result.id, await plainTree(lab, cwd), done.join("; "));
      }
      /* What an earlier look has read is gone by now: its contents have to be found again, all of them. */
      const checkout = await checkoutTree({ cwd }, { scratchDir, hostEnv: lab.env });
      assert.ok(checkout.ok, `${done.join("; ")}: ${JSON.stringify(checkout)}`);
      assert.equal(await plainTree(lab, checkout.tree.root), checkout.id, done.join("; "));
      assert.equal(await plainTree(lab, cwd), checkout.id, done.join("; "));
      await checkout.tree.remove();
      await rm(cwd, { recursive: true });
      await rm(scratchDir, { recursive: true });
    }),
    { numRuns: Number(process.env["SOAK_RUNS"] ?? 60) },
  );
  t.diagnostic(`${count} sequences`);
});

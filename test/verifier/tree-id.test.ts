import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { appendFile, chmod, mkdir, readdir, readFile, rename, rm, symlink, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { changedFiles, checkoutTree, diffText, treeId } from "../../src/verifier/index.ts";
import { createLab, type Lab, writeTree } from "../support/workspace.ts";
import { plainTree, script } from "./support.ts";

async function idOf(cwd: string, lab: Lab, scratchDir = join(lab.root, "scratch")): Promise<string> {
  const result = await treeId(cwd, { scratchDir, hostEnv: lab.env });
  assert.ok(result.ok, JSON.stringify(result));
  return result.id;
}

/** All bytes of the repository's own folder, by name. */
async function gitFolder(cwd: string): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const entry of await readdir(join(cwd, ".git"), { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    found[path] = entry.isFile() ? (await readFile(path)).toString("base64") : "";
  }
  return found;
}

type Change = (cwd: string, lab: Lab) => Promise<unknown>;

const WORKSPACES: [string, Change][] = [
  ["a clean checkout", async () => undefined],
  ["a modified file", (cwd) => writeFile(join(cwd, "a.txt"), "other\n")],
  [
    "a staged file that was modified again",
    async (cwd, lab) => {
      await writeFile(join(cwd, "a.txt"), "staged\n");
      await lab.git(cwd, "add", "a.txt");
      await writeFile(join(cwd, "a.txt"), "later\n");
    },
  ],
  ["an untracked file", (cwd) => writeFile(join(cwd, "new.txt"), "new\n")],
  ["an untracked folder", (cwd) => writeTree(cwd, { "deep/er/new.txt": "new\n" })],
  ["an ignored file", (cwd) => writeTree(cwd, { ".gitignore": "*.log\n", "x.log": "noise\n" })],
  [
    "a tracked file that is ignored too",
    async (cwd, lab) => {
      await writeTree(cwd, { "x.log": "kept\n" });
      await lab.git(cwd, "add", "-f", "x.log");
      await writeTree(cwd, { ".gitignore": "*.log\n", "x.log": "changed\n" });
    },
  ],
  ["a deleted file", (cwd) => rm(join(cwd, "a.txt"))],
  [
    "a renamed folder",
    async (cwd) => {
      await writeTree(cwd, { "old/x.txt": "x\n" });
      await rename(join(cwd, "old"), join(cwd, "new"));
    },
  ],
  [
    "a file that became a folder",
    async (cwd) => {
      await rm(join(cwd, "a.txt"));
      await writeTree(cwd, { "a.txt/inside": "x\n" });
    },
  ],
  [
    "a symbolic link, also a dangling one",
    async (cwd) => {
      await symlink("a.txt", join(cwd, "link"));
      await symlink("/no/where", join(cwd, "dangling"));
    },
  ],
  ["an executable bit", (cwd) => chmod(join(cwd, "a.txt"), 0o755)],
  ["a binary", (cwd) => writeFile(join(cwd, "x.bin"), Buffer.from([0, 1, 2, 255, 0]))],
  ["a large file", (cwd) => writeFile(join(cwd, "large.bin"), Buffer.alloc(12 * 1024 * 1024, 7))],
  [
    "names with blanks, quotes, newlines and other scripts",
    (cwd) =>
      writeTree(cwd, {
        "a b.txt": "1",
        "q'\"uote": "2",
        "new\nline": "3",
        "ü日本.txt": "4",
        "-dash": "5",
        ":colon": "6",
        "*star": "7",
      }),
  ],
  ["a detached HEAD", (cwd, lab) => lab.git(cwd, "checkout", "-q", "--detach")],
  [
    "an unborn HEAD",
    async (cwd, lab) => {
      await rm(join(cwd, ".git"), { recursive: true });
      await lab.git(cwd, "init", "-q");
    },
  ],
  [
    "a merge with conflicts",
    async (cwd, lab) => {
      await lab.git(cwd, "checkout", "-q", "-b", "side");
      await writeFile(join(cwd, "a.txt"), "side\n");
      await lab.git(cwd, "commit", "-qam", "side");
      await lab.git(cwd, "checkout", "-q", "main");
      await writeFile(join(cwd, "a.txt"), "main\n");
      await lab.git(cwd, "commit", "-qam", "main");
      await lab.git(cwd, "merge", "side").catch(() => undefined);
      assert.equal(existsSync(join(cwd, ".git", "MERGE_HEAD")), true);
    },
  ],
  [
    "line endings that git converts",
    (cwd) => writeTree(cwd, { ".gitattributes": "*.txt text\n", "crlf.txt": "a\r\nb\r\n" }),
  ],
  [
    "a submodule at another commit",
    async (cwd, lab) => {
      const inner = await lab.repo({ "inner.txt": "1\n" }, "inner");
      await lab.git(cwd, "-c", "protocol.file.allow=always", "submodule", "add", "-q", inner, "sub");
      await lab.git(cwd, "commit", "-qm", "sub");
      await writeFile(join(cwd, "sub", "inner.txt"), "2\n");
      await lab.git(join(cwd, "sub"), "commit", "-qam", "two");
    },
  ],
  [
    "a nested repository that is no submodule",
    async (cwd, lab) => {
      await writeTree(cwd, { "nested/x.txt": "x\n" });
      await lab.git(join(cwd, "nested"), "init", "-q");
      await lab.git(join(cwd, "nested"), "add", "-A");
      await lab.git(join(cwd, "nested"), "commit", "-qm", "x");
    },
  ],
  [
    "a sparse checkout",
    async (cwd, lab) => {
      await writeTree(cwd, { "in/x.txt": "x\n", "out/y.txt": "y\n" });
      await lab.git(cwd, "add", "-A");
      await lab.git(cwd, "commit", "-qm", "folders");
      await lab.git(cwd, "sparse-checkout", "set", "in");
      assert.equal(existsSync(join(cwd, "out")), false);
      await writeFile(join(cwd, "in", "x.txt"), "changed\n");
    },
  ],
  [
    "a partial clone with a sparse checkout",
    async (cwd, lab) => {
      await writeTree(cwd, { "in/x.txt": "x\n", "out/y.txt": "y\n" });
      await lab.git(cwd, "add", "-A");
      await lab.git(cwd, "commit", "-qm", "folders");
      await lab.git(cwd, "config", "uploadpack.allowFilter", "true");
      const origin = join(lab.root, "origin");
      await rename(cwd, origin);
      await lab.git(lab.root, "clone", "-q", "--filter=blob:none", "--sparse", `file://${origin}`, cwd);
      await lab.git(cwd, "sparse-checkout", "set", "in");
      await writeFile(join(cwd, "in", "x.txt"), "changed\n");
    },
  ],
  ["a stale index lock", (cwd) => writeFile(join(cwd, ".git", "index.lock"), "")],
  ["a split index", (cwd, lab) => lab.git(cwd, "update-index", "--split-index")],
  [
    "a version 4 index with an untracked cache",
    (cwd, lab) => lab.git(cwd, "update-index", "--index-version", "4", "--force-untracked-cache"),
  ],
];

describe("the tree id is what git add -A and git write-tree give, and the repository stays byte for byte", () => {
  for (const [name, change] of WORKSPACES) {
    test(name, async (t) => {
      const lab = await createLab(t);
      const cwd = await lab.repo({ "a.txt": "a\n", "b.txt": "b\n" });
      await change(cwd, lab);
      const before = await gitFolder(cwd);
      const first = await idOf(cwd, lab);
      const again = await idOf(cwd, lab);
      assert.deepEqual(await gitFolder(cwd), before);
      assert.equal(again, first);
      assert.equal(first, await plainTree(lab, cwd));
    });
  }
});

describe("repeats that reuse the scratch index see the same as a fresh look", () => {
  const steps: [string, Change][] = [
    ["a change", (cwd) => writeFile(join(cwd, "a.txt"), "2\n")],
    ["an untracked file", (cwd) => writeFile(join(cwd, "x.log"), "x\n")],
    ["an untracked file that is ignored from now on", (cwd) => writeFile(join(cwd, ".gitignore"), "*.log\n")],
    ["a file that is ignored no more", (cwd) => rm(join(cwd, ".gitignore"))],
    ["a deletion", (cwd) => rm(join(cwd, "x.log"))],
    ["a change of the real index", (cwd, lab) => lab.git(cwd, "add", "-A")],
    ["a commit", (cwd, lab) => lab.git(cwd, "commit", "-qam", "more")],
    [
      "a change of same size and time",
      async (cwd) => {
        const when = new Date(2020, 1, 1);
        await writeFile(join(cwd, "b.txt"), "c\n");
        await utimes(join(cwd, "b.txt"), when, when);
      },
    ],
    [
      "a folder in place of a file",
      async (cwd) => {
        await rm(join(cwd, "a.txt"));
        await writeTree(cwd, { "a.txt/x": "x\n" });
      },
    ],
  ];
  test("step by step", async (t) => {
    const lab = await createLab(t);
    const cwd = await lab.repo({ "a.txt": "a\n", "b.txt": "b\n" });
    for (const [name, change] of steps) {
      await change(cwd, lab);
      assert.equal(await idOf(cwd, lab), await plainTree(lab, cwd), name);
    }
  });
});

test("an edit of the same size in the very clock tick of the index is seen", async (t) => {
  const lab = await createLab(t);
  const cwd = await lab.repo({ "a.txt": "0\n" });
  const seen = new Set<string>();
  for (let value = 1; value <= 9; value++) {
    await lab.git(cwd, "add", "-A");
    await writeFile(join(cwd, "a.txt"), `${value}\n`);
    seen.add(await idOf(cwd, lab));
  }
  assert.equal(seen.size, 9);
});

describe("git's own ways of looking away do not hide content", () => {
  for (const flag of ["--assume-unchanged", "--skip-worktree"]) {
    test(flag, async (t) => {
      const lab = await createLab(t);
      const cwd = await lab.repo({ "a.txt": "a\n" });
      const clean = await idOf(cwd, lab);
      await lab.git(cwd, "update-index", flag, "a.txt");
      await writeFile(join(cwd, "a.txt"), "hidden change\n");
      const result = await treeId(cwd, { hostEnv: lab.env });
      assert.ok(result.ok);
      assert.notEqual(result.id, clean);
      assert.deepEqual(
        result.notes.map((note) => [note.kind, note.path]),
        [["hidden-change", "a.txt"]],
      );
    });
  }
  test("core.worktree that points elsewhere is refused", async (t) => {
    const lab = await createLab(t);
    const cwd = await lab.repo({ "a.txt": "a\n" });
    await lab.git(cwd, "config", "core.worktree", lab.home);
    const result = await treeId(cwd, { hostEnv: lab.env });
    assert.equal(result.ok, false);
    assert.equal(!result.ok && result.reason, "odd-worktree");
  });
});

test("a hostile repository configuration runs nothing", async (t) => {
  const lab = await createLab(t);
  const cwd = await lab.repo({ "a.txt": "a\n", "sub.txt": "x\n" });
  const inner = await lab.repo({ "inner.txt": "1\n" }, "inner");
  await lab.git(cwd, "-c", "protocol.file.allow=always", "submodule", "add", "-q", inner, "sub");
  await lab.git(cwd, "commit", "-qm", "sub");
  const ran = join(lab.root, "ran");
  const trap = await script(join(lab.root, "trap.sh"), `#!/bin/sh\necho "$0 $*" >>${ran}\ncat\n`);
  for (const folder of [join(cwd, ".git"), join(cwd, ".git", "modules", "sub")]) {
    for (const hook of [
      "post-index-change",
      "pre-commit",
      "post-checkout",
      "reference-transaction",
      "fsmonitor-watchman",
    ]) {
      await script(join(folder, "hooks", hook), `#!/bin/sh\necho ${hook} >>${ran}\n`);
    }
  }
  for (const where of [cwd, join(cwd, "sub")]) {
    for (const [key, value] of [
      ["core.fsmonitor", trap],
      ["core.hooksPath", join(cwd, ".git", "hooks")],
      ["core.sshCommand", trap],
      ["core.pager", trap],
      ["core.alternateRefsCommand", trap],
      ["diff.external", trap],
      ["diff.trap.command", trap],
      ["diff.trap.textconv", trap],
      ["filter.trap.clean", trap],
      ["filter.trap.smudge", trap],
      ["filter.trap.required", "true"],
      ["filter.proc.process", trap],
      ["filter.lfs.clean", trap],
      ["filter.a=b.clean", trap],
      ["credential.helper", trap],
      ["gpg.program", trap],
      ["uploadpack.packObjectsHook", trap],
    ] as const) {
      await lab.git(where, "config", key, value);
    }
    await writeTree(where, {
      ".gitattributes": "*.txt filter=trap diff=trap\n*.p filter=proc\n*.l filter=lfs\n",
      "fresh.txt": "fresh\n",
      "x.p": "p\n",
      "x.l": "l\n",
    });
  }
  await appendFile(join(cwd, "sub", "inner.txt"), "dirty\n");
  await rm(ran, { force: true });
  const start = await idOf(cwd, lab);
  await writeFile(join(cwd, "a.txt"), "changed\n");
  const changes = await changedFiles(cwd, { tree: start }, { scratchDir: join(lab.root, "scratch"), hostEnv: lab.env });
  assert.ok(changes.ok, JSON.stringify(changes));
  assert.equal(existsSync(ran), false, existsSync(ran) ? await readFile(ran, "utf8") : "");
  const result = await treeId(cwd, { hostEnv: lab.env });
  assert.ok(result.ok);
  assert.ok(result.notes.some((note) => note.kind === "filter-off" && note.detail.includes('"trap"')));
});

test("the person's own filter (global configuration) is kept", async (t) => {
  const lab = await createLab(t);
  const cwd = await lab.repo({ ".gitattributes": "*.up filter=up\n" });
  await lab.git(cwd, "config", "--global", "filter.up.clean", "tr a-z A-Z");
  await writeFile(join(cwd, "x.up"), "loud\n");
  assert.equal(await idOf(cwd, lab), await plainTree(lab, cwd));
});

test("what cannot be covered is named and stops nothing", async (t) => {
  const lab = await createLab(t);
  const cwd = await lab.repo({ "a.txt": "a\n" });
  await writeTree(cwd, { "empty-repo/x.txt": "x\n" });
  await lab.git(join(cwd, "empty-repo"), "init", "-q");
  const result = await treeId(cwd, { hostEnv: lab.env });
  assert.ok(result.ok, JSON.stringify(result));
  assert.deepEqual(
    result.notes.map((note) => [note.kind, note.path]),
    [["nested-repository", "empty-repo"]],
  );
});

test("a linked worktree and a subfolder have the id of their own whole tree", async (t) => {
  const lab = await createLab(t);
  const cwd = await lab.repo({ "a.txt": "a\n", "pkg/b.txt": "b\n" });
  const linked = join(lab.root, "linked");
  await lab.git(cwd, "worktree", "add", "-q", linked);
  await writeFile(join(linked, "only-here.txt"), "x\n");
  assert.equal(await idOf(linked, lab), await plainTree(lab, linked));
  assert.notEqual(await idOf(linked, lab), await idOf(cwd, lab));
  assert.equal(await idOf(join(cwd, "pkg"), lab), await plainTree(lab, cwd));
  await lab.git(cwd, "-c", "protocol.file.allow=always", "submodule", "add", "-q", linked, "sub");
  assert.equal(await idOf(join(cwd, "sub"), lab), await plainTree(lab, join(cwd, "sub")));
});

test("a folder that the repository around it ignores is hashed by content", async (t) => {
  const lab = await createLab(t);
  const cwd = await lab.repo({ ".gitignore": "scratchpad/\n" });
  await writeTree(cwd, { "scratchpad/x.txt": "x\n" });
  assert.match(await idOf(join(cwd, "scratchpad"), lab), /^sha256:[0-9a-f]{64}$/);
});

describe("outside git the id is a content hash", () => {
  const changes: [string, Change, boolean][] = [
    ["the content of a file", (cwd) => writeFile(join(cwd, "a.txt"), "b\n"), true],
    ["a new file", (cwd) => writeFile(join(cwd, "c.txt"), "c\n"), true],
    ["a name", (cwd) => rename(join(cwd, "a.txt"), join(cwd, "z.txt")), true],
    ["an executable bit", (cwd) => chmod(join(cwd, "a.txt"), 0o755), true],
    ["a link's target", (cwd) => symlink("a.txt", join(cwd, "link")), true],
    ["a time alone", (cwd) => utimes(join(cwd, "a.txt"), new Date(0), new Date(0)), false],
    ["a derived folder", (cwd) => writeTree(cwd, { "node_modules/x/index.js": "1", "__pycache__/x.pyc": "2" }), false],
  ];
  for (const [name, change, differs] of changes) {
    test(`${name} ${differs ? "changes it" : "does not change it"}`, async (t) => {
      const lab = await createLab(t);
      const cwd = join(lab.root, "plain");
      await writeTree(cwd, { "a.txt": "a\n", "sub/b.txt": "b\n" });
      const before = await idOf(cwd, lab);
      assert.match(before, /^sha256:[0-9a-f]{64}$/);
      await change(cwd, lab);
      assert.equal((await idOf(cwd, lab)) !== before, differs);
    });
  }
});

test("changed files are listed by name, kind, size and hash; nothing is read into a verdict", async (t) => {
  const lab = await createLab(t);
  const cwd = await lab.repo({ "a.txt": "a\n", "gone.txt": "x\n", "kind.txt": "k\n" });
  const start = await idOf(cwd, lab);
  await writeTree(cwd, { "a.txt": "a\nb\n", "new dir/n.txt": "n\n" });
  await writeFile(join(cwd, "x.bin"), Buffer.alloc(6 * 1024 * 1024));
  await rm(join(cwd, "gone.txt"));
  await rm(join(cwd, "kind.txt"));
  await symlink("a.txt", join(cwd, "kind.txt"));
  const result = await changedFiles(cwd, { tree: start }, { scratchDir: join(lab.root, "scratch"), hostEnv: lab.env });
  assert.ok(result.ok, JSON.stringify(result));
  const seen = result.files.map((file) => [
    file.path,
    file.status,
    file.kind,
    file.large,
    file.size,
    file.added,
    file.deleted,
  ]);
  assert.deepEqual(seen, [
    ["a.txt", "modified", "text", false, 4, 1, 0],
    ["gone.txt", "deleted", "text", false, 0, 0, 1],
    ["kind.txt", "type-changed", "symlink", false, 5, undefined, undefined],
    ["new dir/n.txt", "added", "text", false, 2, 1, 0],
    ["x.bin", "added", "binary", true, 6 * 1024 * 1024, undefined, undefined],
  ]);
  assert.deepEqual(result.stat, { files: 5, added: 2, deleted: 1, binaries: 1 });
  const gone = await changedFiles(
    cwd,
    { tree: `${"0".repeat(39)}1` },
    {
      scratchDir: join(lab.root, "scratch"),
      hostEnv: lab.env,
    },
  );
  assert.equal(!gone.ok && gone.reason, "tree-gone");
});

test("a diff is cut where it is told to be, and a checkout for readers is exactly the tree", async (t) => {
  const lab = await createLab(t);
  const cwd = await lab.repo({ "a.txt": "a\n", ".gitignore": "node_modules\n" });
  await writeTree(cwd, { "node_modules/x": "x" });
  const options = { scratchDir: join(lab.root, "scratch"), hostEnv: lab.env };
  const start = await idOf(cwd, lab);
  await writeFile(join(cwd, "a.txt"), "b\n".repeat(1000));
  const whole = await diffText(cwd, { tree: start }, options);
  assert.ok(whole.ok && !whole.isCut && whole.text.includes("-a\n+b\n"), JSON.stringify(whole));
  const cut = await diffText(cwd, { tree: start }, { ...options, maxBytes: 300 });
  assert.ok(cut.ok && cut.isCut && cut.text.length < 350 && cut.text.startsWith("diff --git a/a.txt"));
  const checkout = await checkoutTree({ cwd }, options);
  assert.ok(checkout.ok);
  assert.equal(checkout.id, whole.tree);
  assert.deepEqual((await readdir(checkout.tree.cwd)).sort(), [".git", ".gitignore", "a.txt"]);
  assert.equal(await plainTree(lab, checkout.tree.cwd), checkout.id);
  await checkout.tree.remove();
  assert.deepEqual(await readdir(join(options.scratchDir, "clean")), []);
});

test("an aborted look says so", async (t) => {
  const lab = await createLab(t);
  const cwd = await lab.repo({ "a.txt": "a\n" });
  await mkdir(join(lab.root, "scratch"), { recursive: true });
  const result = await treeId(cwd, { hostEnv: lab.env, signal: AbortSignal.abort() });
  assert.equal(!result.ok && result.reason, "aborted");
});

import assert from "node:assert/strict";
import { chmodSync, chownSync, existsSync, mkdirSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, test } from "node:test";
import type { Ownership } from "../../src/platform/account.ts";
import { openPrivateDir } from "../../src/platform/private-dir.ts";
import { isPlainSentence, reasonOf, tempFolder } from "./temp-folder.ts";

const USER = 1234;

/** An ordinary user who owns everything below `folder` but the paths named in `others`; the rest is as it really is. */
function asUser(folder: string, others: Record<string, number> = {}, more: Partial<Ownership> = {}): Ownership {
  return {
    uid: USER,
    ownerOf: (at, stats) => others[at] ?? (at.startsWith(folder) || stats.uid !== 0 ? USER : 0),
    isPrivateGroup: () => false,
    ...more,
  };
}

interface Case {
  name: string;
  plant: (folder: string) => string | { path: string; ownership: Ownership };
  reason: string;
  says: RegExp;
}

const REFUSED: Case[] = [
  { name: "a relative path", plant: () => "state", reason: "bad-path", says: /absolute/ },
  {
    name: "a link in its place",
    plant: (f) => {
      mkdirSync(join(f, "real"), { mode: 0o700 });
      symlinkSync("real", join(f, "state"));
      return join(f, "state");
    },
    reason: "symlink",
    says: /symbolic link/,
  },
  {
    name: "a link above it",
    plant: (f) => {
      mkdirSync(join(f, "real"), { mode: 0o700 });
      symlinkSync("real", join(f, "link"));
      return join(f, "link", "state");
    },
    reason: "symlink",
    says: /link/,
  },
  {
    name: "a dangling link",
    plant: (f) => {
      symlinkSync("nowhere", join(f, "state"));
      return join(f, "state");
    },
    reason: "symlink",
    says: /symbolic link/,
  },
  {
    name: "a file in its place",
    plant: (f) => {
      writeFileSync(join(f, "state"), "");
      return join(f, "state");
    },
    reason: "not-a-directory",
    says: /not a folder/,
  },
  {
    name: "a file above it",
    plant: (f) => {
      writeFileSync(join(f, "file"), "");
      return join(f, "file", "state");
    },
    reason: "not-a-directory",
    says: /not a folder/,
  },
  {
    name: "mode 0755",
    plant: (f) => {
      mkdirSync(join(f, "state"));
      chmodSync(join(f, "state"), 0o755);
      return join(f, "state");
    },
    reason: "wrong-mode",
    says: /mode 0755.*chmod 700/,
  },
  {
    name: "mode 0777",
    plant: (f) => {
      mkdirSync(join(f, "state"));
      chmodSync(join(f, "state"), 0o777);
      return join(f, "state");
    },
    reason: "wrong-mode",
    says: /mode 0777/,
  },
  {
    name: "mode 0500",
    plant: (f) => {
      mkdirSync(join(f, "state"));
      chmodSync(join(f, "state"), 0o500);
      return join(f, "state");
    },
    reason: "wrong-mode",
    says: /mode 0500/,
  },
  {
    name: "another owner",
    plant: (f) => {
      const path = join(f, "state");
      mkdirSync(path, { mode: 0o700 });
      return { path, ownership: asUser(f, { [path]: 4711 }) };
    },
    reason: "wrong-owner",
    says: /user 4711/,
  },
  {
    name: "a parent of another user",
    plant: (f) => ({ path: join(f, "state"), ownership: asUser(f, { [f]: 4711 }) }),
    reason: "unsafe-parent",
    says: /user 4711/,
  },
  {
    name: "a parent that everybody can write",
    plant: (f) => {
      const p = join(f, "open");
      mkdirSync(p);
      chmodSync(p, 0o777);
      return join(p, "state");
    },
    reason: "unsafe-parent",
    says: /mode 0777/,
  },
  {
    name: "a parent that a shared group can write",
    plant: (f) => {
      const p = join(f, "team");
      mkdirSync(p);
      chmodSync(p, 0o775);
      return { path: join(p, "state"), ownership: sharedGroup(f, p) };
    },
    reason: "unsafe-parent",
    says: /write/,
  },
];

function sharedGroup(folder: string, path: string): Ownership {
  // As root the folder's group is root's own, which is trusted; give it one that is not.
  if (statSync(path).gid === 0) chownSync(path, -1, 4711);
  return asUser(folder);
}

describe("a private folder", () => {
  for (const { name, plant, reason, says } of REFUSED) {
    test(`is refused for ${name}, and nothing is made or changed`, (t) => {
      const folder = tempFolder(t);
      const planted = plant(folder);
      const { path, ownership } = typeof planted === "string" ? { path: planted, ownership: asUser(folder) } : planted;
      const before = modeOf(path);
      const existed = existsSync(path);
      const outcome = openPrivateDir(path, { what: "state folder", ownership });
      assert.equal(reasonOf(outcome), reason, JSON.stringify(outcome));
      assert.ok(!outcome.ok && says.test(outcome.message) && isPlainSentence(outcome.message), JSON.stringify(outcome));
      assert.equal(existsSync(path), existed);
      assert.equal(modeOf(path), before);
    });
  }

  test("is made with missing parents, all 0700 whatever the umask", (t) => {
    const folder = tempFolder(t);
    for (const umask of [0o000, 0o077, 0o277]) {
      const path = join(folder, `u${umask}`, "share", "state");
      const before = process.umask(umask);
      const outcome = openPrivateDir(path);
      process.umask(before);
      assert.ok(outcome.ok && outcome.dir.created && outcome.dir.path === path, JSON.stringify(outcome));
      for (const at of [path, dirname(path), dirname(dirname(path))]) assert.equal(statSync(at).mode & 0o777, 0o700);
    }
  });

  test("that exists is taken as it is, and its identity tells a replaced one", (t) => {
    const path = join(tempFolder(t), "state");
    const made = openPrivateDir(path);
    const again = openPrivateDir(path);
    assert.ok(made.ok && again.ok && !again.dir.created);
    assert.equal(made.ok && made.dir.identity, again.ok && again.dir.identity);
  });

  test("that is missing is not made when only looked for", (t) => {
    const path = join(tempFolder(t), "state");
    assert.equal(reasonOf(openPrivateDir(path, { create: false })), "missing");
    assert.equal(existsSync(path), false);
  });

  test("below a sticky folder that everybody can write is fine, as in /tmp", (t) => {
    const shared = join(tempFolder(t), "tmp");
    mkdirSync(shared);
    chmodSync(shared, 0o1777);
    assert.equal(reasonOf(openPrivateDir(join(shared, "state"))), "ok");
  });

  test("below a folder that our private group can write is fine: umask 002 is no reason to refuse", (t) => {
    const folder = tempFolder(t);
    const parent = join(folder, "home");
    mkdirSync(parent);
    chmodSync(parent, 0o775);
    if (statSync(parent).gid === 0) chownSync(parent, -1, 4711);
    const ownership = asUser(folder, {}, { isPrivateGroup: (gid) => gid === statSync(parent).gid });
    assert.equal(reasonOf(openPrivateDir(join(parent, "state"), { ownership })), "ok");
  });

  test("through a link that only root can change is resolved, as /home and macOS's /var are", (t) => {
    const folder = tempFolder(t);
    const roots = join(folder, "rootfs");
    mkdirSync(join(folder, "real"), { mode: 0o700 });
    mkdirSync(roots, { mode: 0o755 });
    symlinkSync(join(folder, "real"), join(roots, "home"));
    const outcome = openPrivateDir(join(roots, "home", "state"), { ownership: asUser(folder, { [roots]: 0 }) });
    assert.ok(outcome.ok, JSON.stringify(outcome));
    assert.equal(outcome.ok && outcome.dir.path, join(folder, "real", "state"));
    const loop = join(roots, "loop");
    symlinkSync("loop", loop);
    assert.equal(
      reasonOf(openPrivateDir(join(loop, "state"), { ownership: asUser(folder, { [roots]: 0 }) })),
      "symlink",
    );
  });

  test("through a link of our own is refused for root as well, who owns every folder", (t) => {
    const folder = tempFolder(t);
    mkdirSync(join(folder, "real"), { mode: 0o700 });
    symlinkSync("real", join(folder, "state"));
    const root: Ownership = { uid: 0, ownerOf: () => 0, isPrivateGroup: () => true };
    assert.equal(reasonOf(openPrivateDir(join(folder, "state"), { ownership: root })), "symlink");
  });
});

function modeOf(path: string): number | undefined {
  return existsSync(path) ? statSync(path).mode : undefined;
}

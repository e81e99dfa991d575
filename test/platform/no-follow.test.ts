import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmodSync, linkSync, mkdirSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, test } from "node:test";
import type { Ownership } from "../../src/platform/account.ts";
import { systemOwnership } from "../../src/platform/account.ts";
import { readNoFollow } from "../../src/platform/no-follow.ts";
import { isPlainSentence, reasonOf, tempFolder } from "./temp-folder.ts";

const CASES: { name: string; plant: (path: string, folder: string) => void; reason: string }[] = [
  { name: "a missing file", plant: () => undefined, reason: "missing" },
  {
    name: "a link to a good file",
    plant: (path, folder) => {
      writeFileSync(join(folder, "real"), "x", { mode: 0o600 });
      symlinkSync("real", path);
    },
    reason: "symlink",
  },
  { name: "a dangling link", plant: (path) => symlinkSync("nowhere", path), reason: "symlink" },
  { name: "a folder", plant: (path) => mkdirSync(path), reason: "not-regular" },
  { name: "a FIFO", plant: (path) => execFileSync("mkfifo", [path]), reason: "not-regular" },
  { name: "a device", plant: (path) => symlinkSync("/dev/zero", path), reason: "symlink" },
  {
    name: "a file that others can read",
    plant: (path) => {
      writeFileSync(path, "x");
      chmodSync(path, 0o644);
    },
    reason: "wrong-mode",
  },
  {
    name: "a file that the group can write",
    plant: (path) => {
      writeFileSync(path, "x");
      chmodSync(path, 0o620);
    },
    reason: "wrong-mode",
  },
  {
    name: "a file with two names",
    plant: (path, folder) => {
      writeFileSync(path, "x", { mode: 0o600 });
      linkSync(path, join(folder, "other"));
    },
    reason: "hard-linked",
  },
  {
    name: "a file one byte too large",
    plant: (path) => writeFileSync(path, "x".repeat(4097), { mode: 0o600 }),
    reason: "too-large",
  },
  {
    name: "a sparse giant",
    plant: (path) => {
      writeFileSync(path, "", { mode: 0o600 });
      truncateSync(path, 2 ** 40);
    },
    reason: "too-large",
  },
];

describe("reading without following", () => {
  for (const { name, plant, reason } of CASES) {
    test(`G8: ${name} is refused as ${reason}, at once`, (t) => {
      const folder = tempFolder(t);
      const path = join(folder, "file");
      plant(path, folder);
      const started = performance.now();
      const outcome = readNoFollow(path, { maxBytes: 4096 });
      assert.equal(reasonOf(outcome), reason);
      assert.ok(performance.now() - started < 5_000);
      assert.ok(!outcome.ok && isPlainSentence(outcome.message), JSON.stringify(outcome));
    });
  }

  test("a socket is refused", async (t) => {
    const path = join(tempFolder(t), "socket");
    const server = createServer();
    await new Promise<void>((done) => server.listen(path, done));
    assert.equal(reasonOf(readNoFollow(path)), "not-regular");
    await new Promise<void>((done) => server.close(() => done()));
  });

  test("a file of exactly the bound is read whole, an empty one too", (t) => {
    const folder = tempFolder(t);
    for (const size of [0, 1, 4096]) {
      const path = join(folder, `f${size}`);
      writeFileSync(path, Buffer.alloc(size, 7), { mode: 0o600 });
      const read = readNoFollow(path, { maxBytes: 4096 });
      assert.ok(read.ok);
      assert.equal(read.ok && read.bytes.equals(Buffer.alloc(size, 7)), true);
    }
  });

  test("a foreign owner is refused, one that the caller names is taken", (t) => {
    const path = join(tempFolder(t), "file");
    writeFileSync(path, "stop", { mode: 0o644 });
    const foreign: Ownership = { ...systemOwnership, ownerOf: () => 4711 };
    const refused = readNoFollow(path, { ownership: foreign, forbiddenMode: 0o022 });
    assert.equal(reasonOf(refused), "wrong-owner");
    assert.match(refused.ok ? "" : refused.message, /user 4711/);
    assert.equal(reasonOf(readNoFollow(path, { ownership: foreign, forbiddenMode: 0o022, owners: [4711] })), "ok");
  });
});

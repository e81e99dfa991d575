import assert from "node:assert/strict";
import { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { type DurableFs, durableWrite, durableWriteAsync, nodeDurableFs } from "../../src/platform/durable-write.ts";
import { isPlainSentence, reasonOf, tempFolder } from "./temp-folder.ts";

function failing(call: keyof DurableFs, code: string, after = 0): DurableFs {
  let calls = 0;
  const real = nodeDurableFs[call] as (...args: unknown[]) => unknown;
  return {
    ...nodeDurableFs,
    [call]: (...args: unknown[]) => {
      calls += 1;
      if (calls > after) throw Object.assign(new Error(code), { code });
      return real(...args);
    },
  };
}

const FAULTS: { call: keyof DurableFs; code: string; reason: string; after?: number }[] = [
  { call: "openSync", code: "EROFS", reason: "read-only-disk" },
  { call: "openSync", code: "EMFILE", reason: "too-many-files" },
  { call: "writeSync", code: "ENOSPC", reason: "disk-full" },
  { call: "writeSync", code: "ENOSPC", reason: "disk-full", after: 1 },
  { call: "writeSync", code: "EDQUOT", reason: "disk-full" },
  { call: "fsyncSync", code: "EIO", reason: "io-error" },
  { call: "renameSync", code: "EACCES", reason: "no-access" },
];

describe("the durable write", () => {
  test("replaces a file whole, 0600, and leaves no temporary file", (t) => {
    const folder = tempFolder(t);
    const path = join(folder, "record.json");
    writeFileSync(path, "old", { mode: 0o644 });
    assert.equal(reasonOf(durableWrite(path, "new \u00e9")), "ok");
    assert.equal(readFileSync(path, "utf8"), "new \u00e9");
    assert.equal(statSync(path).mode & 0o777, 0o600);
    assert.deepEqual(readdirSync(folder), ["record.json"]);
  });

  test("writes all bytes when the system takes them in pieces", (t) => {
    const path = join(tempFolder(t), "record.json");
    const fs: DurableFs = {
      ...nodeDurableFs,
      writeSync: (fd, data, offset, length) => nodeDurableFs.writeSync(fd, data, offset, Math.min(length, 7)),
    };
    const text = "x".repeat(100_000);
    assert.equal(reasonOf(durableWrite(path, text, { fs })), "ok");
    assert.equal(readFileSync(path, "utf8"), text);
  });

  for (const { call, code, reason, after } of FAULTS) {
    test(`${code} of ${call}${after ? ` after ${after}` : ""} leaves the old file and nothing else`, (t) => {
      const folder = tempFolder(t);
      const path = join(folder, "record.json");
      writeFileSync(path, "old");
      const base = failing(call, code, after);
      const fs: DurableFs = after
        ? { ...base, writeSync: (fd, data, offset, length) => base.writeSync(fd, data, offset, Math.min(length, 2)) }
        : base;
      const outcome = durableWrite(path, "new content", { fs });
      assert.equal(reasonOf(outcome), reason);
      assert.ok(!outcome.ok && isPlainSentence(outcome.message) && outcome.message.includes(path));
      assert.equal(readFileSync(path, "utf8"), "old");
      assert.deepEqual(readdirSync(folder), ["record.json"]);
    });
  }

  test("a folder that cannot be synced gives weak durability, not a failure", (t) => {
    const path = join(tempFolder(t), "record.json");
    const outcome = durableWrite(path, "new", { fs: failing("fsyncSync", "EINVAL", 1) });
    assert.deepEqual(outcome, { ok: true, durability: "weak" });
  });

  test("off the main thread does the same, and cleans up after a failure", async (t) => {
    const folder = tempFolder(t);
    const path = join(folder, "record.json");
    assert.deepEqual(await durableWriteAsync(path, "x".repeat(300_000)), { ok: true, durability: "full" });
    assert.equal(statSync(path).size, 300_000);
    assert.equal(statSync(path).mode & 0o777, 0o600);
    mkdirSync(join(folder, "taken", "inside"), { recursive: true });
    assert.equal((await durableWriteAsync(join(folder, "taken"), "x")).ok, false);
    assert.equal(reasonOf(await durableWriteAsync(join(folder, "none", "f"), "x")), "missing");
    assert.deepEqual(readdirSync(folder).sort(), ["record.json", "taken"]);
  });

  test("a link at the target is replaced, never written through", (t) => {
    const folder = tempFolder(t);
    mkdirSync(join(folder, "elsewhere"));
    writeFileSync(join(folder, "elsewhere", "victim"), "keep");
    symlinkSync(join("elsewhere", "victim"), join(folder, "record.json"));
    assert.equal(reasonOf(durableWrite(join(folder, "record.json"), "new")), "ok");
    assert.equal(readFileSync(join(folder, "elsewhere", "victim"), "utf8"), "keep");
  });
});

/** Archives: what is written can be read again, by us and by tar; what is no archive is refused. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { gzipSync } from "node:zlib";
import { readArchive, writeArchive } from "../../scripts/package/archive.ts";

const deep = `${"folder/".repeat(20)}file.ts`;

describe("an archive", () => {
  test("keeps paths, modes and bytes, also of long paths and empty files", () => {
    const files = [
      { path: "package.json", mode: 0o644, content: Buffer.from("{}") },
      { path: "bin/x.sh", mode: 0o755, content: Buffer.alloc(512, 1) },
      { path: "empty", mode: 0o644, content: Buffer.alloc(0) },
      { path: deep, mode: 0o600, content: Buffer.alloc(1_025, "é") },
    ];
    assert.deepEqual(
      readArchive(writeArchive(files)),
      files.map((file) => ({ ...file, kind: "file" })),
    );
  });

  test("that is none is refused", () => {
    assert.throws(() => readArchive(Buffer.from("no gzip")));
    assert.throws(() => readArchive(gzipSync(Buffer.alloc(2_048, 65))), /no tar header/);
    assert.throws(
      () => writeArchive([{ path: "x".repeat(300), mode: 0o644, content: Buffer.alloc(0) }]),
      /does not fit/,
    );
  });
});

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import type { RedactionStream } from "../../src/core/contracts/redaction.ts";
import { openArtifacts } from "../../src/store/artifacts.ts";
import { mustBeOk, reasonOf, tempFolder } from "./temp-store.ts";

/** Hides one word, also when it arrives in pieces: holds back as much as could be its beginning. */
function hiding(word: string): RedactionStream {
  let held = "";
  return {
    push(chunk) {
      held = (held + chunk).replaceAll(word, "[hidden]");
      const safe = Math.max(0, held.length - word.length + 1);
      const out = held.slice(0, safe);
      held = held.slice(safe);
      return out;
    },
    end() {
      const out = held;
      held = "";
      return out;
    },
  };
}

const plain = (): RedactionStream => ({ push: (chunk) => chunk, end: () => "" });

describe("artifacts", () => {
  test("are named by the hash of what is on disk, 0600, once for equal content, and read back checked", (t) => {
    const folder = join(tempFolder(t), "artifacts");
    const { artifacts } = mustBeOk(openArtifacts(folder));
    const names = ["one", "one", "two"].map((text) => {
      const writer = artifacts.writer(plain());
      for (const piece of `${text} \u00fc \ud83d\ude00 `.repeat(20_000).match(/[\s\S]{1,7001}/g) ?? [])
        writer.push(piece);
      return mustBeOk(writer.end({ durable: true })).artifact.name;
    });
    assert.equal(names[0], names[1]);
    assert.deepEqual(readdirSync(folder).sort(), [...new Set(names)].sort());
    const path = join(folder, names[0] ?? "");
    assert.equal(createHash("sha256").update(readFileSync(path)).digest("hex"), names[0]);
    assert.equal(statSync(path).mode & 0o777, 0o600);
    assert.equal(
      artifacts.total,
      readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0),
    );
    assert.equal(mustBeOk(artifacts.read(names[2] ?? "", 3)).bytes.toString(), "two");

    writeFileSync(path, "changed");
    assert.equal(reasonOf(artifacts.read(names[0] ?? "")), "artifact-damaged");
    for (const name of ["", "../task.json", "0".repeat(64)])
      assert.equal(reasonOf(artifacts.read(name)), "no-artifact");
  });

  test("hold only what the redaction lets through, whatever the pieces", (t) => {
    const folder = join(tempFolder(t), "artifacts");
    const secret = `k-${createHash("sha256").update(String(process.hrtime.bigint())).digest("hex")}`;
    const { artifacts } = mustBeOk(openArtifacts(folder));
    const writer = artifacts.writer(hiding(secret));
    for (const letter of `before ${secret} after`) writer.push(letter);
    const { artifact } = mustBeOk(writer.end());
    assert.equal(readFileSync(join(folder, artifact.name), "utf8"), "before [hidden] after");
  });

  test("stop at their bound on a whole character and say how much is missing", (t) => {
    const folder = join(tempFolder(t), "artifacts");
    const { artifacts } = mustBeOk(openArtifacts(folder, { mostBytes: 100_001 }));
    const writer = artifacts.writer(plain());
    for (let i = 0; i < 10; i += 1) writer.push("\u20ac".repeat(30_000));
    const { artifact } = mustBeOk(writer.end());
    const content = readFileSync(join(folder, artifact.name), "utf8");
    assert.equal(artifact.cutBytes, 900_000 - 99_999);
    assert.match(content, /^\u20ac+\n\[cut: 800001 more bytes were not kept\]\n$/);
    assert.equal(reasonOf(artifacts.read(artifact.name)), "ok");
  });

  test("of one task stay within the task's bound; then a new one is refused and nothing of it is left", (t) => {
    const folder = join(tempFolder(t), "artifacts");
    const bounds = { mostTaskBytes: 1_000 };
    const { artifacts } = mustBeOk(openArtifacts(folder, bounds));
    const put = (text: string) => {
      const writer = artifacts.writer(plain());
      writer.push(text);
      return writer.end();
    };
    mustBeOk(put("a".repeat(900)));
    assert.equal(mustBeOk(put("b".repeat(900))).artifact.cutBytes, 800);
    assert.equal(reasonOf(put("c")), "artifacts-full");
    assert.equal(readdirSync(folder).length, 2);
    const again = mustBeOk(openArtifacts(folder, bounds)).artifacts;
    assert.equal(again.total, artifacts.total);
  });

  test("that were given up, were cut off by a crash or met a full disk leave nothing", (t) => {
    const folder = join(tempFolder(t), "artifacts");
    const { artifacts } = mustBeOk(openArtifacts(folder));
    const writer = artifacts.writer(plain());
    writer.push("x".repeat(200_000));
    assert.equal(readdirSync(folder).length, 1);
    writer.abort();
    assert.deepEqual(readdirSync(folder), []);
    writeFileSync(join(folder, ".part-crash"), "x");
    mustBeOk(openArtifacts(folder));
    assert.deepEqual(readdirSync(folder), []);

    const lost = artifacts.writer(plain());
    rmSync(folder, { recursive: true });
    lost.push("x".repeat(200_000));
    assert.equal(reasonOf(lost.end()), "missing");
    assert.equal(existsSync(folder), false);
    mkdirSync(folder);
  });

  test("an empty output is an artifact too", (t) => {
    const { artifacts } = mustBeOk(openArtifacts(join(tempFolder(t), "artifacts")));
    assert.equal(mustBeOk(artifacts.writer(plain()).end()).artifact.bytes, 1);
  });
});

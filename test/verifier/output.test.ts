import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { describe, test } from "node:test";
import fc from "fast-check";
import { createRedactor } from "../../src/redaction/index.ts";
import { captureOutput, HEAD_BYTES, RING_BYTES, TAIL_CHARS } from "../../src/verifier/output.ts";
import { createPlainText } from "../../src/verifier/plain-text.ts";
import { createLab } from "../support/workspace.ts";
import { bench, hiding } from "./support.ts";

const ESC = "\x1b";

describe("control sequences are taken out, however the text is cut", () => {
  const cases: [string, string, string][] = [
    ["colours", `${ESC}[31mred${ESC}[0m text`, "red text"],
    ["cursor movement", `a${ESC}[2K${ESC}[1Gb`, "ab"],
    ["a title ended by BEL", `${ESC}]0;title\x07text`, "text"],
    ["a link ended by ST", `${ESC}]8;;https://x.invalid${ESC}\\link${ESC}]8;;${ESC}\\`, "link"],
    ["two-character escapes", `${ESC}(Bx${ESC}=y${ESC}c`, "xy"],
    ["control characters but tab and newlines", "a\x00b\x08c\td\r\ne\x7f", "abc\td\r\ne"],
    ["an escape at the very end", `text${ESC}`, "text"],
  ];
  for (const [name, input, expected] of cases) {
    test(name, () => {
      for (let cut = 0; cut <= input.length; cut++) {
        const plain = createPlainText();
        assert.equal(
          plain.push(input.slice(0, cut)) + plain.push(input.slice(cut)) + plain.end(),
          expected,
          `cut at ${cut}`,
        );
      }
    });
  }
  test("an escape that never ends does not swallow what follows", () => {
    const plain = createPlainText();
    const out = plain.push(`${ESC}]0;${"x".repeat(10_000)}`) + plain.push("seen") + plain.end();
    assert.ok(out.endsWith("seen"));
  });
});

test("output is the same for every way of cutting, and its hash is over the raw bytes", () => {
  const secret = `tok${randomBytes(8).toString("hex")}`;
  const text = `ü start ${ESC}[1m${secret.slice(0, 6)}${ESC}[0m${secret.slice(6)} 日本 ${secret}\n`.repeat(3);
  const bytes = Buffer.from(text);
  const expected = text.replaceAll(`${ESC}[1m`, "").replaceAll(`${ESC}[0m`, "").replaceAll(secret, "[hidden]");
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: bytes.length }), { maxLength: 12 }), (cuts) => {
      const capture = captureOutput(hiding(secret));
      const edges = [0, ...cuts.sort((a, b) => a - b), bytes.length];
      for (let at = 1; at < edges.length; at++) capture.push(bytes.subarray(edges[at - 1], edges[at]));
      const done = capture.finish();
      assert.equal(done.text, expected);
      assert.equal(done.tail, expected);
      assert.equal(done.sha256, createHash("sha256").update(bytes).digest("hex"));
    }),
  );
});

test("a secret at any cut of a long output is never shown in part", () => {
  const secret = `tok${randomBytes(20).toString("hex")}`;
  const total = HEAD_BYTES + RING_BYTES + 300_000;
  // Around the end of the head, the start of the ring, the end of the guard, and the start of the tail.
  const edges = [HEAD_BYTES, total - RING_BYTES, total - RING_BYTES + 64 * 1024, total - TAIL_CHARS];
  for (const edge of edges) {
    for (const offset of [1, 10, secret.length - 1]) {
      const bytes = Buffer.alloc(total, "y");
      bytes.write(secret, edge - offset);
      const capture = captureOutput(hiding(secret));
      for (let at = 0; at < total; at += 65_536) capture.push(bytes.subarray(at, at + 65_536));
      const done = capture.finish();
      assert.equal(done.text.includes(secret.slice(0, 8)), false, `start at ${edge} - ${offset}`);
      assert.equal(done.text.includes(secret.slice(-8)), false, `end at ${edge} - ${offset}`);
      assert.ok(done.tail.length <= TAIL_CHARS);
    }
  }
});

test("with the real redactor a coloured token and a key in pieces reach neither report nor artifact", async (t) => {
  const lab = await createLab(t);
  const letters = randomBytes(64).toString("hex");
  const token = `ghp_${letters.slice(0, 36)}`;
  const body = randomBytes(300).toString("base64");
  const dashes = "-----";
  const key = `${dashes}BEGIN PRIVATE KEY${dashes}\n${body.slice(0, 64)}\n${body.slice(64, 128)}\n${dashes}END PRIVATE KEY${dashes}\n`;
  const program = `
    const parts = [${JSON.stringify(`token: \x1b[32m${token.slice(0, 12)}\x1b[0m${token.slice(12)}\n`)}, ...${JSON.stringify(key.match(/[\s\S]{1,7}/g))}];
    for (const part of parts) require("node:fs").writeSync(1, part);
    process.exit(1);`;
  const cwd = await lab.repo({ "print.cjs": program });
  let artifact = "";
  const report = await bench(lab).check(
    cwd,
    "node print.cjs",
    {},
    {
      redactor: createRedactor({ salt: "test" }),
      artifactSink: {
        write: async (name, text) => {
          artifact = text;
          return name;
        },
      },
    },
  );
  assert.equal(report.outcome, "fail", report.message);
  for (const text of [artifact, JSON.stringify(report)]) {
    for (const secret of [token, token.slice(12), body.slice(0, 64), body.slice(64, 128)])
      assert.equal(text.includes(secret), false);
    assert.ok(text.includes("token: "));
  }
  assert.match(report.treeBefore, /^[0-9a-f]{40}$/);
  assert.match(report.commands[0]?.outputSha256 ?? "", /^[0-9a-f]{64}$/);
});

test("200 MB of output cost bounded memory, are hashed whole, and keep beginning and end", async (t) => {
  const lab = await createLab(t);
  const cwd = await lab.repo({ "a.txt": "a\n" });
  const megabytes = 200;
  let peak = 0;
  const before = process.memoryUsage().rss;
  const watch = setInterval(() => {
    peak = Math.max(peak, process.memoryUsage().rss - before);
  }, 5);
  let artifact = "";
  const report = await bench(lab).check(
    cwd,
    `echo first line; head -c ${megabytes * 1024 * 1024} /dev/zero | tr '\\0' x; echo; echo last line; exit 1`,
    {},
    {
      artifactSink: {
        write: async (name, text) => {
          artifact = text;
          return name;
        },
      },
    },
  );
  clearInterval(watch);
  const expected = createHash("sha256").update("first line\n");
  for (let count = 0; count < megabytes; count++) expected.update(Buffer.alloc(1024 * 1024, "x"));
  expected.update("\nlast line\n");
  const result = report.commands[0];
  assert.equal(report.outcome, "fail", report.message);
  assert.equal(result?.outputBytes, megabytes * 1024 * 1024 + 22);
  assert.equal(result?.outputSha256, expected.digest("hex"));
  assert.ok(result?.outputTail.endsWith("x\nlast line\n"));
  assert.equal(result?.outputTail.length, TAIL_CHARS);
  assert.ok(artifact.startsWith("first line\n") && artifact.endsWith("last line\n"));
  assert.ok(artifact.length < HEAD_BYTES + RING_BYTES + 1000);
  assert.match(artifact, /about \d+ bytes left out/);
  t.diagnostic(`peak of additional resident memory: ${Math.round(peak / 1024 / 1024)} MiB; ${result?.durationMs} ms`);
  assert.ok(peak < 120 * 1024 * 1024, `peak ${Math.round(peak / 1024 / 1024)} MiB`);
});

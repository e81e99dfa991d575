/** Group A of the failure cases: what a worker's output can do to a reader, through a real pipe. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { assertNoneLeft } from "../support/processes.ts";
import { until } from "../support/until.ts";
import { readyFake } from "./fake-scene.ts";

const MIB = 1024 * 1024;

/** The largest resident size while `work` runs, above what it was before, in bytes. */
async function growthDuring(work: () => Promise<unknown>): Promise<number> {
  const before = process.memoryUsage().rss;
  let most = before;
  const timer = setInterval(() => {
    most = Math.max(most, process.memoryUsage().rss);
  }, 5);
  try {
    await work();
  } finally {
    clearInterval(timer);
  }
  return Math.max(most, process.memoryUsage().rss) - before;
}

describe("output of a worker", () => {
  test("A2: a result counts at once; a process that ignores the end of its input is ended by force, and that is told", async (t) => {
    const { driven, fake, lab } = await readyFake(t, "stubborn");
    await driven.prompt("go");
    assert.equal((await driven.next("result")).isError, false);
    assert.deepEqual(driven.of("exited"), []);
    const pausing = driven.worker.pause(60_000);
    await until(() => fake.factsOf("stdin-end").length === 1, 5000, "the end of its input");
    await driven.worker.stop({ kind: "now", graceMs: 0 });
    const outcome = await pausing;
    assert.ok(outcome.proven);
    assert.ok(outcome.killed >= 1);
    assert.equal((await driven.next("exited")).signal, "SIGKILL");
    await assertNoneLeft(lab.mark, 1000);
  });

  test("A4: blanks around a read boundary survive", async (t) => {
    const head = '{"type":"assistant","message":{"id":"m","role":"assistant","content":[{"type":"text","text":"';
    const before = 65_536 - head.length - 2;
    const pieces = [
      ["x", before],
      ["  ", 2],
      ["y", 134_560],
    ];
    const { driven } = await readyFake(t, "builtText", { pieces });
    await driven.prompt("go");
    assert.equal((await driven.next("text")).text, `${"x".repeat(before)}    ${"y".repeat(134_560)}`);
  });

  test("A5: an honest line of 4 MiB is taken, with bounded memory", async (t) => {
    const { driven } = await readyFake(t, "wideLine", { count: 4 * MIB });
    const growth = await growthDuring(async () => {
      await driven.prompt("go");
      await driven.next("result");
    });
    assert.equal(driven.of("text")[0]?.text.length, 4 * MIB);
    assert.ok(growth < 128 * MIB, `grew by ${Math.round(growth / MIB)} MiB`);
  });

  test("A5: an endless line is given up at the bound, named with its size, and its child is ended", async (t) => {
    const { driven, lab } = await readyFake(t, "wideLine", { count: 64 * MIB, endless: true });
    const growth = await growthDuring(async () => {
      await driven.prompt("go");
      await driven.next("exited");
    });
    const [error] = driven.of("protocol-error");
    assert.deepEqual([error?.code, error?.fatal], ["too-long", true]);
    assert.match(error?.detail ?? "", /A line had 16[78]\d{5} bytes without an end, more than the 16 MiB/);
    assert.ok(growth < 160 * MIB, `grew by ${Math.round(growth / MIB)} MiB`);
    assert.ok(error?.artifact !== undefined);
    const artifact = join(driven.input.artifactDir, error.artifact);
    const kept = await until(
      () => readFileSync(artifact).length === 64 * 1024 && readFileSync(artifact),
      5000,
      "the head",
    );
    assert.ok(kept.subarray(0, 7).equals(Buffer.from('{"type"')));
    await assertNoneLeft(lab.mark, 2000);
  });

  test("A7: separators and control escapes inside a string do not split a line", async (t) => {
    const text = "a\u2028b\u2029c\u0085d\u000be";
    const line = `{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":"a\u2028b\u2029c\u0085d\\u000be"}]}}`;
    const { driven } = await readyFake(t, "lines", { lines: [line] });
    await driven.prompt("go");
    await driven.next("result");
    assert.deepEqual(
      driven.of("tool-result").map((event) => event.text),
      [text],
    );
    assert.deepEqual(driven.of("protocol-error"), []);
  });

  test("A8: characters cut at every byte are whole, in both directions", async (t) => {
    const text = "漢字 😀 café — 𝒳";
    const { driven, fake } = await readyFake(t, "bytewise", { text });
    await driven.prompt(text);
    assert.equal((await driven.next("text")).text, text);
    const lines = fake.factsOf("stdin").map((fact) => JSON.parse(fact.line) as { message?: { content?: unknown } });
    assert.equal(lines.find((line) => line.message !== undefined)?.message?.content, text);
  });

  test("A10: a byte order mark, CRLF and blank lines are read; our own lines have neither", async (t) => {
    const { driven, fake } = await readyFake(t, "windows");
    await driven.prompt("line one\r\nline two");
    assert.equal((await driven.next("text")).text, "crossed");
    assert.deepEqual(driven.of("protocol-error"), []);
    for (const { line } of fake.factsOf("stdin")) assert.match(line, /^\{.*\}$/);
  });

  test("A11: debug text is skipped and counted, half a message is one protocol error, and the run goes on", async (t) => {
    const lines = ["[Debug] one", "[Debug] two", '{"type":', "  plain  "];
    const { driven } = await readyFake(t, "lines", { lines });
    await driven.prompt("go");
    await driven.next("result");
    assert.equal(driven.worker.getStatus().noiseLines, 3);
    const errors = driven.of("protocol-error");
    assert.deepEqual(
      errors.map((error) => [error.code, error.fatal]),
      [["bad-json", false]],
    );
    await driven.prompt("and on");
    await until(() => driven.of("result").length === 2, 5000, "the second result");
  });

  test("A11: a broken line is kept byte for byte, apart from what the redactor hides", async (t) => {
    const secret = `sk-${"k".repeat(3)}${Math.random().toString(36).slice(2)}`;
    const line = `{"broken": "é ${secret} \u0001`;
    const hide = { stream: () => ({ push: (text: string) => text.replaceAll(secret, "[hidden]"), end: () => "" }) };
    const { driven } = await readyFake(t, "lines", { lines: [line] }, { deps: { redactor: hide } });
    await driven.prompt("go");
    await driven.next("result");
    const [error] = driven.of("protocol-error");
    assert.ok(error?.artifact !== undefined);
    assert.ok(!error.detail.includes(secret));
    const path = join(driven.input.artifactDir, error.artifact);
    const kept = await until(() => readFileSync(path, "utf8"), 5000, "the artifact");
    assert.equal(kept, line.replace(secret, "[hidden]"));
  });

  test("A12: what nobody knows is reported as unknown, and the run goes on", async (t) => {
    const lines = [
      '{"type":"rate_limit_event","rate_limit_info":{"status":"allowed","rateLimitType":"five_hour"},"uuid":"u1"}',
      '{"type":"future_thing","payload":{"a":1}}',
      '{"type":"system","subtype":"weather","uuid":"u2"}',
      '{"type":"assistant","message":{"content":[{"type":"text","text":"known","mood":"fine"},{"type":"novel"}]},"extra":[1]}',
      '{"type":"assistant","message":null}',
      '{"type":"user","message":{"content":[{"type":"tool_result"}]}}',
    ];
    const { driven } = await readyFake(t, "lines", { lines });
    await driven.prompt("go");
    assert.equal((await driven.next("result")).isError, false);
    assert.deepEqual(
      driven.of("unknown").map((event) => [event.messageType, event.subtype]),
      [
        ["future_thing", undefined],
        ["system", "weather"],
      ],
    );
    assert.deepEqual(
      driven.of("rate-limit").map((event) => event.status),
      ["allowed"],
    );
    assert.deepEqual(
      driven.of("text").map((event) => event.text),
      ["known"],
    );
  });

  test("A14: what comes twice is taken once, a replay not at all, and blocks of one model message are all kept", async (t) => {
    const say = (uuid: string, text: string, more = ""): string =>
      `{"type":"assistant","uuid":"${uuid}","message":{"id":"msg_1","content":[{"type":"text","text":"${text}"}]}${more}}`;
    const lines = [say("u1", "one"), say("u1", "one"), say("u2", "two"), say("u3", "said before", ',"isReplay":true')];
    const { driven } = await readyFake(t, "lines", { lines });
    await driven.prompt("go");
    await driven.next("result");
    assert.deepEqual(
      driven.of("text").map((event) => event.text),
      ["one", "two"],
    );
  });

  test("A15: no prompt is written before the answer to initialize, and a prompt has a bound", async (t) => {
    const { driven, fake } = await readyFake(t, "handshakeFirst");
    const tooLong = await driven.worker.send("x".repeat(MIB + 1), "00000000-0000-4000-8000-00000000000f");
    assert.ok(!tooLong.ok);
    assert.equal(tooLong.reason, "prompt-too-long");
    assert.match(tooLong.message, /file/);
    await driven.prompt("y".repeat(200_000));
    await driven.next("result");
    assert.deepEqual(
      fake.factsOf("stdin").map((fact) => fact.line.length > 200_000),
      [false, true],
    );
  });

  test("100,000 small events arrive in order, with bounded memory", async (t) => {
    const { driven } = await readyFake(t, "flood", { count: 100_000 });
    let seen = 0;
    let ordered = true;
    const off = driven.worker.subscribe((event) => {
      if (event.type === "text") ordered &&= event.text === `event ${seen++}`;
    });
    const growth = await growthDuring(async () => {
      await driven.prompt("go");
      await driven.next("result", () => true, 60_000);
    });
    off();
    assert.deepEqual([seen, ordered], [100_000, true]);
    assert.ok(growth < 200 * MIB, `grew by ${Math.round(growth / MIB)} MiB, the test's own list of events included`);
  });
});

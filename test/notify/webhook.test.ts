/** What arrives at a receiver, and what a bad receiver can do: nothing. */
import assert from "node:assert/strict";
import { createHmac, randomBytes } from "node:crypto";
import type { ServerResponse } from "node:http";
import { type AddressInfo, createServer as createTcpServer } from "node:net";
import { describe, test } from "node:test";
import { createWebhook, type Notice, SIGNATURE_HEADER, type WebhookOptions } from "../../src/notify/index.ts";
import { type ManualClock, manualClock, systemClock } from "../../src/platform/clock.ts";
import { createRedactor } from "../../src/redaction/index.ts";
import { until } from "../support/until.ts";
import { type Behave, sink } from "./sink.ts";

const notice: Notice = {
  id: "n-0123456789abcdef",
  at: new Date("2026-01-02T03:04:05.000Z"),
  reason: "approval",
  taskId: "t-1m8p47v3aw2z7",
  state: "human_required",
  title: "Claude wants to run git push",
  text: "It waits since 23:05.",
  next: ["/supervise approve r-abcdefgh"],
  request: { requestId: "r-abcdefgh", kind: "tool", toolName: "Bash" },
};
const redactor = createRedactor({ salt: "test" });
const secretKey = randomBytes(16).toString("hex");

function webhook(url: string, more: Partial<WebhookOptions> = {}) {
  return createWebhook({ url, format: "generic", redactor, clock: systemClock, random: () => 0, ...more });
}

/** Plays the waits between tries: moves the clock whenever something waits on it. */
async function play<T>(clock: ManualClock, outcome: Promise<T>, stepMs: number): Promise<T> {
  let isOver = false;
  const over = outcome.finally(() => {
    isOver = true;
  });
  await until(
    () => {
      if (clock.pending > 0) clock.advance(stepMs);
      return isOver;
    },
    10_000,
    "an outcome",
  );
  return over;
}

describe("a notice", () => {
  test("arrives once, as documented, signed over exactly its bytes", async (t) => {
    const { url, received, port } = await sink(t);
    const sent = await webhook(url, { secret: secretKey }).send(notice);
    assert.deepEqual(sent, { ok: true, status: 204, tries: 1 });
    const [one, ...more] = received;
    assert.ok(one && more.length === 0);
    assert.deepEqual([one.method, one.url], ["POST", `/hook/path-${port}?key=k-${port}`]);
    assert.deepEqual(JSON.parse(one.body), {
      v: 1,
      event: "escalation",
      id: "n-0123456789abcdef",
      at: "2026-01-02T03:04:05.000Z",
      reason: "approval",
      taskId: "t-1m8p47v3aw2z7",
      state: "human_required",
      title: "Claude wants to run git push",
      text: "It waits since 23:05.",
      request: { requestId: "r-abcdefgh", kind: "tool", toolName: "Bash" },
      next: ["/supervise approve r-abcdefgh"],
    });
    assert.equal(one.headers["content-type"], "application/json; charset=utf-8");
    assert.equal(one.headers["idempotency-key"], notice.id);
    const expected = `sha256=${createHmac("sha256", secretKey).update(one.body, "utf8").digest("hex")}`;
    assert.equal(one.headers[SIGNATURE_HEADER], expected);
  });

  test("has no signature without a key", async (t) => {
    const { url, received } = await sink(t);
    await webhook(url).send(notice);
    assert.equal(received[0]?.headers[SIGNATURE_HEADER], undefined);
  });

  test("is repeated with the same key and the same bytes", async (t) => {
    const { url, received } = await sink(t, (response, _one, index) =>
      response.writeHead(index < 2 ? 500 : 200).end("ok"),
    );
    const clock = manualClock();
    const sent = await play(clock, webhook(url, { clock, secret: secretKey }).send(notice), 500);
    assert.deepEqual(sent, { ok: true, status: 200, tries: 3 });
    assert.equal(received.length, 3);
    assert.equal(
      new Set(received.map(({ body, headers }) => `${body} ${headers["idempotency-key"]} ${headers[SIGNATURE_HEADER]}`))
        .size,
      1,
    );
  });
});

describe("a bad receiver changes nothing:", () => {
  const table: readonly [string, Behave, string, number][] = [
    ["500 again and again", (response) => response.writeHead(500).end("no"), "refused", 3],
    ["404", (response) => response.writeHead(404).end(), "refused", 1],
    ["429 again and again", (response) => response.writeHead(429, { "retry-after": "2" }).end(), "refused", 3],
    ["a closed connection", (response) => response.socket?.destroy(), "unreachable", 3],
    ["a reset", (response) => response.socket?.resetAndDestroy(), "unreachable", 3],
    ["no HTTP", (response) => response.socket?.end("hello\r\n\r\n"), "unreachable", 3],
  ];
  for (const [what, behave, reason, tries] of table) {
    test(what, async (t) => {
      const { url, received, port } = await sink(t, behave);
      const clock = manualClock();
      const sent = await play(clock, webhook(url, { clock }).send(notice), 250);
      assert.ok(!sent.ok && sent.reason === reason, JSON.stringify(sent));
      assert.equal(received.length, tries);
      assert.ok(!JSON.stringify(sent).includes(String(port)) && !JSON.stringify(sent).includes("/hook"));
      assert.equal(clock.pending, 0);
    });
  }

  for (const status of [301, 302, 303, 307, 308]) {
    test(`G11: a redirect (${status}) is not followed`, async (t) => {
      const other = await sink(t);
      const { url, received } = await sink(t, (response) => response.writeHead(status, { location: other.url }).end());
      const sent = await webhook(url).send(notice);
      assert.ok(!sent.ok && sent.reason === "redirect");
      assert.ok(!JSON.stringify(sent).includes(String(other.port)));
      assert.deepEqual([received.length, other.received.length, other.connections()], [1, 0, 0]);
    });
  }

  test("G11: one that never answers costs 5 s a try, three times", async (t) => {
    const { url, received } = await sink(t, () => undefined);
    const clock = manualClock();
    const start = clock.mono();
    const outcome = webhook(url, { clock }).send(notice);
    for (const tries of [1, 2, 3]) {
      await until(() => received.length === tries, 5_000, `try ${tries}`);
      clock.advance(4_999);
      assert.equal(clock.pending, 1);
      clock.advance(1);
      if (tries === 3) continue;
      await until(() => clock.pending === 1, 5_000, "the wait");
      clock.advance(2_000);
    }
    const sent = await outcome;
    assert.ok(!sent.ok && sent.reason === "timeout");
    assert.ok(clock.mono() - start <= 21_000);
  });

  test("one that drips bytes without end costs 5 s, and little memory", async (t) => {
    const responses: ServerResponse[] = [];
    const { url } = await sink(t, (response) => {
      responses.push(response.writeHead(200));
      response.write("x".repeat(100));
    });
    const clock = manualClock();
    const outcome = webhook(url, { clock }).send(notice);
    await until(() => responses.length === 1, 5_000, "the request");
    responses[0]?.write("y".repeat(10_000_000));
    const sent = await outcome;
    assert.deepEqual(sent, { ok: true, status: 200, tries: 1 }, "its status was said, and 4 KB are enough");
  });

  test("a port where nobody listens", async () => {
    const server = createTcpServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    await new Promise((resolve) => server.close(resolve));
    const clock = manualClock();
    const sent = await play(clock, webhook(`http://127.0.0.1:${port}/`, { clock }).send(notice), 500);
    assert.deepEqual(sent, {
      ok: false,
      reason: "unreachable",
      message: "The webhook cannot be reached (ECONNREFUSED).",
    });
  });

  test("one without TLS where TLS is asked for, and nothing is sent in the clear", async (t) => {
    const { url, received } = await sink(t);
    const clock = manualClock();
    const sent = await play(clock, webhook(url.replace("http:", "https:"), { clock }).send(notice), 500);
    assert.ok(!sent.ok && sent.reason === "unreachable");
    assert.equal(received.length, 0);
  });

  test("a redactor that throws", async (t) => {
    const { url, received } = await sink(t);
    const broken = {
      ...redactor,
      text: () => {
        throw new Error(url);
      },
    };
    const sent = await webhook(url, { redactor: broken }).send(notice);
    assert.deepEqual(sent, { ok: false, reason: "unreachable", message: "The webhook could not be used." });
    assert.equal(received.length, 0, "what cannot be redacted is not sent");
  });
});

describe("closing", () => {
  test("ends a try under way and a wait at once, and refuses what comes later", async (t) => {
    const slow = await sink(t, () => undefined);
    const failing = await sink(t, (response) => response.writeHead(500).end());
    const clock = manualClock();
    for (const [receiver, pending] of [
      [slow, 1],
      [failing, 1],
    ] as const) {
      const hook = webhook(receiver.url, { clock });
      const outcome = hook.send(notice);
      await until(() => receiver.received.length === 1 && clock.pending === pending, 5_000, "the first try");
      if (receiver === failing) await until(() => clock.pending === 1, 5_000, "the wait");
      hook.close();
      const sent = await outcome;
      assert.ok(!sent.ok && sent.reason === "closed");
      assert.equal(clock.pending, 0);
      const later = await hook.send(notice);
      assert.ok(!later.ok && later.reason === "closed");
      assert.equal(receiver.received.length, 1);
    }
  });

  test("is not needed for a bound on how much waits", async (t) => {
    const { url } = await sink(t, () => undefined);
    const hook = webhook(url);
    const all = Array.from({ length: 60 }, () => hook.send(notice));
    const busy = await Promise.all(all.slice(50));
    assert.ok(busy.every((one) => !one.ok && one.reason === "busy"));
    hook.close();
    assert.ok((await Promise.all(all)).every((one) => !one.ok));
  });
});

describe("WeCom", () => {
  for (const [errcode, tries] of [
    [93000, 1],
    [45009, 3],
  ] as const) {
    test(`errcode ${errcode} in a good status is a refusal, tried ${tries === 1 ? "once" : "again"}`, async (t) => {
      const { url, received } = await sink(t, (response) =>
        response.writeHead(200).end(JSON.stringify({ errcode, errmsg: "no" })),
      );
      const clock = manualClock();
      const sent = await play(clock, webhook(url, { clock, format: "wecom" }).send(notice), 500);
      assert.ok(!sent.ok && sent.reason === "refused");
      assert.equal(received.length, tries);
    });
  }

  test("errcode 0 is well", async (t) => {
    const { url } = await sink(t, (response) => response.writeHead(200).end('{"errcode":0,"errmsg":"ok"}'));
    assert.equal((await webhook(url, { format: "wecom" }).send(notice)).ok, true);
  });
});

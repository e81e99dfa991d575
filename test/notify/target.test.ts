/** Where a notice may go: what the person wrote, and no private place that a name leads to. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createWebhook, type Notice } from "../../src/notify/index.ts";
import { addressKind, type Resolve, targetOf } from "../../src/notify/target.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { createRedactor } from "../../src/redaction/index.ts";
import { sink } from "./sink.ts";

const notice: Notice = { id: "n-1", at: new Date(0), reason: "other", taskId: "t-1", state: "failed", title: "x" };

describe("an address", () => {
  const table: readonly [string, string][] = [
    ["8.8.8.8", "public"],
    ["172.32.0.1", "public"],
    ["2606:4700:4700::1111", "public"],
    ["::ffff:8.8.8.8", "public"],
    ["127.0.0.1", "private"],
    ["127.255.255.254", "private"],
    ["10.1.2.3", "private"],
    ["172.16.0.1", "private"],
    ["172.31.255.255", "private"],
    ["192.168.1.1", "private"],
    ["100.64.0.1", "private"],
    ["::1", "private"],
    ["fd00::1", "private"],
    ["::ffff:127.0.0.1", "private"],
    ["::ffff:7f00:1", "private"],
    ["64:ff9b::a00:1", "private"],
    ["0.0.0.0", "special"],
    ["169.254.169.254", "special"],
    ["::ffff:169.254.169.254", "special"],
    ["::ffff:a9fe:a9fe", "special"],
    ["224.0.0.1", "special"],
    ["255.255.255.255", "special"],
    ["::", "special"],
    ["fe80::1", "special"],
    ["ff02::1", "special"],
  ];
  for (const [address, kind] of table) {
    test(`${address} is ${kind}`, () => assert.equal(addressKind(address), kind));
  }
});

describe("a configured address", () => {
  const table: readonly [string, boolean, string | true][] = [
    ["https://hooks.example.com/x", false, true],
    ["http://127.0.0.1:9/x", false, true],
    ["http://[::1]:9/x", false, true],
    ["http://10.0.0.7/x", false, true],
    ["http://169.254.169.254/latest", false, "private-target"],
    ["http://[::ffff:169.254.169.254]/latest", false, "private-target"],
    ["http://2852039166/latest", false, "private-target"],
    ["http://0/x", false, "private-target"],
    ["http://169.254.169.254/latest", true, true],
    ["ftp://example.com/x", false, "bad-url"],
    ["file:///etc/passwd", false, "bad-url"],
    ["javascript:1", false, "bad-url"],
    ["not a url", false, "bad-url"],
    ["", false, "bad-url"],
  ];
  for (const [url, allowPrivate, expected] of table) {
    test(`${url || "(empty)"}${allowPrivate ? " with permission" : ""} is ${expected === true ? "used" : expected}`, () => {
      const found = targetOf(url, allowPrivate);
      assert.equal(found.ok ? true : found.reason, expected);
      if (!found.ok && url.length > 3) assert.ok(!found.message.includes(url));
    });
  }
});

describe("a name", () => {
  const send = async (port: number, host: string, addresses: string[], allowPrivate: boolean) => {
    const resolve: Resolve = (_name, _options, callback) =>
      callback(
        null,
        addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 })),
      );
    const hook = createWebhook({
      url: `http://${host}:${port}/x`,
      format: "generic",
      redactor: createRedactor({ salt: "test" }),
      clock: systemClock,
      random: () => 0,
      allowPrivate,
      resolve,
    });
    const sent = await hook.send(notice);
    return sent.ok ? true : sent.reason;
  };

  test("that leads to a private address is refused before any connection, unless that is allowed", async (t) => {
    const receiver = await sink(t);
    assert.equal(await send(receiver.port, "hooks.example.com", ["127.0.0.1"], false), "private-target");
    assert.equal(await send(receiver.port, "hooks.example.com", ["8.8.8.8", "127.0.0.1"], false), "private-target");
    assert.equal(await send(receiver.port, "hooks.example.com", ["169.254.169.254"], false), "private-target");
    assert.equal(await send(receiver.port, "hooks.example.com", [], false), "private-target");
    assert.equal(receiver.connections(), 0);
    assert.equal(await send(receiver.port, "hooks.example.com", ["127.0.0.1"], true), true);
  });

  test("localhost is what it says, and nothing else", async (t) => {
    const receiver = await sink(t);
    assert.equal(await send(receiver.port, "localhost", ["127.0.0.1"], false), true);
    assert.equal(await send(receiver.port, "localhost", ["169.254.169.254"], false), "private-target");
  });
});

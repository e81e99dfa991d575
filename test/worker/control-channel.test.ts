/** The control channel alone, on a clock that only moves when it is told to. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { WorkerEvent } from "../../src/core/contracts/worker.ts";
import type { Result } from "../../src/core/result.ts";
import { manualClock } from "../../src/platform/clock.ts";
import { ControlChannel, MAX_OPEN_QUESTIONS } from "../../src/worker/claude-jsonl/control-channel.ts";
import type { WireMessage } from "../../src/worker/framing/frame-reader.ts";

const MINUTE = 60_000;

function setup(options: { listens?: boolean; write?: () => Promise<Result> } = {}) {
  const clock = manualClock();
  const written: Record<string, unknown>[] = [];
  const events: WorkerEvent[] = [];
  const channel = new ControlChannel({
    clock,
    write: (message) => {
      written.push(message as Record<string, unknown>);
      return options.write?.() ?? Promise.resolve({ ok: true });
    },
    publish: (event) => {
      events.push(event);
      return options.listens ?? true;
    },
  });
  return { clock, written, events, channel };
}

function hook(id: string, toolUseId = `toolu_${id}`): WireMessage {
  return {
    type: "control_request",
    request_id: id,
    request: {
      subtype: "hook_callback",
      callback_id: "gate",
      input: { hook_event_name: "PreToolUse", cwd: "/", tool_name: "Bash", tool_use_id: toolUseId, tool_input: {} },
    },
  };
}

function decisionOf(message: unknown): string | undefined {
  return /"permissionDecision":"(\w+)"/.exec(JSON.stringify(message))?.[1];
}

describe("Claude's questions", () => {
  test("C2: one that is answered after 31 minutes, or after six days, is answered like any other", async () => {
    for (const minutes of [31, 6 * 24 * 60]) {
      const { clock, channel, written } = setup();
      channel.take(hook("r"));
      clock.advance(minutes * MINUTE);
      assert.equal(clock.pending, 0);
      assert.deepEqual(await channel.reply("r", { decision: "allow" }), { ok: true });
      assert.equal(decisionOf(written[0]), "allow");
    }
  });

  test("are bounded: what comes beyond is denied at once, and room that becomes free is used", async () => {
    const { channel, written, events } = setup();
    for (let index = 0; index < MAX_OPEN_QUESTIONS + 5; index++) channel.take(hook(`r${index}`));
    assert.equal(events.filter((event) => event.type === "hook").length, MAX_OPEN_QUESTIONS);
    assert.deepEqual(written.map(decisionOf), Array(5).fill("deny"));
    await channel.reply("r0", { decision: "allow" });
    channel.take(hook("fresh"));
    assert.equal(events.filter((event) => event.type === "hook").length, MAX_OPEN_QUESTIONS + 1);
  });

  test("that nobody listens to are denied", () => {
    const { channel, written } = setup({ listens: false });
    channel.take(hook("r"));
    assert.deepEqual(written.map(decisionOf), ["deny"]);
  });

  test("a reply that could not be written says why, and is not tried again by itself", async () => {
    const { channel, written } = setup({ write: async () => ({ ok: false, reason: "worker-gone", message: "gone" }) });
    channel.take(hook("r"));
    const reply = await channel.reply("r", { decision: "allow" });
    assert.equal(reply.ok ? "" : reply.reason, "worker-gone");
    assert.equal(written.length, 1);
  });

  test("a malformed request under the id of an open one ends both with one deny", () => {
    const { channel, written, events } = setup();
    channel.take(hook("r"));
    channel.take({ type: "control_request", request_id: "r", request: { subtype: "odd" } });
    assert.deepEqual(written.map(decisionOf), ["deny"]);
    assert.deepEqual(
      events.map((event) => event.type),
      ["hook", "cancelled", "protocol-error"],
    );
  });
});

describe("our questions", () => {
  test("are answered by id, in any order", async () => {
    const { channel, written } = setup();
    const first = channel.request({ subtype: "one" }, 1000);
    const second = channel.request({ subtype: "two" }, 1000);
    const ids = written.map((message) => message.request_id);
    const answer = (id: unknown, response: object): void =>
      void channel.take({ type: "control_response", response: { request_id: id, ...response } });
    answer(ids[1], { subtype: "success", response: { n: 2 } });
    answer(ids[0], { subtype: "error", error: "no such thing" });
    answer(ids[0], { subtype: "success", response: { n: 1 } });
    assert.deepEqual(await second, { ok: true, response: { n: 2 } });
    assert.deepEqual(await first, { ok: false, reason: "control-refused", message: "no such thing" });
  });

  test("have a deadline; a late answer changes nothing", async () => {
    const { clock, channel, written } = setup();
    const asked = channel.request({ subtype: "interrupt" }, 1000);
    clock.advance(999);
    assert.equal(clock.pending, 1);
    clock.advance(1);
    const result = await asked;
    assert.equal(result.ok ? "" : result.reason, "control-timeout");
    channel.take({ type: "control_response", response: { request_id: written[0]?.request_id, subtype: "success" } });
    assert.equal(clock.pending, 0);
  });

  test("end with the worker, and none can be asked after it", async () => {
    const { clock, channel } = setup();
    const asked = channel.request({ subtype: "interrupt" }, 1000);
    channel.close("Claude has ended.");
    assert.deepEqual(await asked, { ok: false, reason: "worker-gone", message: "Claude has ended." });
    const after = await channel.request({ subtype: "interrupt" }, 1000);
    assert.equal(after.ok ? "" : after.reason, "worker-gone");
    assert.equal(clock.pending, 0);
  });
});

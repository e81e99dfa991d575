/** Group C of the failure cases: the permission and control protocol, against a fake that judges our answers. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { GateReply } from "../../src/core/contracts/worker.ts";
import { readyFake } from "./fake-scene.ts";

const REPLIES: [string, GateReply][] = [
  ["allow", { decision: "allow" }],
  ["allow with another input", { decision: "allow", updatedInput: { command: "ls", answers: { a: "b" } } }],
  ["allow with a reason", { decision: "allow", reason: "policy" }],
  ["deny", { decision: "deny", reason: "no" }],
  ["deny without a reason", { decision: "deny" }],
  ["deny with an empty reason", { decision: "deny", reason: "" }],
  ["deny that ends the turn", { decision: "deny", reason: "no", endTurn: true }],
];

interface Note {
  answer: { subtype: string; response: Record<string, unknown> };
  fault: string | null;
}

describe("the control protocol", () => {
  test("C1: stdin stays open after a result, so that a late ask can be answered", async (t) => {
    const { driven, fake } = await readyFake(t, "lateAsk", {}, { onHook: () => ({ decision: "allow" }) });
    await driven.prompt("go");
    await driven.next("result", (event) => event.text === "second");
    assert.deepEqual(
      driven.of("background").map((event) => event.tasks.length),
      [1, 0],
    );
    const [note] = fake.factsOf("note");
    assert.match(JSON.stringify(note), /"permissionDecision":"allow"/);
    assert.deepEqual(fake.factsOf("stdin-end"), []);
  });

  test("C2: an open question has no deadline of its own", async (t) => {
    const { driven, fake } = await readyFake(t, "holds");
    await driven.prompt("go");
    const hook = await driven.next("hook");
    const asked = fake.factsOf("stdin")[0]?.line ?? "";
    assert.equal(JSON.parse(asked).request.hooks.PreToolUse[0].timeout, 604_800);
    assert.deepEqual(driven.of("cancelled"), []);
    assert.deepEqual(await driven.worker.reply(hook.callId, { decision: "allow" }), { ok: true });
    await driven.next("result");
  });

  test("C3, C13: a call that nobody was asked about shows as one: a tool-use and its result without a hook", async (t) => {
    for (const options of [{}, { parent: "toolu_agent" }]) {
      const { driven } = await readyFake(t, "ungated", options);
      await driven.prompt("go");
      await driven.next("result");
      const [use] = driven.of("tool-use");
      const [result] = driven.of("tool-result");
      assert.equal(result?.toolUseId, use?.toolUseId);
      assert.deepEqual([result?.isError, result?.wrapped, result?.aborted], [false, false, false]);
      assert.deepEqual(driven.of("hook"), []);
    }
  });

  test("C4: the mode of each turn is reported as Claude states it", async (t) => {
    const lines = ['{"type":"system","subtype":"init","permissionMode":"auto","session_id":"s","tools":["Bash"]}'];
    const { driven } = await readyFake(t, "lines", { lines });
    await driven.prompt("go");
    await driven.next("result");
    assert.deepEqual(
      driven.of("init").map((event) => event.permissionMode),
      ["default", "auto"],
    );
  });

  for (const kind of ["hook", "ask"] as const) {
    for (const [what, reply] of REPLIES) {
      test(`C5, C7, C10: "${what}" to a ${kind} has the form that Claude wants, and no permission update`, async (t) => {
        const { driven, fake } = await readyFake(t, "strict", { kinds: [kind] });
        await driven.prompt("go");
        const call = await driven.next(kind);
        if (call.type === "ask") assert.equal(call.suggestions, 1);
        assert.deepEqual(await driven.worker.reply(call.callId, reply), { ok: true });
        await driven.next("result");
        const note = fake.factsOf("note")[0] as unknown as Note;
        assert.equal(note.fault, null);
        assert.ok(!JSON.stringify(note.answer).includes("updatedPermissions"));
        if (kind === "ask" && reply.decision === "allow") {
          assert.deepEqual(note.answer.response.updatedInput, reply.updatedInput ?? { command: "command 0" });
        }
      });
    }
  }

  test("a defer is answered to a hook, and refused for a can_use_tool, which stays open", async (t) => {
    const { driven, fake } = await readyFake(t, "strict", { kinds: ["hook", "ask"] });
    await driven.prompt("go");
    const hook = await driven.next("hook");
    assert.deepEqual(await driven.worker.reply(hook.callId, { decision: "defer" }), { ok: true });
    const ask = await driven.next("ask");
    const refused = await driven.worker.reply(ask.callId, { decision: "defer" });
    assert.equal(refused.ok ? "" : refused.reason, "not-deferrable");
    assert.deepEqual(await driven.worker.reply(ask.callId, { decision: "deny", reason: "no" }), { ok: true });
    await driven.next("result");
    assert.deepEqual(
      fake.factsOf("note").map((note) => (note as unknown as Note).fault),
      [null, null],
    );
  });

  test("C14: a supervisor that fails on a call has it denied, never answered with an error", async (t) => {
    const { driven, fake } = await readyFake(t, "strict", { kinds: ["hook", "ask"] });
    driven.worker.subscribe((event) => {
      if (event.type === "hook" || event.type === "ask") throw new Error("the gate broke");
    });
    await driven.prompt("go");
    await driven.next("result");
    const notes = fake.factsOf("note") as unknown as Note[];
    assert.deepEqual(
      notes.map((note) => note.fault),
      [null, null],
    );
    assert.match(JSON.stringify(notes[0]?.answer), /"permissionDecision":"deny"/);
    assert.match(JSON.stringify(notes[1]?.answer), /"behavior":"deny"/);
    const codes = driven.of("protocol-error").map((error) => error.code);
    assert.ok(codes.includes("listener-failed") && codes.includes("control-refused"), codes.join());
    const [hook] = driven.of("hook");
    const late = await driven.worker.reply(hook?.callId ?? "", { decision: "allow" });
    assert.equal(late.ok ? "" : late.reason, "request-answered");
  });

  test("a call that was taken back is never answered", async (t) => {
    const { driven, fake } = await readyFake(t, "cancelled");
    await driven.prompt("go");
    const { callId } = await driven.next("cancelled");
    const late = await driven.worker.reply(callId, { decision: "allow" });
    assert.equal(late.ok ? "" : late.reason, "request-cancelled");
    await driven.next("result");
    assert.deepEqual(fake.factsOf("note"), []);
  });

  test("calls that are open when the worker ends are cancelled for good", async (t) => {
    const { driven } = await readyFake(t, "holds");
    await driven.prompt("go");
    const hook = await driven.next("hook");
    await driven.worker.killProcessGroup();
    const late = await driven.worker.reply(hook.callId, { decision: "allow" });
    assert.equal(late.ok ? "" : late.reason, "request-cancelled");
    const unknown = await driven.worker.reply("never-seen", { decision: "allow" });
    assert.equal(unknown.ok ? "" : unknown.reason, "request-unknown");
  });

  const call = (id: unknown, more: object = {}): object => ({
    type: "control_request",
    request_id: id,
    request: {
      subtype: "hook_callback",
      callback_id: "gate",
      input: {
        hook_event_name: "PreToolUse",
        cwd: "/",
        tool_name: "Bash",
        tool_use_id: "toolu_x",
        tool_input: { command: "ls" },
        ...more,
      },
    },
  });
  test("a repeated call is put to the supervisor once, open or answered; another call under its id is denied", async (t) => {
    const other = { tool_use_id: "toolu_y" };
    const { driven, fake } = await readyFake(t, "rawControl", {
      requests: [call("r"), call("r"), call("s"), call("s", other), call("s")],
    });
    await driven.prompt("go");
    const hook = await driven.next("hook", (event) => event.callId === "r");
    await driven.next("cancelled", (event) => event.callId === "s");
    assert.deepEqual(await driven.worker.reply(hook.callId, { decision: "allow" }), { ok: true });
    await driven.next("result");
    assert.deepEqual(
      driven.of("hook").map((event) => event.callId),
      ["r", "s"],
    );
    const answers = fake.factsOf("stdin").filter((fact) => fact.line.includes("control_response"));
    assert.deepEqual(answers.map((fact) => /"permissionDecision":"(\w+)"/.exec(fact.line)?.[1]).sort(), [
      "allow",
      "deny",
    ]);
  });

  test("an input that is nested beyond all reason is denied", async (t) => {
    const deep = JSON.parse(`${'{"a":'.repeat(400)}1${"}".repeat(400)}`);
    const { driven } = await readyFake(t, "rawControl", { requests: [call("r", { tool_input: deep })] });
    await driven.prompt("go");
    await driven.next("result");
    assert.deepEqual(driven.of("hook"), []);
    assert.deepEqual(
      driven.of("protocol-error").map((error) => error.code),
      ["gate-unreadable"],
    );
  });
});

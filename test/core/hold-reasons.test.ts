/** The closed set of reasons, and the page that tells people what to do about each. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, test } from "node:test";
import type { EventDraft } from "../../src/core/events.ts";
import { FAULTS, HOLD_REASONS, isFault } from "../../src/core/machine/hold-reasons.ts";
import { exited, ready, result, started, swept, working } from "./play.ts";

const page = readFileSync(join(resolve(import.meta.dirname, "../.."), "docs/recovery.md"), "utf8");

/** The codes in the first column of a table of the page. */
function codesUnder(heading: string): string[] {
  const part = page.split(/^## /m).find((one) => one.startsWith(`${heading}\n`)) ?? "";
  const rows = part.split("\n").filter((line) => /^\| (?!-|Reason|Fault)/.test(line));
  return rows.flatMap((row) =>
    [...(row.split("|")[1] ?? "").matchAll(/`([a-z-]+…?)`/g)].map((match) => match[1] ?? ""),
  );
}

describe("docs/recovery.md", () => {
  test("says for every reason to wait what to do, and names no other", () => {
    /* The first row speaks of policy rules, `automation-off` is no hold, `verifier-…` a family. */
    const named = codesUnder("Why a task waits for you").filter(
      (code) => !["automation-off", "verifier-…"].includes(code),
    );
    assert.deepEqual(named.sort(), Object.keys(HOLD_REASONS).sort());
  });

  test("has every fault, and no other", () => {
    assert.deepEqual(codesUnder("Faults").sort(), Object.keys(FAULTS).sort());
  });
});

const verdict = (rule: string): EventDraft => ({
  type: "gate.verdict",
  data: {
    callId: "c1",
    via: "hook",
    toolUseId: "t1",
    toolName: "Bash",
    verdict: "deny",
    rule,
    reason: "x",
    input: {},
    cwd: "/",
  },
});
const complaint = (code: string): EventDraft => ({
  type: "worker.protocol-error",
  data: { code, detail: "d", fatal: false },
});
const noGate: EventDraft = { type: "worker.start-failed", data: { reason: "hooks-not-applied", message: "m" } };
const unwritten: EventDraft = { type: "prompt.failed", data: { promptId: "p1", reason: "key-conflict", message: "m" } };
const resumed: EventDraft = { type: "task.recovering", data: { fresh: false, resume: true, sessionId: "s1" } };
const ungated: EventDraft = {
  type: "tool.result",
  data: { toolUseId: "t9", isError: false, wrapped: false, aborted: false, preview: "", chars: 0 },
};
const wider: EventDraft = { type: "worker.init", data: { permissionMode: "acceptEdits", sessionId: "s1", tools: 1 } };

const triggers: [string, EventDraft[], string][] = [
  ["a call without a gate event", [ungated], "ungated-call"],
  ["a wider permission mode", [wider], "permission-mode"],
  ["a policy that failed on a call", [verdict("policy.internal-error")], "gate-failure"],
  ["a call that could not be read", [complaint("gate-unreadable")], "gate-failure"],
  ["a call without a usable id", [complaint("bad-control")], "gate-failure"],
  ["a listener that crashed", [complaint("listener-failed")], "gate-failure"],
  ["a gate that is not confirmed any more", [exited(0), swept, resumed, noGate], "protocol-change"],
  ["another text under a key that was sent", [unwritten], "duplicate-send"],
];

describe("the fault switch is turned by", () => {
  for (const [what, events, fault] of triggers) {
    test(`${what}: ${fault}; nothing but its own act clears it`, () => {
      const play = working().feed(...events);
      assert.equal(play.state.hold?.reason, fault);
      assert.equal(play.state.hold?.fault, true);
      assert.equal(play.name, "human_required");
      play.feed({ type: "verify.requested", data: { by: "person" } }, result());
      assert.equal(play.state.hold?.reason, fault);
      play.feed({ type: "fault.cleared", data: { fault: "another" } });
      assert.ok(play.state.hold && isFault(play.state.hold.reason));
      play.feed({ type: "fault.cleared", data: { fault } });
      assert.equal(play.state.hold, null);
    });
  }

  const everyday: [string, EventDraft[]][] = [
    ["a denied attempt", [verdict("git.push-force")]],
    ["a line that is no JSON", [complaint("not-json")]],
    ["a control request of a kind that nobody knows", [complaint("control-refused")]],
  ];
  for (const [what, events] of everyday)
    test(`not by ${what}`, () => assert.equal(working().feed(...events).state.hold?.fault ?? false, false));

  test("not by a first start that does not get the gate: that has failed", () => {
    assert.equal(started().feed(noGate, swept).name, "failed");
    assert.equal(started().feed(ready(), exited(0)).state.hold, null);
  });
});

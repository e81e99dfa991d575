import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { complete } from "../../src/extension/completions.ts";
import { parseCall } from "../../src/extension/parse/parse.ts";

const known = async () => [
  { taskId: "t-1", goal: "Fix the \u001b[31mparser", state: "human_required", requests: ["r-1", "r-2"] },
  { taskId: "t-2", goal: "Write docs", state: "running", requests: [] },
];

const values = async (prefix: string) => (await complete(prefix, known))?.map((item) => item.value) ?? null;

describe("completions", () => {
  const table: [prefix: string, expected: string[] | null][] = [
    ["st", ["start", "status", "stop"]],
    ["sta", ["start", "status"]],
    ["approve ", ["approve r-1", "approve r-2"]],
    ["stop ", ["stop t-1", "stop t-2"]],
    ["stop t-2", null],
    ["status t-", ["status t-1", "status t-2"]],
    ["policy ", ["policy check", "policy show"]],
    ["log t-1 --f", ["log t-1 --follow"]],
    ["log t-1 --follow --f", null],
    ["start Fix it", null],
    ["start Fix it --mo", ["start Fix it --mode", "start Fix it --model"]],
    ["start Fix it --mode ", ["start Fix it --mode manual", "start Fix it --mode auto"]],
    ["start Fix it --mode a", ["start Fix it --mode auto"]],
    [
      "start Fix it --verify x --ver",
      ["--verify", "--verify-in", "--verify-setup", "--verify-runs"].map((flag) => `start Fix it --verify x ${flag}`),
    ],
    ['start Fix it --verify "npm --', null],
    ["start Fix --cwd ", null],
    ["send t-1 hello", null],
    ["nonsense ", null],
    ["help st", ["help start", "help status", "help stop"]],
  ];
  for (const [prefix, expected] of table)
    test(`of ${JSON.stringify(prefix)}`, async () => assert.deepEqual(await values(prefix), expected));

  test("say a task's state and goal, without control characters", async () => {
    const items = await complete("status ", known);
    assert.deepEqual(items?.[0], {
      value: "status t-1",
      label: "t-1",
      description: "waits for a person: Fix the parser",
    });
  });

  test("do not look for tasks where none are asked for", async () => {
    const never = () => Promise.reject(new Error("looked"));
    assert.ok(await complete("", never));
    assert.ok(await complete("log t-1 --", never));
    assert.equal(await complete("start Fix", never), null);
  });

  test("of commands are commands", async () => {
    for (const value of (await values("")) ?? []) {
      const call = parseCall(value);
      assert.ok(call.ok || call.reason === "missing-argument", value);
    }
  });
});

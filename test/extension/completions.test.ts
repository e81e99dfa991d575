import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { type CompletionHost, complete } from "../../src/extension/completions.ts";
import { parseCall } from "../../src/extension/parse/parse.ts";
import { commandNames, type FlagSpec, specOf } from "../../src/extension/parse/spec.ts";
import type { KnownTask } from "../../src/supervisor/api.ts";

const folder = mkdtempSync(join(tmpdir(), "completions-"));
mkdirSync(join(folder, "src", "parser"), { recursive: true });
mkdirSync(join(folder, ".hidden"));
mkdirSync(join(folder, "two words"));
writeFileSync(join(folder, "task.json"), "{}");
writeFileSync(join(folder, "package.json"), '{"scripts":{"test":"node --test"}}');
after(() => rmSync(folder, { recursive: true }));

const request = (requestId: string, over: Partial<KnownTask["requests"][number]> = {}) => ({
  requestId,
  kind: "tool" as const,
  toolName: "Bash",
  labels: [],
  ...over,
});
const task = (taskId: string, over: Partial<KnownTask> = {}): KnownTask => ({
  taskId,
  goal: "Fix the \u001b[31mparser",
  state: "running",
  recoverable: false,
  fault: null,
  requests: [],
  ...over,
});
const TASKS: KnownTask[] = [
  task("t-1", {
    state: "human_required",
    requests: [
      request("r-1"),
      request("r-2", { kind: "question", toolName: "AskUserQuestion", labels: ["Blue", "Blue or red", "Red"] }),
      request("r-3", { kind: "sign-off", toolName: "verification" }),
    ],
  }),
  task("t-2"),
  task("t-3", { recoverable: true, fault: "secret-risk" }),
  task("t-4", { state: "taken_over" }),
  task("t-5", { state: "paused" }),
  task("t-6", { state: "completed" }),
  task("t-7", { state: "failed" }),
];
const host: CompletionHost = { known: async () => TASKS, cwd: folder, models: () => ["lab/scripted", "lab/other"] };

const values = async (prefix: string) => (await complete(prefix, host))?.map((item) => item.value) ?? null;

/** `words` before each of the endings. */
const all = (words: string, ...endings: string[]): string[] => endings.map((ending) => `${words}${ending}`);

describe("completions", () => {
  const table: [prefix: string, expected: string[] | null][] = [
    ["st", ["start", "status", "stop"]],
    ["sta", ["start", "status"]],
    ["approve ", all("approve ", "r-1", "r-3")],
    ["deny ", all("deny ", "r-1", "r-2", "r-3")],
    ["answer ", ["answer r-2"]],
    ["answer r-2 ", all("answer r-2 ", "Blue", "Blue or red", "Red")],
    ["answer r-2 Blue o", ["answer r-2 Blue or red"]],
    ["answer r-2 Red", null],
    ["answer r-1 ", null],
    ["status ", all("status ", "t-1", "t-2", "t-3", "t-4", "t-5", "t-6", "t-7")],
    ["report t-", all("report ", "t-1", "t-2", "t-3", "t-4", "t-5", "t-6", "t-7")],
    ["stop ", all("stop ", "t-1", "t-2", "t-3", "t-4", "t-5")],
    ["kill ", all("kill ", "t-1", "t-2", "t-3", "t-4", "t-5")],
    ["stop t-2", null],
    ["estop stop ", all("estop stop ", "t-1", "t-2", "t-3", "t-4", "t-5")],
    ["send ", all("send ", "t-1", "t-2", "t-5")],
    ["verify ", all("verify ", "t-1", "t-2", "t-5")],
    ["pause ", all("pause ", "t-1", "t-2", "t-5")],
    ["recover ", all("recover ", "t-1", "t-2", "t-3", "t-5", "t-7")],
    ["resume ", all("resume ", "t-1", "t-2", "t-3", "t-5", "t-7")],
    ["resume t-3 --fault ", ["resume t-3 --fault secret-risk"]],
    ["resume t-5 --fault ", null],
    ["takeover ", all("takeover ", "t-1", "t-2", "t-3", "t-4", "t-5")],
    ["handback ", ["handback t-4"]],
    ["discard ", all("discard ", "t-3", "t-6", "t-7")],
    ["policy ", ["policy check", "policy show"]],
    ["estop ", all("estop ", "status", "pause", "resume", "stop")],
    ["sessions ", ["sessions prune"]],
    ["sessions prune --older-than ", all("sessions prune --older-than ", "24h", "168h", "576h")],
    ["log t-1 --f", ["log t-1 --follow"]],
    ["log t-1 --follow --f", null],
    ["log t-1 --since ", null],
    ["start Fix it", null],
    ["start Fix it --mo", ["start Fix it --mode", "start Fix it --model"]],
    ["start Fix it --mode ", ["start Fix it --mode manual", "start Fix it --mode auto"]],
    ["start Fix it --mode a", ["start Fix it --mode auto"]],
    ["start Fix it --model ", all("start Fix it --model ", "opus", "sonnet", "haiku")],
    ["start Fix it --decision-model lab/s", ["start Fix it --decision-model lab/scripted"]],
    ["start Fix it --timeout ", all("start Fix it --timeout ", "1h", "2h", "4h", "8h")],
    ["start Fix it --max-rounds ", null],
    ["start Fix it --verify ", ['start Fix it --verify "npm test"']],
    ['start Fix it --verify "n', ['start Fix it --verify "npm test"']],
    ["start --from ", all("start --from ", "package.json", "src/", "task.json")],
    ["start --from t", ["start --from task.json"]],
    ["start Fix --cwd ", ["start Fix --cwd src/"]],
    ["start Fix --cwd src/", ["start Fix --cwd src/parser/"]],
    ["start Fix --cwd .h", ["start Fix --cwd .hidden/"]],
    ["start Fix --cwd nowhere/", null],
    ["report t-1 --html s", ["report t-1 --html src/"]],
    ["start Fix it --review --no", null],
    [
      "start Fix it --verify x --ver",
      all("start Fix it --verify x ", "--verify", "--verify-in", "--verify-setup", "--verify-runs"),
    ],
    ['start Fix it --verify "npm --', null],
    ["send t-1 hello", null],
    ["nonsense ", null],
    ["help st", ["help start", "help status", "help stop"]],
  ];
  for (const [prefix, expected] of table)
    test(`of ${JSON.stringify(prefix)}`, async () => assert.deepEqual(await values(prefix), expected));

  test("say a task's state and goal, without control characters", async () => {
    const items = await complete("status ", host);
    assert.deepEqual(items?.[0], {
      value: "status t-1",
      label: "t-1",
      description: "waits for a person: Fix the parser",
    });
    assert.equal(items?.[2]?.description, "recoverable: Fix the parser");
    assert.equal((await complete("deny ", host))?.[0]?.description, "Bash, t-1: Fix the parser");
  });

  test("do not look for tasks where none are asked for", async () => {
    const never = { ...host, known: () => Promise.reject(new Error("looked")) };
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

  test("of every value are values that the command takes", async () => {
    for (const name of commandNames)
      for (const [flag, how] of Object.entries<FlagSpec>(specOf(name).flags)) {
        if (how.kind === "switch") continue;
        for (const value of (await values(`${name} --${flag} `)) ?? []) {
          const call = parseCall(value);
          assert.ok(call.ok || !["bad-value", "unknown-flag", "unclosed-quote"].includes(call.reason), value);
        }
      }
  });
});

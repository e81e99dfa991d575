import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { ToolCall, Verdict } from "../../src/core/contracts/policy.ts";
import { bash, decide, type World } from "./support.ts";

const cwd = "/workspace";

interface Row {
  call: ToolCall;
  verdict: Verdict | "not-deny";
  world?: World;
}

const ROWS: readonly Row[] = [
  { call: { toolName: "Read", input: { file_path: "/workspace/src/a.ts" }, cwd }, verdict: "allow" },
  { call: { toolName: "Write", input: { file_path: "/workspace/src/a.ts", content: "x" }, cwd }, verdict: "allow" },
  { call: bash("ls"), verdict: "allow" },
  { call: bash("ls -la"), verdict: "allow" },
  { call: bash("git status --short"), verdict: "allow" },
  { call: bash("node check.mjs"), verdict: "allow", world: { frozen_verify: ["node check.mjs"] } },
  {
    call: { toolName: "Agent", input: { description: "d", prompt: "p", subagent_type: "Explore" }, cwd },
    verdict: "allow",
  },
  {
    call: { toolName: "Task", input: { description: "d", prompt: "p", subagent_type: "Explore" }, cwd },
    verdict: "allow",
  },
  { call: bash("node gen.mjs --out x"), verdict: "review" },
  { call: bash("node leak.mjs"), verdict: "review" },
  { call: bash("claude --dangerously-skip-permissions"), verdict: "deny" },
  { call: bash("touch X && claude --dangerously-skip-permissions -p x"), verdict: "deny" },
  { call: bash("sh escape.sh; sleep 30 & setsid sleep 30 & sleep 30"), verdict: "not-deny" },
];

describe("the verdicts that the outside relies on", () => {
  for (const { call, verdict, world } of ROWS) {
    test(`${JSON.stringify(call.input)} is ${verdict}`, () => {
      const decision = decide(call, world);
      if (verdict === "not-deny") assert.notEqual(decision.verdict, "deny");
      else assert.equal(decision.verdict, verdict);
    });
  }

  test("code of unknown effect is a recoverable loss: the decider may be asked", () => {
    assert.equal(decide(bash("node gen.mjs")).loss, "recoverable");
  });

  test("what nothing can bring back is lost: only a person is asked", () => {
    for (const command of ["git clean -fd", "git reset --hard", "git stash drop", "find . -name x -delete"]) {
      assert.equal(decide(bash(command)).loss, "lost", command);
    }
    assert.equal(decide(bash("rm notes.txt"), { files: { "notes.txt": "untracked" } }).loss, "lost");
  });
});

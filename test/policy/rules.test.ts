import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { PolicyRule, Verdict } from "../../src/core/contracts/policy.ts";
import { bash, decide } from "./support.ts";

const person = (verdict: Verdict, argv?: string[], tool = "Bash"): PolicyRule => ({
  verdict,
  tool,
  origin: "person",
  ...(argv === undefined ? {} : { argv }),
});
const project = (verdict: Verdict, argv: string[]): PolicyRule => ({ verdict, tool: "Bash", origin: "project", argv });

const ROWS: readonly [string, string, PolicyRule[], Verdict][] = [
  ["an allow lifts a review", "node gen.mjs x", [person("allow", ["node", "gen.mjs"])], "allow"],
  ["an allow lifts what is a person's", "git push origin main", [person("allow", ["git", "push"])], "allow"],
  ["an allow never lifts a deny", "git push --force", [person("allow", ["git", "push"])], "deny"],
  ["an allow never lifts the deletion floor", 'rm "$F"', [person("allow", ["rm"])], "review"],
  ["words are compared as parsed", '"node" gen.mjs', [person("allow", ["node", "gen.mjs"])], "allow"],
  ["only the first words count", "git pushy", [person("allow", ["git", "push"])], "review"],
  [
    "another part of the call keeps its verdict",
    "node gen.mjs && ./x",
    [person("allow", ["node", "gen.mjs"])],
    "review",
  ],
  ["a redirection keeps its verdict", "node gen.mjs > ~/.bashrc", [person("allow", ["node", "gen.mjs"])], "deny"],
  ["a substitution keeps its verdict", 'node gen.mjs "$(./x)"', [person("allow", ["node", "gen.mjs"])], "review"],
  ["a variable in front keeps its verdict", "PATH=/x node gen.mjs", [person("allow", ["node", "gen.mjs"])], "deny"],
  ["a wildcard is no fixed word", "node g*", [person("allow", ["node", "gen.mjs"])], "review"],
  ["a deny tightens", "ls -la", [person("deny", ["ls"])], "deny"],
  ["a person rule tightens", "npm install", [person("person", ["npm", "install"])], "person"],
  ["the longest match counts", "git log -1", [person("deny", ["git"]), person("allow", ["git", "log"])], "allow"],
  ["among equals the strictest counts", "ls", [person("allow", ["ls"]), person("review", ["ls"])], "review"],
  ["a project may tighten", "ls", [project("review", ["ls"])], "review"],
  ["a project may not loosen", "node gen.mjs", [project("allow", ["node", "gen.mjs"])], "review"],
  [
    "a project's tightening holds against a person's allow",
    "node gen.mjs",
    [person("allow", ["node"]), project("person", ["node"])],
    "person",
  ],
  ["inside a wrapper too", "timeout 5 node gen.mjs", [person("allow", ["node", "gen.mjs"])], "allow"],
];

describe("a person's own rules", () => {
  for (const [name, command, rules, verdict] of ROWS) {
    test(name, () => {
      assert.equal(decide(bash(command), {}, { rules }).verdict, verdict);
    });
  }

  test("a rule without words stands for every call of a tool", () => {
    const call = { toolName: "mcp__notes__read", input: {}, cwd: "/workspace" };
    assert.equal(decide(call, {}, { rules: [person("allow", undefined, "mcp__notes__read")] }).verdict, "allow");
    assert.equal(decide(call, {}, { rules: [person("allow", undefined, "mcp__notes")] }).verdict, "review");
  });
});

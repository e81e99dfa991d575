import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { normalizeAsk } from "../../src/policy/index.ts";
import { bash } from "./support.ts";

const SAME: readonly [string, string][] = [
  ["git  push   origin", "git push origin"],
  ['git push "origin"', "git push 'origin'"],
  ["git push origin", "git 'push' origin "],
  ["echo 'a b'", 'echo "a b"'],
  ["a && b", "a  &&  b"],
];
const DIFFERENT: readonly [string, string][] = [
  ["git push origin", "git push upstream"],
  ["rm a", "rm -f a"],
  ["echo 'a  b'", "echo 'a b'"],
  ['echo "$x"', "echo '$x'"],
  ["echo a b", "echo 'a b'"],
  ["ls *", "ls '*'"],
  ["a; b", "a && b"],
  ["cat ~/x", "cat '~/x'"],
];

describe("the same ask, said again", () => {
  for (const [a, b] of SAME) test(`${a}  =  ${b}`, () => assert.equal(normalizeAsk(bash(a)), normalizeAsk(bash(b))));
  for (const [a, b] of DIFFERENT)
    test(`${a}  is not  ${b}`, () => assert.notEqual(normalizeAsk(bash(a)), normalizeAsk(bash(b))));

  test("the folder, the tool and every argument count; the order of fields does not", () => {
    const call = { toolName: "Write", input: { file_path: "/w/a", content: "x" }, cwd: "/w" };
    assert.equal(normalizeAsk(call), normalizeAsk({ ...call, input: { content: "x", file_path: "/w/a" } }));
    assert.notEqual(normalizeAsk(call), normalizeAsk({ ...call, cwd: "/v" }));
    assert.notEqual(normalizeAsk(call), normalizeAsk({ ...call, input: { file_path: "/w/a", content: "y" } }));
    assert.notEqual(normalizeAsk(call), normalizeAsk({ ...call, toolName: "Edit" }));
  });

  test("odd input does not throw", () => {
    for (const input of [
      null,
      undefined,
      7,
      "x",
      [],
      { command: 7 },
      { command: '"' },
      { command: "$(".repeat(500) },
    ]) {
      assert.equal(typeof normalizeAsk({ toolName: "Bash", input, cwd: "/w" }), "string");
    }
  });
});

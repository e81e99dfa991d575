import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { contextOf, factsOf } from "../../scripts/corpus/policy.ts";
import { describeEffectivePolicy, explain, reportPrograms } from "../../src/policy/index.ts";
import { couldMatch } from "../../src/policy/paths/glob.ts";
import { isInside, normalise } from "../../src/policy/paths/text.ts";
import { findDanger } from "../../src/policy/programs/awk.ts";
import { tables } from "../../src/policy/programs/registry.ts";
import { expandBraces } from "../../src/policy/shell/braces.ts";
import { bash, decide } from "./support.ts";

describe("the tables", () => {
  test("name each program once and say why it stands there", () => {
    const seen = new Map<string, string>();
    for (const [table, programs] of Object.entries(tables())) {
      for (const [name, { reason }] of Object.entries(programs)) {
        assert.equal(seen.get(name), undefined, `${name} stands in ${seen.get(name)} and in ${table}`);
        seen.set(name, table);
        assert.ok(reason.length > 0, name);
      }
    }
    assert.ok(seen.size > 500, `${seen.size} programs`);
  });

  test("no program of the tables throws on odd words, and none allows what it does not know", () => {
    for (const programs of Object.values(tables())) {
      for (const name of Object.keys(programs)) {
        for (const words of [
          "",
          " --",
          " -",
          " --no-such-option-ever=x",
          " ''",
          ' "$(./x)"',
          " -\u00e9",
          ` ${"a ".repeat(300)}`,
        ]) {
          const decision = decide(bash(`${name}${words}`));
          assert.notEqual(decision.rule, "policy.internal-error", `${name}${words}: ${decision.facts?.[0]?.subject}`);
          if (words.includes("./x")) assert.notEqual(decision.verdict, "allow", `${name}${words}`);
        }
      }
    }
  });

  test("are what `policy show` prints", () => {
    const shown = describeEffectivePolicy(contextOf({ profile: "strict", frozen_verify: ["npm test"] }));
    assert.equal(shown.profile, "strict");
    assert.deepEqual(shown.frozenVerify, ["npm test"]);
    assert.ok(shown.programs.view?.some((entry) => entry.name === "cat"));
    assert.ok(shown.places.some((entry) => entry.place === "credentials" && entry.read === "deny"));
  });
});

describe("`policy check`", () => {
  test("shows the commands, the paths and the syntax errors behind a verdict", () => {
    const shown = explain(bash("cd src && cat a.ts | sh -c 'rm \"$X\"'"), contextOf({}), factsOf({}));
    assert.equal(shown.decision.verdict, "review");
    assert.deepEqual(
      shown.commands.map((entry) => entry.argv.join(" ")),
      ["cd src", "cat a.ts", 'sh -c rm "$X"', "rm …"],
    );
    assert.deepEqual(shown.commands[1]?.folders, ["/workspace/src"]);
    assert.ok(shown.paths.some((entry) => entry.real === "/workspace/src/a.ts" && entry.place === "workspace"));
    assert.deepEqual(explain(bash('echo "a'), contextOf({}), factsOf({})).problems, ["unterminated double quote"]);
  });

  test("tells that a command is open when a program's name is not known", () => {
    assert.equal(reportPrograms("$X y", "/workspace", contextOf({}), factsOf({})).open, true);
    assert.deepEqual(
      [...reportPrograms("ls | wc -l", "/workspace", contextOf({}), factsOf({})).programs],
      ["ls", "wc"],
    );
  });
});

describe("small parts", () => {
  test("paths are normalised as text", () => {
    const rows: [string, string][] = [
      ["/a/b", "/a/b"],
      ["/a//b/", "/a/b"],
      ["/a/./b/..", "/a"],
      ["/..", "/"],
      ["/a/.b", "/a/.b"],
      ["/a/..b", "/a/..b"],
      ["/", "/"],
      ["/a/...", "/a/..."],
    ];
    for (const [path, want] of rows) assert.equal(normalise(path), want, path);
    assert.ok(!isInside("/workspace-other", "/workspace"));
    assert.ok(isInside("/workspace", "/workspace"));
  });

  test("patterns could match or not", () => {
    const rows: [string, string, boolean][] = [
      ["*", "a", true],
      ["*", ".a", false],
      [".*", ".a", true],
      ["a?c", "abc", true],
      ["a*c*e", "abcde", true],
      ["a*c", "abd", false],
      ["[ab]c", "ac", true],
      [".e*v", ".env", true],
      ["", "a", false],
      ["**", "a", true],
    ];
    for (const [pattern, name, want] of rows) assert.equal(couldMatch(pattern, name), want, `${pattern} ${name}`);
    const start = process.cpuUsage();
    couldMatch("a*".repeat(2_000), "a".repeat(2_000));
    assert.ok(process.cpuUsage(start).user < 500_000);
  });

  test("braces expand as in Bash", () => {
    assert.deepEqual(expandBraces("{a,b{c,d}}"), ["a", "bc", "bd"]);
    assert.deepEqual(expandBraces("{a}"), ["{a}"]);
    assert.deepEqual(expandBraces("{a,}"), ["a", ""]);
    assert.equal(expandBraces("{a,$x}"), undefined);
    assert.equal(expandBraces(`{${"a,".repeat(100)}}`), undefined);
  });

  test("awk programs that only print are told from those that do more", () => {
    for (const program of [
      "{print $1}",
      "$3 > 100",
      "/a|b/ {n++} END {print n}",
      '{print "a|b > c"}',
      "# system(\n{print}",
      "{print (a > b)}",
      "{print $1/2}",
      "BEGIN {x = 6 / 2 / 1; print x}",
    ]) {
      assert.equal(findDanger(program), undefined, program);
    }
    for (const program of [
      '{print > "f"}',
      '{print | "sh"}',
      "{system($1)}",
      '{"x" | getline}',
      "{getline < $1}",
      '{print $1,\n$2 > "f"}',
      '{if (1) /"/; system("x"); y = /"/}',
      "@include",
      "{print ENVIRON[1]}",
      '{printf("%s", $1) > "f"}',
      '{print a, b >> "f"}',
      '{ x = "a',
    ]) {
      assert.notEqual(findDanger(program), undefined, program);
    }
  });
});

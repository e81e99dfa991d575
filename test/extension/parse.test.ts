import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { nearest } from "../../src/extension/parse/nearest.ts";
import { parseCall } from "../../src/extension/parse/parse.ts";
import { commandNames, usageOf } from "../../src/extension/parse/spec.ts";
import { parseCount, parseDuration } from "../../src/extension/parse/values.ts";
import { splitWords, textOf } from "../../src/extension/parse/words.ts";

describe("words", () => {
  const table: [input: string, words: string[]][] = [
    ["", []],
    ["  a   b\tc\nd ", ["a", "b", "c", "d"]],
    ['--verify "npm test"', ["--verify", "npm test"]],
    ['--verify="npm test"', ["--verify=npm test"]],
    ['"say \\"hi\\""', ['say "hi"']],
    ['\\"a b\\"', ['"a', 'b"']],
    ['5" screen', ['5"', "screen"]],
    ["don't touch", ["don't", "touch"]],
    ['""', [""]],
    ['"a"b', ["ab"]],
    ['"grep \\d+\\.js"', ["grep \\d+\\.js"]],
  ];
  for (const [input, words] of table)
    test(`splits ${JSON.stringify(input)}`, () => {
      const split = splitWords(input);
      assert.ok(split.ok);
      assert.deepEqual(
        split.words.map((word) => word.text),
        words,
      );
    });

  test("says which quote is not closed", () => {
    const split = splitWords('start --verify "npm test');
    assert.ok(!split.ok);
    assert.equal(split.reason, "unclosed-quote");
    assert.match(split.message, /"npm test/);
  });

  test("brings every text back through quotes", () => {
    fc.assert(
      fc.property(
        fc.string().filter((text) => !text.includes("\\")),
        (text) => {
          const quoted = `"${text.replaceAll('"', '\\"')}"`;
          const split = splitWords(`a ${quoted} b`);
          assert.ok(split.ok);
          assert.deepEqual(
            split.words.map((word) => word.text),
            ["a", text, "b"],
          );
        },
      ),
    );
  });

  test("never throws and never invents text", () => {
    fc.assert(
      fc.property(fc.string(), (input) => {
        const split = splitWords(input);
        if (!split.ok) return;
        for (const word of split.words) assert.ok(word.text.length <= input.length);
        assert.equal(typeof textOf(input, split.words), "string");
      }),
    );
  });
});

describe("values", () => {
  const durations: [string, number | null][] = [
    ["500ms", 500],
    ["2s", 2_000],
    ["10m", 600_000],
    ["1h", 3_600_000],
    ["0", 0],
    ["0s", 0],
    ["576h", 2_073_600_000],
    ["577h", null],
    ["5", null],
    ["-1s", null],
    ["1.5h", null],
    ["1d", null],
    ["1h30m", null],
    ["", null],
    ["9999999999999s", null],
  ];
  for (const [text, ms] of durations)
    test(`duration ${JSON.stringify(text)}`, () => {
      const read = parseDuration(text);
      assert.equal(read.ok ? read.ms : null, ms);
    });
  const counts: [string, number | null][] = [
    ["1", 1],
    ["0", null],
    ["-1", null],
    ["1e3", null],
    ["9999999", 9_999_999],
    ["99999999", null],
    ["x", null],
  ];
  for (const [text, count] of counts)
    test(`count ${JSON.stringify(text)}`, () => {
      const read = parseCount(text, 1);
      assert.equal(read.ok ? read.count : null, count);
    });
});

describe("the nearest right word", () => {
  const table: [string, readonly string[], string | undefined][] = [
    ["statsu", commandNames, "status"],
    ["strat", commandNames, "start"],
    ["sessoins", commandNames, "sessions"],
    ["aprove", commandNames, "approve"],
    ["rep", ["replay", "report"], undefined],
    ["repl", ["replay", "report"], "replay"],
    ["vrify", ["verify", "cwd"], "verify"],
    ["xyzzy", commandNames, undefined],
    ["", commandNames, undefined],
    ["a".repeat(10_000), commandNames, undefined],
  ];
  for (const [word, candidates, expected] of table)
    test(`for ${word.slice(0, 20)}`, () => assert.equal(nearest(word, candidates), expected));
});

describe("a good call", () => {
  const table: [input: string, expected: object][] = [
    ["", { command: "help", args: [], json: false }],
    ["--json", { command: "help", json: true }],
    ["--json status t-1", { command: "status", args: ["t-1"], json: true }],
    ["help start", { command: "help", args: ["start"] }],
    ["start Fix the parser", { command: "start", rest: "Fix the parser", flags: {}, json: false }],
    ['start "Fix the parser"', { rest: "Fix the parser" }],
    ['start Rename "foo" to "bar" --json', { rest: 'Rename "foo" to "bar"', json: true, flags: {} }],
    ["start First line\n  second line --mode auto", { rest: "First line\n  second line", flags: { mode: "auto" } }],
    ["start a -- b -v c", { rest: "a -- b -v c" }],
    ['start "--help is broken"', { rest: "--help is broken" }],
    [
      'start Fix --verify "npm test" --verify="npm run lint" --cwd /tmp/x --mode manual --transport claude-jsonl --model opus --max-rounds 2 --max-turns 9 --timeout 1h --quiet-timeout 5m --trust none --profile strict --patience 2s --verify-in clean --verify-setup "npm ci" --verify-runs 3 --json',
      {
        rest: "Fix",
        json: true,
        flags: {
          verify: ["npm test", "npm run lint"],
          cwd: "/tmp/x",
          mode: "manual",
          transport: "claude-jsonl",
          model: "opus",
          "max-rounds": 2,
          "max-turns": 9,
          timeout: 3_600_000,
          "quiet-timeout": 300_000,
          trust: "none",
          profile: "strict",
          patience: 2_000,
          "verify-in": "clean",
          "verify-setup": "npm ci",
          "verify-runs": 3,
        },
      },
    ],
    ["status", { command: "status", args: [] }],
    ["status --json t-1", { args: ["t-1"], json: true }],
    ["sessions --all --json", { flags: { all: true }, json: true }],
    ["send t-1 go on, please", { args: ["t-1"], rest: "go on, please" }],
    ['approve r-1 --note "looks fine"', { args: ["r-1"], flags: { note: "looks fine" } }],
    ["deny r-1", { args: ["r-1"], rest: "" }],
    ["deny r-1 too risky --json", { args: ["r-1"], rest: "too risky", json: true }],
    ["answer r-1 Blue, Green", { args: ["r-1"], rest: "Blue, Green" }],
    ["stop t-1 enough", { args: ["t-1"], rest: "enough" }],
    ["log t-1 --since 5 --verify", { args: ["t-1"], flags: { since: 5, verify: true } }],
    ["start Fix --ungated", { flags: { ungated: true } }],
    ["pause t-1 lunch", { command: "pause", args: ["t-1"], rest: "lunch" }],
    ["resume t-1 --fault secret-risk", { command: "resume", flags: { fault: "secret-risk" } }],
    ["recover t-1 --fresh", { command: "recover", flags: { fresh: true } }],
    ["replay t-1 --to 12", { flags: { to: 12 } }],
    ["report --all", { args: [], flags: { all: true } }],
    ["report t-1 --html out.html", { args: ["t-1"], flags: { html: "out.html" } }],
    ['policy check "git push --force" --json', { args: ["check"], rest: "git push --force", json: true }],
    ["policy show", { args: ["show"], rest: "" }],
  ];
  for (const [input, expected] of table)
    test(JSON.stringify(input.slice(0, 60)), () => {
      const call = parseCall(input);
      assert.ok(call.ok, call.ok ? "" : call.message);
      const seen = Object.fromEntries(Object.keys(expected).map((key) => [key, call[key as keyof typeof call]]));
      assert.deepEqual(seen, expected);
    });
});

describe("a bad call", () => {
  const table: [input: string, reason: string, message: RegExp][] = [
    ["statsu t-1", "unknown-command", /Did you mean "status"\? Usage: \/supervise status/],
    ["frobnicate", "unknown-command", /help shows all/],
    ["toString", "unknown-command", /help shows all/],
    ["__proto__", "unknown-command", /help shows all/],
    ["start", "missing-argument", /needs the goal\. Usage: \/supervise start <goal>/],
    ['start --verify "npm test"', "missing-argument", /needs the goal/],
    ['start "" --mode auto', "missing-argument", /needs the goal/],
    ["start Fix --vrify x", "unknown-flag", /no flag --vrify\. Did you mean --verify\?/],
    ["start Fix --constructor x", "unknown-flag", /no flag --constructor/],
    ["start Fix --mode auto now", "unexpected-word", /"now" stands after a flag/],
    ["start Fix --mode", "missing-value", /--mode needs a value/],
    ["start Fix --verify --json", "missing-value", /--verify needs a value/],
    ['start Fix --verify ""', "bad-value", /--verify: the value is empty/],
    ["start Fix --mode atuo", "bad-value", /none of manual, auto\. Did you mean "auto"\?/],
    ["start Fix --max-rounds 0", "bad-value", /--max-rounds: "0" is no whole number/],
    ["start Fix --max-decisions -1", "bad-value", /--max-decisions: "-1" is no whole number/],
    ["start Fix --budget-usd 0", "bad-value", /--budget-usd: "0" is no amount of USD/],
    ["start Fix --budget-usd 1e9", "bad-value", /is no amount of USD/],
    ["start Fix --timeout 5", "bad-value", /--timeout: "5" is no duration/],
    ["start Fix --cwd a --cwd b", "given-twice", /--cwd was given twice/],
    ["start Fix --json=yes", "bad-value", /--json takes no value/],
    ["send", "missing-argument", /needs ID\. Usage: \/supervise send <ID> <text>/],
    ["send t-1", "missing-argument", /needs the text/],
    ["approve", "missing-argument", /needs REQ/],
    ["approve r-1 r-2", "unexpected-word", /"r-2" is one word too many/],
    ["stop", "missing-argument", /needs ID/],
    ["verify t-1 now", "unexpected-word", /"now" is one word too many/],
    ["log t-1 --folow", "unknown-flag", /Did you mean --follow\?/],
    ["policy", "missing-argument", /needs check\|show/],
    ["policy chekc x", "bad-value", /Did you mean "check"\?/],
    ['start "Fix', "unclosed-quote", /not closed/],
  ];
  for (const [input, reason, message] of table)
    test(JSON.stringify(input), () => {
      const call = parseCall(input);
      assert.ok(!call.ok);
      assert.equal(call.reason, reason);
      assert.match(call.message, message);
    });

  test("knows its command and whether a program asked", () => {
    for (const input of ["statsu --json", 'statsu "x --json']) {
      const call = parseCall(input);
      assert.ok(!call.ok);
      assert.deepEqual([call.command, call.json], ["statsu", true]);
    }
    const quoted = parseCall('send t-1 "--json"');
    assert.ok(quoted.ok && !quoted.json && quoted.rest === "--json");
  });

  test("never throws, and always has a reason and a sentence", () => {
    const word = fc.oneof(
      fc.string(),
      fc.constantFrom(...commandNames, "--json", "--verify", "--mode", '"', "--", "="),
    );
    fc.assert(
      fc.property(fc.array(word), (words) => {
        const call = parseCall(words.join(" "));
        if (call.ok) return;
        assert.match(call.reason, /^[a-z-]+$/);
        assert.ok(call.message.length > 10 && call.message.length < 1_600);
      }),
    );
  });
});

test("every command has one usage line that begins with its own words", () => {
  for (const name of commandNames) {
    assert.ok(usageOf(name).startsWith(`/supervise ${name}`));
    assert.ok(usageOf(name).endsWith("[--json]"));
  }
});

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { createRedactor, MAX_HELD } from "../../src/redaction/index.ts";
import { githubToken, letters, privateKey } from "./support.ts";

const KNOWN = ["amber-basin-cedar", 'n-ember"quote\\x', "aaaaaaaa", `https://hook.example/in/${letters(24)}`];
const redactor = createRedactor({ salt: "stream", known: KNOWN });

function pieces(text: string, sizes: readonly number[]): string[] {
  const parts: string[] = [];
  let at = 0;
  for (let turn = 0; at < text.length; turn++) {
    const size = sizes[turn % sizes.length] ?? 1;
    parts.push(text.slice(at, at + size));
    at += size;
  }
  return parts;
}

function streamed(parts: readonly string[]): string {
  const stream = redactor.stream();
  return parts.map((part) => stream.push(part)).join("") + stream.end();
}

/** Fragments that matter to the scanner, glued together in any order. */
const FRAGMENTS = [
  ..."= : & ? ; , [ ] ( { } < > | @ / . - _ \" ' \\ \n \r\n".split(" "),
  " ",
  ...'password "token" api_key DB_PASSWORD Authorization Bearer Basic Cookie: sid --token secret value name login'.split(
    " ",
  ),
  ...[
    "\\n",
    "\\u002d",
    "\\u000a",
    "%3D",
    "%20",
    "%2",
    "://",
    "https",
    '\\"',
    " -u ",
    "-p",
    "mysql ",
    "\u001b[31m",
    "é",
    "→",
    "\u{1F600}",
  ],
  ...[
    "-----BEGIN PRIVATE KEY-----",
    "-----BEGIN ",
    "-----END PRIVATE KEY-----",
    "-----BEGIN CERTIFICATE-----",
    "Proc-Type: 4",
  ],
  ...[
    "[redacted:password:abcdef]",
    "[redacted:",
    "word",
    "hello",
    "x",
    "user:",
    "key",
    "IDENTIFIED BY '",
    "hooks.slack.com/services/T0/B0/",
  ],
  ...KNOWN,
  ...KNOWN.map((value) => value.slice(0, 7)),
];
const fragment = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom(...FRAGMENTS) },
  { weight: 2, arbitrary: fc.stringMatching(/^[A-Za-z0-9+/]{20,64}$/) },
  { weight: 1, arbitrary: fc.stringMatching(/^[A-Za-z0-9]{36}$/).map((body) => `ghp_${body}`) },
  {
    weight: 1,
    arbitrary: fc
      .stringMatching(/^[A-Za-z0-9]{36}$/)
      .map((body) => Buffer.from(`A_TOKEN=ghp_${body}`).toString("base64")),
  },
  {
    weight: 1,
    arbitrary: fc
      .stringMatching(/^[A-Za-z0-9_-]{20,40}$/)
      .map((body) => `eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.${body}`),
  },
  { weight: 1, arbitrary: fc.string({ maxLength: 12 }) },
);
const text = fc.array(fragment, { maxLength: 16 }).map((parts) => parts.join(""));

describe("a stream", () => {
  test("gives the same joined output for every way of cutting", () => {
    fc.assert(
      fc.property(text, fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 5 }), (value, sizes) => {
        assert.equal(streamed(pieces(value, sizes)), redactor.text(value));
      }),
      { numRuns: 1_500 },
    );
  });

  test("gives the same joined output for every single cut of a text with everything in it", () => {
    const value = `a ${githubToken()} b\n${privateKey(3)}\nDB_PASSWORD="${letters(12)}"; ${KNOWN[0]} Cookie: sid=${letters(20)}\nend`;
    const whole = redactor.text(value);
    for (let at = 1; at < value.length; at++)
      assert.equal(streamed([value.slice(0, at), value.slice(at)]), whole, `cut at ${at}`);
  });

  test("shows a secret never in part, whenever it is read", () => {
    const token = githubToken();
    const stream = redactor.stream();
    let shown = "";
    for (const character of `before ${token} after `) {
      shown += stream.push(character);
      assert.ok(!shown.includes(token.slice(4, 12)));
    }
    assert.match(shown + stream.end(), /^before \[redacted:github-token:[0-9a-f]{6}\] after $/);
  });

  test("holds back little of ordinary text", () => {
    const stream = redactor.stream();
    const prose = "The worker reads a file and says what it found there. ".repeat(20);
    const shown = pieces(prose, [3])
      .map((part) => stream.push(part))
      .join("");
    assert.ok(prose.length - shown.length < 16, `${prose.length - shown.length} characters held`);
  });

  const holding: Record<string, string> = {
    "one endless word": letters(200_000),
    "an unclosed quote after a name": `password="${"a b ".repeat(50_000)}`,
    "a begin line and words": `-----BEGIN PRIVATE KEY-----\n${"no key here. ".repeat(20_000)}`,
    "a begin line and an endless body": privateKey(5_000),
    "percent escapes": "%41".repeat(60_000),
    backslashes: "\\".repeat(200_000),
    "a literal that repeats itself": "a".repeat(200_000),
    "an address without an end": `https://user:${"a".repeat(200_000)}`,
    "an endless token": `sk-ant-${letters(200_000)}`,
  };
  for (const [name, value] of Object.entries(holding)) {
    test(`holds back at most ${MAX_HELD} characters of ${name}`, () => {
      const stream = redactor.stream();
      let given = 0;
      let isDropping = false;
      for (let at = 0; at < value.length; at += 500) {
        const out = stream.push(value.slice(at, at + 500));
        given += out.length;
        isDropping ||= out.includes("[redacted:");
        if (!isDropping && !name.endsWith("body")) assert.ok(at + 500 - given <= MAX_HELD, `${at + 500 - given} held`);
      }
      assert.ok(stream.end().length <= MAX_HELD);
    });
  }

  test("G2: a lone begin line does not swallow what follows", () => {
    const value = "-----BEGIN RSA PRIVATE KEY-----\nBuild finished in 3 s\nAll 12 tests passed\n";
    assert.equal(redactor.text(value), value);
    assert.equal(streamed(pieces(value, [4])), value);
  });

  test("text after its end is a mistake of the caller", () => {
    const stream = redactor.stream();
    stream.end();
    assert.throws(() => stream.push("more"), /make a new one/);
    assert.equal(stream.end(), "");
  });
});

test("JSON stays JSON whatever stands in its strings", () => {
  fc.assert(
    fc.property(text, (value) => {
      const redacted: unknown = JSON.parse(redactor.text(JSON.stringify({ first: value, second: 1 })));
      assert.ok(typeof redacted === "object" && redacted !== null && "second" in redacted);
      assert.equal(redacted.second, 1);
    }),
    { numRuns: 1_500 },
  );
});

test("redacting twice changes nothing more", () => {
  const line = fc.array(fragment, { maxLength: 5 }).map((parts) => parts.join(" "));
  fc.assert(
    fc.property(fc.array(line, { maxLength: 4 }), (lines) => {
      const once = redactor.text(lines.join("\n"));
      assert.equal(redactor.text(once), once);
    }),
    { numRuns: 1_000 },
  );
});

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createRedactor } from "../../src/redaction/index.ts";
import { cpuMilliseconds, letters, privateKey } from "./support.ts";

const MEGABYTE = 1_000_000;
/** CPU time; the aim is 100 on an idle machine, a loaded one is slower by its caches and its clock. */
const BOUND_MS = 400;
const redactor = createRedactor({ salt: "hostile", known: [letters(24), letters(32)] });

function fill(piece: string): string {
  return piece.repeat(Math.ceil(MEGABYTE / piece.length)).slice(0, MEGABYTE);
}

const HOSTILE: Record<string, string> = {
  "one word": letters(MEGABYTE),
  "almost web tokens": fill("eyJ"),
  "web token parts": fill("eyJhbGciOi."),
  "begin words": fill("-----BEGIN "),
  "begin lines": fill("-----BEGIN PRIVATE KEY-----\n"),
  "names that name each other": fill("token="),
  "names and colons": fill("password: "),
  "an unclosed quote": `password="${fill("password=")}`,
  "token prefixes": fill("sk-"),
  schemes: fill("a://b:"),
  "percent escapes": fill("%25"),
  "words and percent escapes": fill("ab%20"),
  "unicode escapes": fill("\\u0041"),
  backslashes: fill("\\"),
  "quotes after names": fill('token"\\"'),
  "readable base64": Buffer.from(fill("nothing to hide here, ").slice(0, 750_000)).toString("base64"),
  "base64 with slashes": fill("QWxhZGRpbjpvcGVuIHNlc2FtZQ/"),
  cookies: `Cookie: ${fill("sid=a; ")}`,
  "many tokens": fill(`AKIA${"A2B3C4D5E6F7G2H3"} `),
  digits: fill("123456789:"),
  "fields that name fields": fill('"name":"api_key", '),
  options: fill(" -u a"),
  "half markers": fill("password=[redacted:"),
  "an endless key": privateKey(15_000),
};

describe("a hostile megabyte takes linear time:", () => {
  for (const [name, text] of Object.entries(HOSTILE)) {
    test(name, () => {
      redactor.text(text.slice(0, 50_000));
      const whole = cpuMilliseconds(() => redactor.text(text));
      const streamed = cpuMilliseconds(() => {
        const stream = redactor.stream();
        for (let at = 0; at < text.length; at += 997) stream.push(text.slice(at, at + 997));
        stream.end();
      });
      assert.ok(
        whole < BOUND_MS && streamed < 2 * BOUND_MS,
        `${whole.toFixed(0)} ms whole, ${streamed.toFixed(0)} ms streamed`,
      );
    });
  }

  test("also when it comes one character at a time", () => {
    const text = letters(60_000);
    const took = cpuMilliseconds(() => {
      const stream = redactor.stream();
      for (const character of text) stream.push(character);
      stream.end();
    });
    assert.ok(took < BOUND_MS, `${took.toFixed(0)} ms`);
  });
});

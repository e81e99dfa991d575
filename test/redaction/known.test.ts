import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createRedactor, knownValues } from "../../src/redaction/index.ts";
import { letters } from "./support.ts";

describe("known values", () => {
  test("are the values worth hiding: 8 characters or more, no number, boolean, path or plain address", () => {
    const secret = letters(12);
    const env = {
      A: secret,
      B: "short",
      C: "1234567890",
      D: "-12.5e10",
      E: "true",
      F: "/usr/local/bin:/usr/bin",
      G: "~/project",
      H: "./relative/path",
      I: "https://example.org/path?",
      J: `https://user:${secret}@example.org/`,
      K: "correct horse",
      L: secret,
      M: `https://example.org/hook?token=${secret}`,
      N: "C:\\Users\\someone",
    };
    assert.deepEqual(knownValues(env), [secret, env.J, env.K, env.M]);
  });

  const value = `amber ${letters(6)}/&"'\\-zephyr`;
  const redactor = createRedactor({ salt: "known", known: [value] });
  const json = JSON.stringify(value).slice(1, -1);
  const forms: Record<string, string> = {
    raw: value,
    "JSON string": json,
    "JSON in JSON": JSON.stringify(json).slice(1, -1),
    "percent-encoded": encodeURIComponent(value),
    "percent-encoded in small letters": encodeURIComponent(value).replace(/%../g, (code) => code.toLowerCase()),
    "form-encoded": encodeURIComponent(value).replace(/%20/g, "+"),
    "shell-quoted": value.replace(/'/g, "'\\''"),
    "HTML-escaped": value.replace(/&/g, "&amp;").replace(/"/g, "&quot;"),
    base64: Buffer.from(value).toString("base64"),
    base64url: Buffer.from(value).toString("base64url"),
  };
  for (const [name, form] of Object.entries(forms)) {
    test(`are found ${name}`, () => {
      const output = redactor.text(`<${form}>`);
      assert.match(output, /^<\[redacted:known:[0-9a-f]{6}\]=*>$/);
      assert.equal(redactor.hasSecret(form), true);
    });
  }

  for (const offset of [0, 1, 2]) {
    test(`are found in longer base64, ${offset} bytes in`, () => {
      const output = redactor.text(Buffer.from(`${"x".repeat(offset)}${value} and more`).toString("base64"));
      for (let at = 3; at + 12 < value.length; at++) {
        const core = Buffer.from(`${"x".repeat(offset)}${value}`)
          .toString("base64")
          .slice(8, 20);
        assert.ok(!output.includes(core));
      }
    });
  }

  test("take precedence over, and merge with, what surrounds them", () => {
    const [first, second] = [`alpha-${letters(8)}`, `${letters(4)}-omega`];
    const both = createRedactor({ salt: "known", known: [first, second, `${first.slice(-4)}${second}`] });
    assert.match(both.text(`a ${first}${second} b`), /^a (?:\[redacted:known:[0-9a-f]{6}\])+ b$/);
    assert.match(both.text(`DB_PASSWORD=x${first}y`), /^DB_PASSWORD=\[redacted:[a-z]+:[0-9a-f]{6}\]$/);
  });

  test("keep JSON whole where they begin within an escape", () => {
    const tricky = createRedactor({ salt: "known", known: [`n${"-secret-name"}`, "000asecret"] });
    for (const text of ["\n-secret-name", "\u000asecret", "\\n-secret-name"]) {
      const line = JSON.stringify({ text }).replace("\\n-", "\\n-");
      assert.doesNotThrow(() => JSON.parse(tricky.text(line)));
    }
    assert.doesNotThrow(() => JSON.parse(tricky.text('{"a":"\\u000asecret"}')));
  });

  test("that are too short to be told from words are not looked for", () => {
    const text = "a cat sat on a mat";
    assert.equal(createRedactor({ salt: "known", known: ["", "a", "cat"] }).text(text), text);
  });
});

/** The second look: it finds what was not redacted, and nothing in what was, wherever that was cut. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { expand, readRows } from "../../scripts/corpus/secrets.ts";
import { clearSecretFinder, createRedactor } from "../../src/redaction/index.ts";
import { githubToken, letters, privateKey } from "./support.ts";

const known = `v-${letters(30)}`;
const redactor = createRedactor({ salt: "s", known: [known] });
const find = clearSecretFinder(redactor, [known, "true", "/usr/bin"]);

describe("a secret in clear", () => {
  const key = privateKey();
  const table: [what: string, text: string, kind: string | null][] = [
    ["a token", `TOKEN=${githubToken()}`, "github-token"],
    ["a token glued to a word", `x${githubToken()}`, "github-token"],
    ["a key of a model service", `sk-ant-api03-${letters(60)}`, "anthropic-key"],
    ["a known value", `the value is ${known}.`, "known-value"],
    ["a private key", key, "private-key"],
    ["a private key in JSON", JSON.stringify({ key }), "private-key"],
    ["a prefix by itself", "tokens begin with ghp_ or sk-ant-", null],
    ["a lone begin line", "-----BEGIN PRIVATE KEY-----\nis how it begins", null],
    ["values that are everyday words", "true, and it lies in /usr/bin", null],
  ];
  for (const [what, text, kind] of table) test(`${what}: ${kind ?? "none"}`, () => assert.equal(find(text), kind));
});

test("nothing is found in what was redacted, also where it was cut afterwards, as text and as JSON", () => {
  for (const file of ["secrets.jsonl", "own.jsonl"]) {
    for (const row of readRows(fileURLToPath(new URL(`data/${file}`, import.meta.url)))) {
      if (row.max_ms !== undefined) continue;
      const redacted = redactor.text(expand(row, 1).text);
      assert.equal(find(redacted), null, row.id);
      assert.equal(find(JSON.stringify({ preview: redacted })), null, row.id);
      for (let at = 1; at < Math.min(redacted.length, 2_000); at += 7)
        assert.equal(find(redacted.slice(0, at)) ?? find(redacted.slice(at)), null, `${row.id}, cut at ${at}`);
    }
  }
});

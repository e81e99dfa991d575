import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createRedactor } from "../../src/redaction/index.ts";
import { githubToken, letters, privateKey } from "./support.ts";

const redactor = createRedactor({ salt: "data" });
const MARKER = /^\[redacted:[a-z0-9-]+:[0-9a-f]{6}\]$/;

function at(value: unknown, path: string): unknown {
  return path
    .split(".")
    .reduce<unknown>(
      (each, key) => (typeof each === "object" && each !== null ? Reflect.get(each, key) : undefined),
      value,
    );
}

describe("structured data", () => {
  const secret = letters(20);
  const hidden: [why: string, data: unknown, path: string][] = [
    ["a password at any depth", { a: [{ b: { dbPassword: secret } }] }, "a.0.b.dbPassword"],
    ["a weak password", { password: "letmein" }, "password"],
    ["a number under a password", { password: 12345678 }, "password"],
    ["camel case, dashes, capitals", { "X-Api-Key": secret }, "X-Api-Key"],
    ["name and value", { env: [{ value: secret, name: "API_SECRET" }] }, "env.0.value"],
    ["an argument after its option", { argv: ["tool", "--token", secret] }, "argv.2"],
    ["a header after its name", { rawHeaders: ["Authorization", secret] }, "rawHeaders.1"],
    ["lists under a name of many", { passwords: ["letmein"] }, "passwords.0"],
    ["children of secrets", { secrets: { first: secret } }, "secrets.first"],
  ];
  for (const [why, data, path] of hidden) {
    test(`hides ${why}`, () => {
      assert.match(String(at(redactor.data(data), path)), MARKER);
    });
  }

  test("hides in strings what text hides", () => {
    const token = githubToken();
    const data = redactor.data({
      text: `a ${token} b`,
      list: [privateKey()],
      header: { authorization: `Bearer ${letters(30)}` },
    });
    assert.match(data.text, /^a \[redacted:github-token:[0-9a-f]{6}\] b$/);
    assert.match(data.list[0] ?? "", /BEGIN PRIVATE KEY-----\n\[redacted:private-key:[0-9a-f]{6}\]\n-----END/);
    assert.match(data.header.authorization, /^Bearer \[redacted:/);
  });

  test("leaves the rest as it is", () => {
    const data = {
      type: "assistant",
      session_id: "0f8fad5b-d9cb-469f-a165-70867728950e",
      usage: { input_tokens: 12, max_tokens: 8192, tokenCount: 4 },
      schema: { properties: { password: { type: "string" } }, required: ["password", "token"] },
      auth: "none",
      secretName: "app-tls",
      password: "",
      token: null,
      cached: true,
      nothing: undefined,
      key: "value",
      apiKey: "$API_KEY",
    };
    assert.deepEqual(redactor.data(data), data);
  });

  test("is a copy, and the original stays", () => {
    const data = { list: [{ password: "letmein" }] };
    const copy = redactor.data(data);
    assert.equal(data.list[0]?.password, "letmein");
    assert.notEqual(copy.list, data.list);
  });

  test("bears cycles, depth, width and names of the prototype", () => {
    const cycle: Record<string, unknown> = { name: "a" };
    cycle.self = cycle;
    assert.deepEqual(redactor.data(cycle), { name: "a", self: "[circular]" });
    const shared = { a: 1 };
    assert.deepEqual(redactor.data([shared, shared]), [{ a: 1 }, { a: 1 }]);
    let deep: unknown = githubToken();
    for (let level = 0; level < 20_000; level++) deep = [deep];
    assert.ok(!JSON.stringify(redactor.data(deep)).includes("ghp_"));
    assert.equal(redactor.data(Array.from({ length: 50_000 }, (_, i) => i)).length, 50_000);
    const hostile: unknown = JSON.parse(`{"__proto__":{"password":"${letters(12)}","polluted":true},"constructor":1}`);
    const copy = redactor.data(hostile);
    assert.equal(Reflect.get({}, "polluted"), undefined);
    assert.ok(Object.hasOwn(copy as object, "__proto__"));
    assert.equal(Object.getPrototypeOf(copy), Object.prototype);
    assert.match(JSON.stringify(copy), /"password":"\[redacted:/);
  });

  test("takes errors, dates and addresses as what they say", () => {
    const token = githubToken();
    const error = new Error(`failed with ${token}`, { cause: new Error(token) });
    const shown = JSON.stringify(
      redactor.data({ error, at: new Date(0), url: new URL(`https://me:${letters(12)}@h.example/`) }),
    );
    assert.ok(!shown.includes(token));
    assert.match(shown, /failed with \[redacted:github-token/);
    assert.match(shown, /1970-01-01T00:00:00.000Z/);
    assert.match(shown, /https:\/\/me:\[redacted:url-password:[0-9a-f]{6}\]@h\.example/);
  });

  test("redacts a key that is itself a secret", () => {
    const token = githubToken();
    assert.ok(!JSON.stringify(redactor.data({ [token]: 1 })).includes(token));
  });

  test("equal secrets have equal markers in text and data, other salts have others", () => {
    const token = githubToken();
    const [first, second] = [redactor.text(token), redactor.data({ a: token }).a];
    assert.equal(first, second);
    assert.equal(redactor.text(Buffer.from(token).toString("base64")), first);
    assert.notEqual(createRedactor({ salt: "other" }).text(token), first);
  });
});

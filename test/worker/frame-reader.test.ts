/** The reader alone: bounds to the byte, and the same messages for every way of cutting the stream. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { describe, test } from "node:test";
import fc from "fast-check";
import { FrameReader, MAX_LINE_BYTES } from "../../src/worker/framing/frame-reader.ts";

interface Read {
  messages: unknown[];
  errors: string[];
  lines: string[];
  noise: number;
  peak: number;
}

function read(bytes: Buffer, sizes: readonly number[], maxLineBytes?: number): Read {
  const got: Read = { messages: [], errors: [], lines: [], noise: 0, peak: 0 };
  const reader = new FrameReader(
    {
      message: (message) => got.messages.push(message),
      error: (error) => {
        got.errors.push(error.code);
        got.lines.push(error.line.toString("latin1"));
      },
    },
    maxLineBytes === undefined ? {} : { maxLineBytes },
  );
  for (let at = 0, turn = 0; at < bytes.length; turn++) {
    const size = sizes[turn % sizes.length] ?? 1;
    reader.push(bytes.subarray(at, at + size));
    at += size;
  }
  reader.end();
  return { ...got, noise: reader.noise, peak: reader.peakHeldBytes };
}

const SIZES = [1, 7, 4096, 65536];
const object = (padding: number): string => `{"type":"a","p":"${"p".repeat(padding)}"}`;
/** An object of exactly `bytes` bytes. */
const sized = (bytes: number): string => object(bytes - object(0).length);

describe("the bound of a line", () => {
  const LIMIT = 1000;
  const CASES: [string, string, Partial<Read>][] = [
    ["a line of exactly the bound", `${sized(LIMIT)}\n`, { errors: [] }],
    ["a byte more", `${sized(LIMIT + 1)}\n`, { errors: ["too-long"], messages: [] }],
    ["exactly the bound and no line feed", sized(LIMIT), { errors: [] }],
    ["a byte order mark does not count", `\ufeff${sized(LIMIT)}\n`, { errors: [] }],
    ["a byte more after a mark", `\ufeff${sized(LIMIT + 1)}\n`, { errors: ["too-long"] }],
    ["noise counts too", `${"n".repeat(LIMIT + 1)}\n${sized(20)}\n`, { errors: ["too-long"], messages: [], noise: 0 }],
    ["what comes after is not read", `${sized(20)}\n${sized(LIMIT + 1)}\n${sized(20)}\n`, { errors: ["too-long"] }],
  ];
  for (const [what, text, want] of CASES) {
    test(`${what}, for every read size`, () => {
      for (const size of [...SIZES, 999, 1000, 1001]) {
        const got = read(Buffer.from(text), [size], LIMIT);
        for (const [key, value] of Object.entries(want))
          assert.deepEqual(got[key as keyof Read], value, `${key} at ${size}`);
      }
    });
  }

  test("a line at the real bound holds less than 24 MiB and one read", () => {
    const got = read(Buffer.from(`${sized(MAX_LINE_BYTES)}\n`), [65536]);
    assert.deepEqual([got.errors, got.messages.length], [[], 1]);
    assert.ok(got.peak <= 1.5 * MAX_LINE_BYTES + 3, `held ${got.peak}`);
  });
});

test("only the bytes of a byte order mark are one, and only at the start", () => {
  const good = '{"type":"a"}';
  const cases: [string | Buffer, number, number, string[]][] = [
    [`\ufeff${good}\n\ufeff${good}\n`, 1, 1, []],
    [`\u00ef\u00bb\u00bf${good}\n`, 0, 1, []],
    [Buffer.from(`\u00ef\u00bb\u00bf{"\u00ff"\n${good}\n`, "latin1"), 1, 0, ["bad-utf8"]],
    ["\ufeff", 0, 0, []],
    [`\ufeff\n\ufeff${good}\n`, 0, 1, []],
  ];
  for (const [text, messages, noise, errors] of cases) {
    for (const size of [1, 2, 4096]) {
      const got = read(Buffer.from(text as string), [size]);
      assert.deepEqual([got.messages.length, got.noise, got.errors], [messages, noise, errors], String(text));
    }
  }
});

test("for every way of cutting a stream, messages, errors and noise are the same", () => {
  const piece = fc.oneof(
    fc.json().map((value) => `{"type":"j","v":${value}}`),
    fc.string({ unit: "binary" }).map((text) => JSON.stringify({ type: "s", text })),
    fc.constantFrom(
      "",
      " ",
      "\t\r",
      "[1]",
      "noise",
      "{",
      '{"type":',
      '{"a":1}',
      '{"type":""}',
      '{"type":1}',
      "\ufeff",
      "\r",
    ),
  );
  const stream = fc.array(fc.tuple(piece, fc.constantFrom("\n", "\r\n", "\n\n")), { maxLength: 12 });
  const tail = fc.oneof(fc.constant(""), piece);
  const damage = fc.option(fc.tuple(fc.nat(), fc.integer({ min: 128, max: 255 })));
  const cuts = fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 1, maxLength: 8 });
  fc.assert(
    fc.property(stream, tail, damage, cuts, fc.boolean(), (lines, last, broken, sizes, mark) => {
      const text = (mark ? "\ufeff" : "") + lines.map(([line, end]) => line + end).join("") + last;
      const bytes = Buffer.from(text);
      if (broken !== null && bytes.length > 0) bytes[broken[0] % bytes.length] = broken[1];
      const whole = read(bytes, [Math.max(1, bytes.length)]);
      const cut = read(bytes, sizes);
      assert.deepEqual({ ...cut, peak: 0 }, { ...whole, peak: 0 });
      // A message is never lost or made up: each non-blank line is a message, an error or noise.
      const count = whole.messages.length + whole.errors.length + whole.noise;
      assert.equal(count, countLines(bytes));
    }),
    { numRuns: 500 },
  );
});

/** Non-blank lines of a stream, counted in the simplest possible way. */
function countLines(bytes: Buffer): number {
  const latin = bytes.toString("latin1").replace(/^\xef\xbb\xbf/, "");
  return latin.split("\n").filter((line) => line.replace(/\r$/, "").replace(/^[ \t]+/, "") !== "").length;
}

test("a kept line is a copy: the buffer it was read from may be used again", () => {
  const lines: Buffer[] = [];
  const reader = new FrameReader({ message: () => undefined, error: (error) => lines.push(error.line) });
  const chunk = Buffer.from('{"broken"\n');
  reader.push(chunk);
  chunk.fill(0);
  assert.equal(lines[0]?.toString(), '{"broken"');
});

test("a long text is equal to what was sent, at every read size", () => {
  const text = `${"x".repeat(65_438)}  ${"漢😀\u2028".repeat(30_000)}  `;
  const bytes = Buffer.from(`${JSON.stringify({ type: "t", text })}\n`);
  const hash = (value: string): string => createHash("sha256").update(value).digest("hex");
  for (const size of SIZES) {
    const [message] = read(bytes, [size]).messages as { text: string }[];
    assert.equal(hash(message?.text ?? ""), hash(text), `read size ${size}`);
  }
});

/** Bodies of the three formats: small, redacted, and nothing in them that a receiver would act on. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import type { Notice } from "../../src/notify/index.ts";
import { MAX_BODY_BYTES, payloadOf, type WebhookFormat } from "../../src/notify/payload.ts";
import { createRedactor } from "../../src/redaction/index.ts";

const FORMATS: readonly WebhookFormat[] = ["generic", "slack", "wecom"];
const redactor = createRedactor({ salt: "test" });
const secret = `ghp_${"Z9y8X7w6V5u4".repeat(3)}`;

function noticeWith(text: string): Notice {
  return {
    id: text,
    at: new Date(0),
    reason: "fault",
    taskId: text,
    state: text,
    title: text,
    text,
    next: Array.from({ length: 20 }, () => text),
    request: { requestId: text, kind: text, toolName: text },
    host: text,
  };
}

function textOf(body: string, format: WebhookFormat): string {
  const parsed = JSON.parse(body);
  return format === "generic" ? JSON.stringify(parsed) : format === "slack" ? parsed.text : parsed.text.content;
}

for (const format of FORMATS) {
  describe(`a ${format} body`, () => {
    test("is at most 4 KB of valid JSON, whatever the texts are", () => {
      const unit = fc.constantFrom("a", "\u0000", "\n", '"', "\\", "é", "漢", "🙂", "\ud800", "<", "&", "\u202e");
      fc.assert(
        fc.property(fc.array(unit, { maxLength: 12 }), fc.integer({ min: 0, max: 3_000 }), (units, times) => {
          const body = payloadOf(noticeWith(units.join("").repeat(times)), format, redactor);
          assert.ok(Buffer.byteLength(body) <= MAX_BODY_BYTES, `${Buffer.byteLength(body)} bytes`);
          JSON.parse(body);
        }),
        { numRuns: 60 },
      );
    });

    test("keeps title and task when the text is huge", () => {
      const notice = { ...noticeWith("short"), title: "The title", taskId: "t-1", text: "x".repeat(1_000_000) };
      const text = textOf(payloadOf(notice, format, redactor), format);
      assert.ok(text.includes("The title") && text.includes("t-1") && text.includes("xxx…"));
      assert.ok(text.length > 1_000);
    });

    test("holds no secret, also where it would be cut", () => {
      for (const before of ["", "x".repeat(4_080), "y".repeat(190), "z".repeat(95)]) {
        const body = payloadOf(noticeWith(`${before} ${secret}`), format, redactor);
        assert.ok(!body.includes(secret.slice(0, 8)), body);
      }
    });

    test("holds no secret that something hidden had split", () => {
      for (const hidden of ["\u200b", "\u001b[0m", "\u001b]0;x\u0007", "\u0007"]) {
        const split = `${secret.slice(0, 12)}${hidden}${secret.slice(12)}`;
        const body = payloadOf({ ...noticeWith("ok"), title: split, text: split }, format, redactor);
        assert.ok(!body.includes(secret.slice(8)), body);
      }
    });

    test("holds nothing hidden, and a title of one line", () => {
      const notice = { ...noticeWith("ok"), title: "one\ntwo\u001b[2J\u202e", text: "a\u200bb\u0007" };
      const body = payloadOf(notice, format, redactor);
      const text = textOf(body, format);
      assert.ok(text.includes("one two") && !text.includes("[2J") && text.includes("ab"));
    });
  });
}

test("Slack gets no mention and no link from a text", () => {
  const body = JSON.parse(
    payloadOf({ ...noticeWith("x"), title: "<!channel> <http://a|b> & more" }, "slack", redactor),
  );
  assert.ok(body.text.includes("&lt;!channel&gt; &lt;http://a|b&gt; &amp; more"));
});

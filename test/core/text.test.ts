/** What hides in a text is seen or gone, and never anything else of it. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { cut, visible, wholeAt, withoutHidden } from "../../src/core/text.ts";

const BAD =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u115f\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e0fff}]|\p{Cs}|\ufe00|(?<!\p{Extended_Pictographic})\ufe0f/u;

describe("text from outside", () => {
  test("shows or loses every hidden character, whatever came in", () => {
    const unit = fc.oneof(
      fc.constantFrom(
        "\u001b",
        "[",
        "]",
        "\u0007",
        "\u009b",
        "m",
        "\r",
        "\n",
        "\u202e",
        ";",
        "\ud800",
        "\u{e0041}",
        "\ufe0f",
        "⚠",
      ),
      fc.string(),
    );
    fc.assert(
      fc.property(fc.string({ unit }), (value) => {
        assert.doesNotMatch(visible(value), BAD);
        assert.doesNotMatch(withoutHidden(value), BAD);
      }),
    );
  });

  test("stays as it is when nothing hides in it", () => {
    for (const plain of ["", "plain\ttext\n", "äöü 漢字 🎉 ⚠\ufe0f", "‹quotes› – dashes …"]) {
      assert.equal(visible(plain), plain);
      assert.equal(withoutHidden(plain), plain);
    }
  });

  test("is never cut inside a character", () => {
    assert.equal(cut("ab🎉cd", 4), "ab…");
    assert.equal(cut("abc", 3), "abc");
    assert.equal(wholeAt("a🎉b", 2), 1);
    assert.equal(wholeAt("a🎉b", 3), 3);
  });
});

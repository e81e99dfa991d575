import assert from "node:assert/strict";
import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { isInside, overlapOf, realPathOfDeepest } from "../../src/platform/paths.ts";
import { reasonOf, tempFolder } from "./temp-folder.ts";

describe("paths", () => {
  const INSIDE: [string, string, boolean, boolean?][] = [
    ["/a/b", "/a", true],
    ["/a", "/a", true],
    ["/a", "/a/b", false],
    ["/ab", "/a", false],
    ["/a/..b", "/a", true],
    ["/a/...", "/a", true],
    ["/A/b", "/a", false, false],
    ["/A/b", "/a", true, true],
    ["/caf\u00e9/x", "/cafe\u0301", true, true],
    ["/x", "/", true],
  ];
  for (const [child, parent, expected, folds] of INSIDE) {
    test(`${child} is ${expected ? "" : "not "}inside ${parent}${folds === true ? " where case folds" : ""}`, () => {
      assert.equal(isInside(child, parent, folds ?? false), expected);
    });
  }

  test("the real path of what does not exist follows every existing part, and a dangling link by its target", (t) => {
    const folder = tempFolder(t);
    mkdirSync(join(folder, "real", "deep"), { recursive: true });
    symlinkSync(join(folder, "real"), join(folder, "link"));
    symlinkSync("real/gone/later", join(folder, "dangling"));
    symlinkSync("loop", join(folder, "loop"));
    const real = (name: string) => {
      const found = realPathOfDeepest(join(folder, name));
      return found.ok ? found.path.slice(folder.length + 1) : found.reason;
    };
    assert.equal(real("link/deep"), "real/deep");
    assert.equal(real("link/new/file"), "real/new/file");
    assert.equal(real("dangling/x"), "real/gone/later/x");
    assert.equal(real("loop/x"), "symlink");
    assert.equal(real("nothing"), "nothing");
  });

  test("overlap is found in both directions, through links and by identity", (t) => {
    const folder = tempFolder(t);
    mkdirSync(join(folder, "work", "sub"), { recursive: true });
    mkdirSync(join(folder, "other"));
    symlinkSync(join(folder, "work"), join(folder, "alias"));
    const overlap = (a: string, b: string) => {
      const found = overlapOf(join(folder, a), join(folder, b));
      return found.ok ? found.overlap : reasonOf(found);
    };
    assert.equal(overlap("work", "work"), "equal");
    assert.equal(overlap("alias", "work"), "equal");
    assert.equal(overlap("alias/new/state", "work"), "first-inside-second");
    assert.equal(overlap("work", "alias/sub"), "second-inside-first");
    assert.equal(overlap("other", "work"), "apart");
    assert.equal(overlap("work-2", "work"), "apart");
  });
});

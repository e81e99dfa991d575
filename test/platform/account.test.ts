import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { currentAccount, isPrivateGroupOf, isUnmapped } from "../../src/platform/account.ts";

describe("the account", () => {
  test("does not believe HOME", () => {
    const before = process.env["HOME"];
    process.env["HOME"] = "/elsewhere";
    const found = currentAccount();
    process.env["HOME"] = before;
    assert.ok(found.ok && found.account.home !== "/elsewhere" && found.account.uid === process.getuid?.());
  });

  const ADA = { uid: 1000, gid: 1000, name: "ada", home: "/home/ada" };
  const GROUPS: [string, string, boolean][] = [
    ["named like the account, without members", "root:x:0:\nada:x:1000:\n", true],
    ["that lists only the account", "ada:x:1000:ada\n", true],
    ["with another member", "ada:x:1000:bob\n", false],
    ["named otherwise", "staff:x:1000:\n", false],
    ["that two lines define", "ada:x:1000:\nteam:x:1000:bob\n", false],
    ["that no line defines", "root:x:0:\n", false],
    ["in an unreadable file", "", false],
  ];
  for (const [what, groups, expected] of GROUPS) {
    test(`has ${expected ? "a private" : "no private"} group in one ${what}`, () => {
      assert.equal(isPrivateGroupOf(ADA, 1000, groups), expected);
      assert.equal(isPrivateGroupOf(ADA, 100, groups), false);
    });
  }

  const MAPS: [string, number, string, boolean][] = [
    ["root on a plain machine", 0, "         0          0 4294967295\n", false],
    ["nobody on a plain machine", 65534, "         0          0 4294967295\n", false],
    ["the overflow uid where only our own uid is mapped", 65534, "      1000       1000          1\n", true],
    ["another uid there", 4711, "      1000       1000          1\n", false],
    ["the overflow uid where root is mapped", 65534, "         0       1000          1\n", false],
    ["anything without /proc", 65534, "", false],
  ];
  for (const [what, uid, map, expected] of MAPS) {
    test(`counts ${what} ${expected ? "" : "not "}as the system of an outer namespace`, () => {
      assert.equal(isUnmapped(uid, map, "65534\n"), expected);
    });
  }
});

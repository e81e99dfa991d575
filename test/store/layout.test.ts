import assert from "node:assert/strict";
import { chmodSync, existsSync, mkdirSync, readdirSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import type { Ownership } from "../../src/platform/account.ts";
import { systemOwnership } from "../../src/platform/account.ts";
import { openStateDir, refuseOverlap, stateDirPath } from "../../src/store/layout.ts";
import { isPlainSentence, layoutAt, mustBeOk, reasonOf, tempFolder } from "./temp-store.ts";

const VARIABLE = "PI_CLAUDE_SUPERVISOR_STATE_DIR";

describe("the state folder", () => {
  test("is below the home of the account database, whatever HOME says", () => {
    const account = { uid: 1, gid: 1, name: "ada", home: "/home/ada" };
    const found = stateDirPath({ env: { HOME: "/elsewhere" }, account: () => ({ ok: true, account }) });
    assert.equal(mustBeOk(found).path, "/home/ada/.local/share/pi-claude-supervisor");
    assert.equal(mustBeOk(stateDirPath({ env: { [VARIABLE]: "/srv/x/../state/" } })).path, "/srv/state/");
    assert.equal(reasonOf(stateDirPath({ env: { [VARIABLE]: "state" } })), "state-dir");
  });

  test("is made with its folders, all 0700, and opened again as it is", (t) => {
    const root = join(tempFolder(t), "share", "state");
    const layout = layoutAt(root);
    assert.deepEqual(readdirSync(root).sort(), ["locks", "tasks"]);
    for (const path of [root, layout.tasks, layout.locks]) assert.equal(statSync(path).mode & 0o777, 0o700);
    layoutAt(root);
    const control = mustBeOk(layout.folder("control"));
    assert.equal(control.path, join(root, "control"));
    assert.equal(statSync(control.path).mode & 0o777, 0o700);
  });

  test("is not made by somebody who only looks", (t) => {
    const root = join(tempFolder(t), "state");
    assert.equal(reasonOf(openStateDir({ env: { [VARIABLE]: root }, create: false })), "missing");
    assert.equal(existsSync(root), false);
  });

  const foreign: Ownership = { ...systemOwnership, ownerOf: (path, s) => (path.endsWith("state") ? 4711 : s.uid) };
  const BAD: [string, (root: string, folder: string) => Ownership | undefined, string][] = [
    [
      "belongs to somebody else",
      (root) => {
        mkdirSync(root, { mode: 0o700 });
        return foreign;
      },
      "wrong-owner",
    ],
    [
      "has mode 0755",
      (root) => {
        mkdirSync(root);
        chmodSync(root, 0o755);
        return undefined;
      },
      "wrong-mode",
    ],
    [
      "is a link",
      (root, folder) => {
        mkdirSync(join(folder, "real"), { mode: 0o700 });
        symlinkSync("real", root);
        return undefined;
      },
      "symlink",
    ],
    [
      "is a file",
      (root) => {
        writeFileSync(root, "");
        return undefined;
      },
      "not-a-directory",
    ],
    [
      "has a link for its tasks",
      (root, folder) => {
        mkdirSync(root, { mode: 0o700 });
        mkdirSync(join(folder, "real"), { mode: 0o700 });
        symlinkSync("../real", join(root, "tasks"));
        return undefined;
      },
      "symlink",
    ],
    [
      "has a file for its locks",
      (root) => {
        mkdirSync(root, { mode: 0o700 });
        writeFileSync(join(root, "locks"), "");
        return undefined;
      },
      "not-a-directory",
    ],
  ];
  for (const [name, plant, reason] of BAD) {
    test(`G8: that ${name} is refused with one clear sentence`, (t) => {
      const folder = tempFolder(t);
      const root = join(folder, "state");
      const ownership = plant(root, folder);
      const outcome = openStateDir({ env: { [VARIABLE]: root }, ...(ownership ? { ownership } : {}) });
      assert.equal(reasonOf(outcome), reason, JSON.stringify(outcome));
      assert.ok(!outcome.ok && isPlainSentence(outcome.message) && outcome.message.includes("state folder"));
    });
  }

  test("and the workspace may not contain each other, through links neither", (t) => {
    const folder = tempFolder(t);
    const layout = layoutAt(join(folder, "work", "sub", "state"));
    symlinkSync(join(folder, "work"), join(folder, "alias"));
    mkdirSync(join(folder, "other"));
    const reasons = ["work", "alias", "alias/sub", "work/sub/state", "work/sub/state/tasks", "other"].map((name) =>
      reasonOf(refuseOverlap(layout, join(folder, name))),
    );
    const refused = "state-dir-in-workspace";
    assert.deepEqual(reasons, [refused, refused, refused, refused, refused, "ok"]);
  });

  test("gives no path for anything but a task id", (t) => {
    const layout = layoutAt(join(tempFolder(t), "state"));
    for (const id of ["../../x", "", "t-", "index.json"]) assert.throws(() => layout.task(id), /Not a task id/);
  });
});

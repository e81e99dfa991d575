/** What is found again after a restart, and what is set aside. */
import assert from "node:assert/strict";
import {
  chmodSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "node:test";
import { decisionSessionStore, type KeptSession } from "../../src/decision/index.ts";
import { createIds } from "../../src/platform/ids.ts";

const HEADER = `${JSON.stringify({ type: "session", version: 3, id: "s-1", cwd: "/w" })}\n`;
const MESSAGE = `${JSON.stringify({ type: "message", id: "m-1", message: { role: "user", content: "kind: tool" } })}\n`;

function scene(t: { after(fn: () => void): void }) {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "pcs-decisions-")));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const store = decisionSessionStore(folder);
  const taskId = createIds().taskId();
  const own = join(folder, taskId);
  const find = (): KeptSession => {
    const found = store.find(taskId);
    assert.ok(found.ok, JSON.stringify(found));
    return found.kept;
  };
  const session = (name = "a.jsonl", content = HEADER + MESSAGE): string => {
    find();
    writeFileSync(join(own, name), content, { mode: 0o644 });
    return join(own, name);
  };
  return { folder, store, taskId, own, find, session };
}

describe("a task's decision session", () => {
  test("is none at first, in a folder of its own that only we can open", (t) => {
    const { find, own } = scene(t);
    assert.deepEqual(find(), { folder: own, notes: [] });
    assert.equal(statSync(own).mode & 0o777, 0o700);
  });

  test("is found again by another store on the same folder", (t) => {
    const { folder, store, taskId, own, session } = scene(t);
    const file = session();
    assert.deepEqual(store.keep(taskId, file), { ok: true, durability: "full" });
    store.protect(file);
    const again = decisionSessionStore(folder).find(taskId);
    assert.deepEqual(again, { ok: true, kept: { folder: own, file, notes: [] } });
    assert.equal(statSync(join(own, "session.json")).mode & 0o777, 0o600);
    assert.equal(statSync(file).mode & 0o777, 0o600);
    assert.deepEqual(decisionSessionStore(folder).tasks(), [taskId]);
  });

  test("that Pi has not written yet is no damage", (t) => {
    const { store, taskId, own, find } = scene(t);
    find();
    store.keep(taskId, join(own, "later.jsonl"));
    store.protect(join(own, "later.jsonl"));
    assert.deepEqual(find(), { folder: own, notes: [] });
  });

  test("is the newest one where the mapping is lost", (t) => {
    const { own, find, session } = scene(t);
    utimesSync(session("old.jsonl"), 1_000, 1_000);
    const file = session("new.jsonl");
    assert.deepEqual(find(), { folder: own, file, notes: [] });
  });

  test("is dropped with its task, and only with an id of ours", (t) => {
    const { store, taskId, own, session } = scene(t);
    session();
    for (const id of ["..", "../x", "", "t-1"]) {
      assert.equal(store.discard(id).ok, false);
      assert.equal(store.find(id).ok, false);
      assert.equal(store.keep(id, "a.jsonl").ok, false);
    }
    assert.deepEqual(store.discard(taskId), { ok: true });
    assert.throws(() => statSync(own), { code: "ENOENT" });
    assert.deepEqual(store.discard(taskId), { ok: true });
  });

  test("is refused in a folder that others can open", (t) => {
    const { store, taskId, own, find } = scene(t);
    find();
    chmodSync(own, 0o755);
    const found = store.find(taskId);
    assert.deepEqual([found.ok, !found.ok && found.reason], [false, "wrong-mode"]);
  });
});

describe("a damaged mapping is set aside and the session goes on:", () => {
  const mappings: readonly [string, (taskId: string) => string][] = [
    ["empty", () => ""],
    ["{}", () => "{}"],
    ["[]", () => "[]"],
    ["torn", () => '{"v":1,"taskId":'],
    ["another task's", () => JSON.stringify({ v: 1, taskId: createIds().taskId(), file: "a.jsonl" })],
    ["another version", (taskId) => JSON.stringify({ v: 2, taskId, file: "a.jsonl" })],
    ["with a path that leads out", (taskId) => JSON.stringify({ v: 1, taskId, file: "../../a.jsonl" })],
    ["with an absolute path", (taskId) => JSON.stringify({ v: 1, taskId, file: "/etc/passwd" })],
    ["too large", () => " ".repeat(20_000)],
  ];
  for (const [what, content] of mappings) {
    test(what, (t) => {
      const { taskId, own, find, session } = scene(t);
      const file = session();
      const damaged = content(taskId);
      writeFileSync(join(own, "session.json"), damaged, { mode: 0o600 });
      const kept = find();
      assert.equal(kept.file, file);
      assert.equal(kept.notes.length, 1);
      assert.equal(readFileSync(join(own, "session.json.damaged-1"), "utf8"), damaged);
      assert.deepEqual(find().notes, [], "it is told once");
    });
  }
});

describe("a damaged session is set aside and nothing goes on:", () => {
  const damages: readonly [string, (path: string, outside: string) => void][] = [
    ["empty", (path) => writeFileSync(path, "")],
    ["without a header", (path) => writeFileSync(path, MESSAGE)],
    ["torn at its end", (path) => writeFileSync(path, HEADER + MESSAGE.slice(0, -20))],
    ["torn inside", (path) => writeFileSync(path, `${HEADER}{"type":"mess\n${MESSAGE}`)],
    ["with a line that is no record", (path) => writeFileSync(path, `${HEADER}[]\n${MESSAGE}`)],
    [
      "a link",
      (path, outside) => {
        rmSync(path);
        symlinkSync(outside, path);
      },
    ],
    [
      "one file under two names",
      (path, outside) => {
        rmSync(path);
        linkSync(outside, path);
      },
    ],
    [
      "a folder",
      (path) => {
        rmSync(path);
        mkdirSync(path);
      },
    ],
    ["writable for others", (path) => chmodSync(path, 0o666)],
  ];
  for (const [what, damage] of damages) {
    test(what, (t) => {
      const { folder, store, taskId, own, find, session } = scene(t);
      const file = session();
      store.keep(taskId, file);
      const outside = join(folder, "outside.jsonl");
      writeFileSync(outside, HEADER + MESSAGE, { mode: 0o600 });
      damage(file, outside);
      const kept = find();
      assert.deepEqual([kept.file, kept.notes.length], [undefined, 1], JSON.stringify(kept));
      assert.ok(readdirSync(own).includes("a.jsonl.damaged-1"));
      assert.equal(readFileSync(outside, "utf8"), HEADER + MESSAGE);
      assert.deepEqual(find(), { folder: own, notes: [] });
    });
  }

  test("a second one gets a name of its own", (t) => {
    const { store, taskId, own, find, session } = scene(t);
    for (const n of [1, 2]) {
      store.keep(taskId, session("a.jsonl", "damaged"));
      find();
      assert.ok(readdirSync(own).includes(`a.jsonl.damaged-${n}`));
    }
  });
});

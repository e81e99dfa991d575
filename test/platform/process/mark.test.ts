import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { holdsId, locksOf, newMark, readMark, showsMark } from "../../../src/platform/process/mark.ts";

const NAME = "PI_CLAUDE_SUPERVISOR_TREE";

describe("a tree's mark", () => {
  test("is fresh each time and is read back whole", () => {
    const mark = newMark(undefined);
    assert.notEqual(mark.id, newMark(undefined).id);
    assert.equal(mark.marker, `${NAME}=${mark.id}`);
    assert.deepEqual(readMark(mark.marker), mark);
  });

  test("has a limit that no person sets and every shell can print", () => {
    for (let n = 0; n < 200; n += 1) {
      const { locks } = newMark(undefined);
      assert.ok(Number.isSafeInteger(locks) && locks >= 2 ** 52);
    }
  });

  test("of a supervisor inside a worker keeps the outer id recognisable", () => {
    const outer = newMark(undefined);
    const inner = newMark(outer.value);
    assert.notEqual(inner.id, outer.id);
    const environ = Buffer.from(`A=1\0${inner.marker}\0B=2\0`);
    assert.equal(holdsId(environ, inner.id), true);
    assert.equal(holdsId(environ, outer.id), true);
    assert.deepEqual(readMark(inner.marker), inner);
  });

  test("does not grow with an inherited value that is none of ours", () => {
    for (const junk of ["", "x", "a".repeat(32).toUpperCase(), "../..", ":".repeat(9)]) {
      const mark = newMark(junk);
      assert.equal(mark.value, mark.id);
    }
  });

  const id = "0123456789abcdef0123456789abcdef";
  for (const marker of [
    "",
    "=",
    "PATH=",
    `${NAME}=`,
    `${NAME}=${id.slice(1)}`,
    `${NAME}=${id}0`,
    `X${NAME}=${id}`,
    `${NAME}=${id}\n`,
    `PATH=${id}`,
  ]) {
    test(`from a record is refused when it is ${JSON.stringify(marker)}`, () => {
      assert.equal(readMark(marker), undefined);
    });
  }

  test("is found only in its own variable of an environment", () => {
    assert.equal(holdsId(Buffer.from(`${NAME}=${id}\0`), id), true);
    assert.equal(holdsId(Buffer.from(`A=${NAME}=${id}\0`), id), false);
    assert.equal(holdsId(Buffer.from(`NOTE=${id}\0`), id), false);
    assert.equal(holdsId(Buffer.from(`${NAME}=${id}0\0`), id), false);
    assert.equal(holdsId(Buffer.from(""), id), false);
  });

  test("is told from an id among the arguments where ps prints both", () => {
    const mark = readMark(`${NAME}=${id}`);
    assert.ok(mark);
    assert.equal(showsMark(`sleep 100 PATH=/bin ${NAME}=${id} HOME=/`, mark), true);
    assert.equal(showsMark(`sleep 100 ${NAME}=${"f".repeat(32)}:${id}`, mark), true);
    assert.equal(showsMark(`/bin/sh guardian.sh ${id} 42`, mark), false);
    assert.equal(showsMark(`sleep 100 ${NAME}=${id}0`, mark), false);
  });

  test("is read from the limits that Linux prints", () => {
    const limits = (value: string): Buffer =>
      Buffer.from(
        `Limit                     Soft Limit           Hard Limit           Units     \nMax file locks            ${value.padEnd(20)} ${value.padEnd(20)} locks     \n`,
      );
    assert.equal(locksOf(limits("unlimited")), undefined);
    fc.assert(
      fc.property(fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER }), (value) => {
        assert.equal(locksOf(limits(String(value))), value);
      }),
    );
  });
});

/** What an installation without development packages brings, by the lock file: the runtime packages and nothing else. */
import assert from "node:assert/strict";
import { resolve } from "node:path";
import { test } from "node:test";
import { type Lock, readLock, runtimePackages } from "../../scripts/package/runtime.ts";

/** Places that `npm ci --omit=dev`, and Pi's `npm install --omit=dev` in a clone, do not leave out. */
function kept(lock: Lock): string[] {
  return Object.entries(lock.packages).flatMap(([place, entry]) =>
    place === "" || entry["dev"] === true ? [] : [place],
  );
}

test("a checkout that is installed without development packages gets no Pi, no screen library and no native code", () => {
  const lock = readLock(resolve(import.meta.dirname, "../.."));
  const wanted = runtimePackages(lock).map(({ place }) => place);
  assert.ok(wanted.length > 10, "the test finds no runtime packages");
  assert.deepEqual(kept(lock).sort(), wanted.sort());
});

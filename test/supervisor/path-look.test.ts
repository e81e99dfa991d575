import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import fc from "fast-check";
import { PathLook } from "../../src/supervisor/path-look.ts";

function folder(t: TestContext): string {
  const path = realpathSync(mkdtempSync(join(tmpdir(), "pcs-look-")));
  t.after(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

describe("what a call sees of a path", () => {
  test("is what the system says, whatever links to whatever, in whatever order it is asked", (t) => {
    const root = folder(t);
    const names = ["a", "b", "c"];
    const paths = names.flatMap((one) => [one, ...names.map((two) => `${one}/${two}`)]).map((name) => join(root, name));
    let run = 0;
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.constantFrom(...names), fc.constantFrom("file", "folder", ...names)), { maxLength: 3 }),
        fc.shuffledSubarray(paths, { minLength: paths.length }),
        (made, asked) => {
          run += 1;
          const base = join(root, `run-${run}`);
          const at = (path: string): string => path.replace(root, base);
          mkdirSync(base);
          for (const [name, what] of new Map(made)) {
            const path = join(base, name);
            if (what === "file") writeFileSync(path, "");
            else if (what === "folder") mkdirSync(join(path, "a"), { recursive: true });
            else symlinkSync(what, path);
          }
          const look = new PathLook();
          for (const path of asked) {
            let real: string | undefined;
            try {
              real = realpathSync.native(at(path));
            } catch (error) {
              const code = error instanceof Error && "code" in error ? error.code : undefined;
              if (code === "ELOOP") assert.equal(look.real(at(path)), undefined, path);
              continue;
            }
            assert.equal(look.real(at(path)), real, path);
          }
          rmSync(base, { recursive: true });
        },
      ),
      { numRuns: 150 },
    );
  });

  test("counts what is not there by its deepest real parent, and a dangling link by its target", (t) => {
    const root = folder(t);
    mkdirSync(join(root, "real"));
    symlinkSync("real", join(root, "link"));
    symlinkSync("real/gone", join(root, "dangling"));
    writeFileSync(join(root, "file"), "");
    for (const [asked, real] of [
      ["link/x/y", "real/x/y"],
      ["dangling", "real/gone"],
      ["dangling/deeper", "real/gone/deeper"],
      ["file/x", "file/x"],
      ["nothing/at/all", "nothing/at/all"],
    ] as const) {
      assert.equal(new PathLook().real(join(root, asked)), join(root, real), asked);
    }
  });

  test("stays one thing during a call and is seen anew by the next one: a folder may be exchanged for a link", (t) => {
    const root = folder(t);
    mkdirSync(join(root, "inside"));
    mkdirSync(join(root, "outside"));
    const look = new PathLook();
    const path = join(root, "inside/a.txt");
    assert.equal(look.real(path), path);
    rmSync(join(root, "inside"), { recursive: true });
    symlinkSync("outside", join(root, "inside"));
    look.forget();
    assert.equal(look.real(path), join(root, "outside/a.txt"));
    assert.equal(look.target(path), "absent");
    unlinkSync(join(root, "inside"));
    look.forget();
    assert.equal(look.real(path), path);
  });
});

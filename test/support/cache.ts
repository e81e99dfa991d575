/** Where the tests keep what is costly to make and safe to share: between test files, and between runs. */
import { accessSync, constants, lstatSync, mkdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** `node_modules/.cache` of this checkout, or a folder of this account under the temporary folder when that is read-only. */
export function cacheFolder(): string {
  const modules = join(dirname(dirname(dirname(fileURLToPath(import.meta.url)))), "node_modules");
  for (const folder of [
    join(modules, ".cache", "pi-claude-supervisor"),
    join(tmpdir(), `pi-claude-supervisor-test-cache-${process.getuid?.() ?? 0}`),
  ]) {
    try {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      accessSync(folder, constants.W_OK);
      // A program is run from here: a folder that another account made under the shared temporary folder won't do.
      const { uid, mode } = lstatSync(folder);
      if (uid === (process.getuid?.() ?? uid) && (mode & 0o022) === 0) return folder;
    } catch {
      // read-only checkout: the next place
    }
  }
  throw new Error("no writable cache folder");
}

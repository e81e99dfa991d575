/** Pi pays at every start for what `index.ts` reaches by itself: it stays small. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { dirname, relative, resolve } from "node:path";
import { test } from "node:test";

const IMPORT = /^(?:import|export)\s+(?!type\b)[^;'"]*?from\s+["']([^"']+)["']|^import\s+["']([^"']+)["']/gm;

test("loading the extension evaluates a handful of small files, and no dependency", () => {
  const files = new Set<string>();
  const packages = new Set<string>();
  const visit = (file: string) => {
    if (files.has(file)) return;
    files.add(file);
    for (const match of readFileSync(file, "utf8").matchAll(IMPORT)) {
      const specifier = match[1] ?? match[2] ?? "";
      if (specifier.startsWith(".")) visit(resolve(dirname(file), specifier));
      else packages.add(specifier);
    }
  };
  visit(resolve("src/index.ts"));
  const names = [...files].map((file) => relative(resolve("src"), file)).sort();
  assert.deepEqual(names, [
    "core/result.ts",
    "extension/agent-filter.ts",
    "extension/command.ts",
    "extension/lazy.ts",
    "extension/pi-port.ts",
    "extension/session-binding.ts",
    "extension/shortcut.ts",
    "extension/tools.ts",
    "extension/transcript.ts",
    "index.ts",
  ]);
  assert.deepEqual([...packages], []);
  const lines = [...files].reduce((sum, file) => sum + readFileSync(file, "utf8").split("\n").length, 0);
  assert.ok(lines < 800, `${lines} lines`);
});

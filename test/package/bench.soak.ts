/** The bench program runs to its end, finds finite numbers, and writes the page; how good they are is not judged here. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import type { Results } from "../../scripts/bench/page.ts";

const BENCH = resolve(import.meta.dirname, "../../scripts/bench.ts");
/** Those that need no network. */
const NAMES = ["policy", "log", "recovery", "stop", "idle"];

test("the bench program measures what it is asked for and writes its page", { timeout: 600_000 }, async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "pcs-bench-soak-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const [json, page] = [join(folder, "bench.json"), join(folder, "bench.md")];
  const args = ["--import", import.meta.resolve("tsx"), BENCH, ...NAMES, "--quick", "--json", json, "--write", page];
  await promisify(execFile)(process.execPath, args, { maxBuffer: 16 * 1024 * 1024 });
  const results = JSON.parse(await readFile(json, "utf8")) as Results;
  assert.deepEqual(results.failed, []);
  assert.equal(results.sections.length, NAMES.length);
  for (const { title, rows } of results.sections) {
    assert.ok(rows.length > 0, title);
    for (const row of rows) assert.ok(Number.isFinite(row.value) && row.value >= 0, `${title}: ${row.what}`);
  }
  const text = await readFile(page, "utf8");
  for (const { title } of results.sections) assert.ok(text.includes(`\n## ${title}\n`), title);
});

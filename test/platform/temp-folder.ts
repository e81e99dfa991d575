import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";

/** A fresh folder (real path, 0700) that is gone after the test. */
export function tempFolder(t: TestContext): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "pcs-platform-")));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

export function reasonOf(outcome: { ok: true } | { ok: false; reason: string }): string {
  return outcome.ok ? "ok" : outcome.reason;
}

/** A person must see what, why and what to do: at least two sentences on one line, no code. */
export function isPlainSentence(message: string): boolean {
  return /^[^\n]{20,600}$/.test(message) && !/undefined|\[object|Error:/.test(message);
}

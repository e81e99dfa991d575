/** A real headless Chromium: the machine's own (Debian's package `chromium`), driven by playwright-core. */
import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import type { TestContext } from "node:test";
import { type Browser, chromium } from "playwright-core";

const NAMES = ["chromium", "chromium-browser", "google-chrome-stable", "google-chrome"];

/** Path of a browser, or undefined. */
export function findBrowser(env: NodeJS.ProcessEnv = process.env): string | undefined {
  const folders = [...(env["PATH"] ?? "").split(delimiter), "/usr/bin"].filter((folder) => folder !== "");
  return folders.flatMap((folder) => NAMES.map((name) => join(folder, name))).find(isExecutable);
}

/** Why browser tests are skipped, or false. In CI a missing browser is a failure and no reason to skip. */
export function skipBrowser(env: NodeJS.ProcessEnv = process.env): string | false {
  if (findBrowser(env) !== undefined || (env["CI"] ?? "") !== "") return false;
  return "there is no Chromium on PATH (Debian: apt-get install chromium)";
}

/** Closed by its handle at the test's end. */
export async function startBrowser(t: Pick<TestContext, "after">): Promise<Browser> {
  const executablePath = findBrowser();
  if (executablePath === undefined) throw new Error("CI is set and there is no Chromium on PATH.");
  // Chromium refuses its own sandbox to root; the pages are ours, and nothing of the network is reached.
  const args = process.getuid?.() === 0 ? ["--no-sandbox"] : [];
  const browser = await chromium.launch({ executablePath, args, timeout: 60_000 });
  t.after(() => browser.close());
  return browser;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

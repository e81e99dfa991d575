/** No `--verify` was given and somebody is there: propose the project's own test command, and ask. */
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import type { PiPort } from "../pi-port.ts";

const OTHER = "Another command…";
const NONE = "Don't start";

/** The chosen command, or undefined when nobody chose one. */
export async function askForVerification(
  port: PiPort,
  folder: string | undefined,
  from: string,
): Promise<string[] | undefined> {
  if (!port.interactive) return undefined;
  const signal = new AbortController().signal;
  const found = proposals(resolve(from, folder ?? "."));
  const title = "Which command proves that the work is done?";
  if (found.length > 0) {
    const choice = await port.select(title, [...found, OTHER, NONE], signal);
    if (choice === undefined || choice === NONE) return undefined;
    if (choice !== OTHER) return [choice];
  }
  const typed = (await port.input(title, "npm test", signal))?.trim();
  return typed === undefined || typed === "" ? undefined : [typed];
}

/** Test commands that the folder's own files speak of. `read` gives a file's text or undefined. */
export function proposals(folder: string, read: (path: string) => string | undefined = readSmall): string[] {
  const found: string[] = [];
  const has = (name: string) => read(join(folder, name)) !== undefined;
  const manifest = read(join(folder, "package.json"));
  if (manifest !== undefined && hasTestScript(manifest))
    found.push(has("pnpm-lock.yaml") ? "pnpm test" : has("yarn.lock") ? "yarn test" : "npm test");
  if (has("Cargo.toml")) found.push("cargo test");
  if (has("go.mod")) found.push("go test ./...");
  if (has("pytest.ini") || read(join(folder, "pyproject.toml"))?.includes("[tool.pytest") === true)
    found.push("pytest");
  if (/^test:/m.test(read(join(folder, "Makefile")) ?? "")) found.push("make test");
  return found;
}

function hasTestScript(manifest: string): boolean {
  try {
    const parsed: unknown = JSON.parse(manifest);
    const test = (parsed as { scripts?: { test?: unknown } } | null)?.scripts?.test;
    return typeof test === "string" && !test.includes("no test specified");
  } catch {
    return false; // a broken manifest proposes nothing
  }
}

function readSmall(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8").slice(0, 1_000_000);
  } catch {
    return undefined; // absent or unreadable: nothing to propose from it
  }
}

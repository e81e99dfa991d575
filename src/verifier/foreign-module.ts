/**
 * "Cannot find module X": is X a dependency that nobody installed (a person's business), or a file that the worker
 * should have written or an import that the worker put in (the worker's business, a plain failure)?
 */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { ForeignModule } from "./classify.ts";

const MAX_CHANGED_READ = 200;
const MAX_FILE_BYTES = 1024 * 1024;

/**
 * Reads the project's manifests and the changed files once, and gives a synchronous answer by name. `changed`: paths
 * relative to `root` that differ from the task's start.
 */
export async function foreignModules(
  root: string,
  cwd: string,
  changed: readonly string[],
  commands: readonly string[],
): Promise<ForeignModule> {
  const manifests = await Promise.all(
    [
      "package.json",
      "pyproject.toml",
      "requirements.txt",
      "requirements-dev.txt",
      "dev-requirements.txt",
      "setup.cfg",
      "Pipfile",
    ].map((name) => readFile(join(cwd, name), "utf8").catch(() => "")),
  );
  const texts: string[] = [];
  for (const path of changed.slice(0, MAX_CHANGED_READ)) {
    const text = await readFile(join(root, path), "utf8").catch(() => "");
    if (text.length <= MAX_FILE_BYTES) texts.push(text);
  }
  const own = new Set((await readdir(cwd).catch(() => [])).map((name) => name.replace(/\.[a-z]+$/i, "")));
  const packageName = /"name"\s*:\s*"([^"]+)"/.exec(manifests[0] ?? "")?.[1];
  return (name, byLoader) => {
    const top = name.startsWith("@") ? name.split("/").slice(0, 2).join("/") : (name.split(/[/.]/)[0] ?? name);
    if (top === packageName || own.has(top)) return false;
    const python = !commands.some((text) => /\b(?:node|npm|npx|pnpm|yarn|bun|tsx|jest|vitest|mocha|deno)\b/.test(text));
    const declared = manifests.some((text) => mentions(text, top));
    const asTool = commands.some((text) => new RegExp(`-m\\s+${escapeRegExp(top)}\\b`).test(text));
    if (declared || asTool) return true;
    if (texts.some((text) => mentions(text, top))) return false;
    // An undeclared Python name is as often the module that the task is about; an undeclared Node package never is.
    return byLoader && !python;
  };
}

/** The name as a whole word, in Python's spelling too (`my-lib` is imported as `my_lib`). */
function mentions(text: string, name: string): boolean {
  return new RegExp(`(?<![\\w@/-])${escapeRegExp(name).replace(/[-_]/g, "[-_]")}(?![\\w-])`, "i").test(text);
}

function escapeRegExp(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}

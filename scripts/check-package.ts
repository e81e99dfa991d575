/**
 * `npm run check:package [-- ARCHIVE] [-- --publish]`: judges a packed archive; without one, that of dist/. Exit code 1 and
 * the broken rules. What only publishing needs (repository, bugs, homepage) is a note, and with `--publish` a broken rule.
 */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { readArchive } from "./package/archive.ts";
import { checkPackage } from "./package/check.ts";
import { type Homed, homeProblem } from "./package/public-home.ts";

const dist = resolve(dirname(fileURLToPath(import.meta.url)), "..", "dist");
const path = process.argv.slice(2).find((word) => !word.startsWith("-")) ?? newestIn(dist);
if (path === undefined) {
  console.error("There is no archive in dist: npm run build");
  process.exit(2);
}
const archive = readFileSync(path);
const files = readArchive(archive);
const problems = checkPackage(files, archive.length);
const manifest = files.find((file) => file.path === "package.json")?.content.toString("utf8") ?? "{}";
const home = homeProblem(JSON.parse(manifest) as Homed, process.env["GITHUB_REPOSITORY"]);
if (home !== undefined && process.argv.includes("--publish")) problems.push(home);
else if (home !== undefined) console.log(`Before it is published: ${home}`);
for (const problem of problems) console.error(problem);
console.log(`${path}: ${files.length} files, ${archive.length} bytes, ${problems.length} problems`);
process.exitCode = problems.length > 0 ? 1 : 0;

function newestIn(folder: string): string | undefined {
  try {
    const name = readdirSync(folder).find((one) => one.endsWith(".tgz"));
    return name === undefined ? undefined : join(folder, name);
  } catch {
    return undefined; // no dist folder
  }
}

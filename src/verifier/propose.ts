/**
 * The project's own test command, for `start` without `--verify`: it is shown and asked about, never taken silently.
 * Reads a few manifests; runs nothing.
 */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

export interface Proposal {
  /** For `--verify`. */
  command: string;
  /** Why, for the question: `package.json has a test script`. */
  because: string;
}

/** The script that `npm init` writes into every package.json. */
const NPM_PLACEHOLDER = /no test specified/;

/** Most specific first; empty when nothing is known. */
export async function proposeVerification(cwd: string): Promise<Proposal[]> {
  const names = new Set(await readdir(cwd).catch(() => []));
  const text = (name: string) =>
    names.has(name) ? readFile(join(cwd, name), "utf8").catch(() => "") : Promise.resolve("");
  const proposals: Proposal[] = [];
  const propose = (command: string, because: string) => proposals.push({ command, because });

  const test = testScript(await text("package.json"));
  if (test !== undefined) propose(packageRunner(names), `package.json has a test script (${test.slice(0, 80)})`);
  else if (names.has("deno.json") || names.has("deno.jsonc")) propose("deno test", "there is a Deno configuration");
  if (names.has("Cargo.toml")) propose("cargo test", "there is a Cargo.toml");
  if (names.has("go.mod")) propose("go test ./...", "there is a go.mod");
  const python = await pythonTests(names, text);
  if (python !== undefined) propose("python3 -m pytest -q", python);
  if (names.has("mix.exs")) propose("mix test", "there is a mix.exs");
  if (names.has("Gemfile") && names.has("spec")) propose("bundle exec rspec", "there are a Gemfile and a spec folder");
  if (names.has("pom.xml")) propose(names.has("mvnw") ? "./mvnw -q test" : "mvn -q test", "there is a pom.xml");
  if (names.has("build.gradle") || names.has("build.gradle.kts")) {
    propose(names.has("gradlew") ? "./gradlew test" : "gradle test", "there is a Gradle build");
  }
  if ([...names].some((name) => /\.(?:sln|csproj)$/.test(name))) propose("dotnet test", "there is a .NET project");
  const makefile = ["GNUmakefile", "makefile", "Makefile"].find((name) => names.has(name));
  if (makefile !== undefined) {
    const target = /^(test|check)\s*:(?!=)/m.exec(await text(makefile))?.[1];
    if (target !== undefined) propose(`make ${target}`, `the ${makefile} has a target "${target}"`);
  }
  const justfile = ["justfile", "Justfile"].find((name) => names.has(name));
  if (justfile !== undefined && /^@?test(?:\s[^:=]*)?:(?!=)/m.test(await text(justfile))) {
    propose("just test", `the ${justfile} has a recipe "test"`);
  }
  return proposals;
}

function testScript(manifest: string): string | undefined {
  try {
    const parsed: unknown = JSON.parse(manifest || "null");
    if (typeof parsed !== "object" || parsed === null || !("scripts" in parsed)) return undefined;
    const { scripts } = parsed;
    if (typeof scripts !== "object" || scripts === null || !("test" in scripts)) return undefined;
    const { test } = scripts;
    return typeof test === "string" && test.trim() !== "" && !NPM_PLACEHOLDER.test(test) ? test : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

function packageRunner(names: ReadonlySet<string>): string {
  if (names.has("pnpm-lock.yaml")) return "pnpm test";
  if (names.has("yarn.lock")) return "yarn test";
  if (names.has("bun.lock") || names.has("bun.lockb")) return "bun run test";
  return "npm test";
}

async function pythonTests(
  names: ReadonlySet<string>,
  text: (name: string) => Promise<string>,
): Promise<string | undefined> {
  for (const name of ["pytest.ini", ".pytest.ini", "conftest.py"]) if (names.has(name)) return `there is a ${name}`;
  for (const name of ["pyproject.toml", "setup.cfg", "tox.ini"]) {
    if (/\bpytest\b/.test(await text(name))) return `${name} mentions pytest`;
  }
  const isPython = ["pyproject.toml", "setup.py", "setup.cfg", "requirements.txt"].some((name) => names.has(name));
  return isPython && (names.has("tests") || names.has("test"))
    ? "there are a Python project and a tests folder"
    : undefined;
}

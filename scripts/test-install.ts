/**
 * `npm run test:install [-- --pi=0.73.1|1.6.0] [-- --way=npm|git|folder]`: the package as people get it. Builds the
 * archive, installs it into an empty HOME in each way that the README names, on both lines of Pi, and does the README's
 * first task there with the real Pi, the real Claude Code and a scripted model. `npm:` comes from a registry on
 * loopback; git and folder ask npm's own, cache first, because a lock file wants npm's own archives.
 */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, delimiter, dirname, join, relative } from "node:path";
import { promisify } from "node:util";
import { claudeBinary } from "../test/support/claude.ts";
import { cliOf, nodeFor, PACKAGE_ROOT, PI_LINES, type PiLine, skipReason } from "../test/support/pi-setup.ts";
import { createLab, type Lab } from "../test/support/workspace.ts";
import { buildRelease } from "./build.ts";
import { fetchNode } from "./install/fetch-package.ts";
import { firstTask } from "./install/newcomer.ts";
import { type Registry, startRegistry } from "./install/registry.ts";
import { stopUnbuilt } from "./install/stop-unbuilt.ts";

const run = promisify(execFile);
const WAYS = ["npm", "git", "folder"] as const;
type Way = (typeof WAYS)[number];

/** A host that does not exist; git is told where it leads. */
const GIT_HOST = "git.example.invalid";
const INSTALL_MS = 300_000;
const OLDEST_NODE = "20.17.0";

interface Ready {
  readme: string;
  archive: string;
  registry: Registry;
}

const words = process.argv.slice(2);
const lines = PI_LINES.filter((line) => !words.some((word) => word.startsWith("--pi=") && word !== `--pi=${line}`));
const ways = WAYS.filter((way) => !words.some((word) => word.startsWith("--way=") && word !== `--way=${way}`));
const work = await mkdtemp(join(tmpdir(), "pcs-install-"));
let failed = 0;
try {
  const manifest = await buildRelease(join(work, "dist"));
  const archive = join(work, "dist", manifest.archive);
  const registry = await startRegistry(await readFile(archive), PACKAGE_ROOT);
  try {
    const ready = { archive, registry, readme: await readFile(join(PACKAGE_ROOT, "README.md"), "utf8") };
    await leg("npm install, clean HOME", (lab) => plainInstall(lab, ready, process.execPath));
    await onOldestNode(ready);
    for (const line of lines) {
      const unable = await skipReason(line);
      for (const way of ways) {
        if (unable) console.log(`skip  pi install, ${way}, Pi ${line}: ${unable}`);
        else await leg(`pi install, ${way}, Pi ${line}`, (lab) => piInstall(lab, line, way, ready));
      }
    }
  } finally {
    await registry.close();
  }
} finally {
  await rm(work, { recursive: true, force: true });
}
console.log(failed === 0 ? "\nEvery way to install leads to a completed task." : `\n${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;

async function leg(name: string, work: (lab: Lab) => Promise<string>): Promise<void> {
  const began = performance.now();
  const lab = await createLab();
  try {
    const seen = await work(lab);
    await lab.cleanup();
    console.log(`ok    ${name}: ${seen} (${((performance.now() - began) / 1000).toFixed(1)} s)`);
  } catch (error) {
    failed += 1;
    console.log(`FAIL  ${name}: ${error instanceof Error ? error.message : String(error)}`);
    await lab.cleanup().catch((left: unknown) => console.log(`      ${String(left)}`));
  }
}

/** npm's configuration of a person: everything below the lab's HOME. */
async function configureNpm(lab: Lab, settings: Readonly<Record<string, string>>): Promise<void> {
  const all = {
    cache: join(lab.home, ".npm"),
    prefix: join(lab.home, ".npm-global"),
    audit: "false",
    fund: "false",
    "update-notifier": "false",
    "fetch-retries": "0",
    ...settings,
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}=${value}\n`);
  await writeFile(join(lab.home, ".npmrc"), lines.join(""));
}

/** npm's own registry as this machine is set up for it, its cache first. */
async function npmOfThisMachine(): Promise<Record<string, string>> {
  const get = async (name: string): Promise<string> => (await run("npm", ["config", "get", name])).stdout.trim();
  return { registry: await get("registry"), cache: await get("cache"), "prefer-offline": "true" };
}

/** The oldest Node that is supported. Without a registry it is left out, with the reason; in CI that is a failure. */
async function onOldestNode(ready: Ready): Promise<void> {
  const name = `npm install, Node ${OLDEST_NODE}`;
  let node: string;
  try {
    node = fetchNode(OLDEST_NODE);
  } catch (error) {
    const why = error instanceof Error ? error.message.split("\n")[0] : String(error);
    if (process.env["CI"]) failed += 1;
    console.log(`${process.env["CI"] ? "FAIL " : "skip "} ${name}: no Node ${OLDEST_NODE} from npm: ${why}`);
    return;
  }
  await leg(name, (lab) => plainInstall(lab, ready, node));
}

/** As a program that depends on it would: no development packages, no peers; then the command beside it, under `node`. */
async function plainInstall(lab: Lab, { archive, registry }: Ready, node: string): Promise<string> {
  const app = join(lab.root, "app");
  await mkdir(app);
  const env = { ...lab.env, PATH: [dirname(node), lab.env.PATH].join(delimiter) };
  await configureNpm(lab, { registry: registry.url });
  await run("npm", ["init", "-y"], { cwd: app, env });
  await run("npm", ["install", "--omit=dev", "--legacy-peer-deps", archive], { cwd: app, env, timeout: INSTALL_MS });
  const { stdout: tree } = await run("npm", ["ls", "--all", "--parseable"], { cwd: app, env });
  const packages = tree.trim().split("\n").length - 1;
  const peer = ["typebox", "@mariozechner", "@earendil-works"].find((one) =>
    existsSync(join(app, "node_modules", one)),
  );
  if (peer !== undefined) throw new Error(`${peer} was installed, which only Pi brings`);
  const bin = join(app, "node_modules", ".bin", "pi-claude-supervisor-control");
  const control = async (...argv: string[]): Promise<{ code: number; json: Record<string, unknown> }> => {
    const options = { cwd: lab.home, env: { ...env, PI_CLAUDE_SUPERVISOR_STATE_DIR: lab.stateDir } };
    const ended = await run(bin, [...argv, "--json"], options).then(
      ({ stdout }) => ({ code: 0, stdout }),
      (error: { code?: unknown; stdout?: unknown }) => ({ code: Number(error.code), stdout: String(error.stdout) }),
    );
    return { code: ended.code, json: JSON.parse(ended.stdout) as Record<string, unknown> };
  };
  const must = (what: string, said: object, isSo: boolean): void => {
    if (!isSo) throw new Error(`the control command's ${what} says ${JSON.stringify(said)}`);
  };
  const before = await control("--all", "status");
  must("status", before, before.code === 0 && before.json["inForce"] === false);
  const drill = await control("drill");
  must("drill", drill, drill.code === 0 && typeof drill.json["toVerifiedMs"] === "number");
  const stop = await control("--all", "stop", "--reason", "x");
  must("stop", stop, stop.code === 0 && stop.json["durable"] === "full");
  const resumed = await control("--all", "resume", "--epoch", String(stop.json["epoch"]), "--reason", "x");
  must("resume without a terminal", resumed, resumed.code === 2);
  const after = await control("--all", "status");
  must("status", after, after.code === 0 && after.json["inForce"] === true);
  const version = (await run(node, ["--version"])).stdout.trim();
  return `${packages} packages, Node ${version}; the control command answers, drills (${drill.json["toVerifiedMs"]} ms) and stops`;
}

async function piInstall(lab: Lab, line: PiLine, way: Way, ready: Ready): Promise<string> {
  const bin = join(lab.root, "bin");
  await mkdir(bin);
  await symlink(claudeBinary(), join(bin, "claude"));
  const node = await nodeFor(line);
  const path = [bin, dirname(node), lab.env.PATH].join(delimiter);
  const env = { ...lab.env, PATH: path };
  await configureNpm(lab, way === "npm" ? { registry: ready.registry.url } : await npmOfThisMachine());
  const source = await sourceOf(lab, way, ready, env);
  await run(node, [cliOf(line), "install", source], { cwd: lab.home, env, timeout: INSTALL_MS });
  const brought = await hostPackages(lab.root);
  if (brought.length > 0) throw new Error(`it brought what the host gives: ${brought.join(", ")}`);
  const { stdout, stderr } = await run(node, [cliOf(line), "list"], { cwd: lab.home, env });
  if (!`${stdout}${stderr}`.includes("pi-claude-supervisor"))
    throw new Error(`pi list does not name it: ${stdout}${stderr}`);
  const command = commandOf(ready.readme);
  // `claude` is found on PATH, as it is by somebody who configured nothing.
  const done = await firstTask({
    lab,
    line,
    home: lab.home,
    command,
    env: { PATH: path, PI_CLAUDE_SUPERVISOR_CLAUDE: undefined },
  });
  if (way === "npm") return `${source}: ${done}`;
  const unbuilt = await stopUnbuilt({
    lab,
    line,
    home: lab.home,
    env: { PATH: path, PI_CLAUDE_SUPERVISOR_CLAUDE: undefined },
  });
  return `${source.replaceAll(lab.root, "…")}: ${done}; ${unbuilt}`;
}

/** Packages below a folder that Pi hands to an extension, or that only Pi's own packages need. */
async function hostPackages(root: string): Promise<string[]> {
  const entries = await readdir(root, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isDirectory() && basename(entry.parentPath) === "node_modules")
    .filter(({ name }) => ["@mariozechner", "@earendil-works", "koffi", "typebox"].includes(name))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)));
}

/** The README's three lines, with its placeholders filled in. */
async function sourceOf(lab: Lab, way: Way, { readme }: Ready, env: Record<string, string>): Promise<string> {
  const shown = [...readme.matchAll(/^pi install (\S+)$/gm)].map((match) => match[1] ?? "");
  const written = shown.find((one) => one.startsWith(way === "folder" ? "/" : `${way}:`));
  if (written === undefined) throw new Error(`the README has no "pi install" for ${way}`);
  switch (way) {
    case "npm":
      return written;
    case "folder": {
      const folder = join(lab.root, written.split("/").at(-1) ?? "");
      await run("git", ["clone", "-q", PACKAGE_ROOT, folder], { env });
      await run("npm", ["ci", "--omit=dev"], { cwd: folder, env, timeout: INSTALL_MS });
      return folder;
    }
    case "git": {
      const source = written.replace("<host>", GIT_HOST).replace("<owner>", "somebody");
      const url = `https://${source.replace(/^git:/, "")}`;
      await run("git", ["config", "--global", `url.${PACKAGE_ROOT}.insteadOf`, url], { env: lab.env });
      await run("git", ["config", "--global", "--add", "safe.directory", "*"], { env: lab.env });
      return source;
    }
  }
}

function commandOf(readme: string): string {
  const command = /^\/supervise start .+$/m.exec(readme.slice(readme.indexOf("## First task")))?.[0];
  if (command === undefined) throw new Error("the README has no first task");
  return command;
}

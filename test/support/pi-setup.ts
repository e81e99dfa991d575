/** How a real Pi of either line is started here: program, arguments, environment, and its models.json. */
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { cacheFolder } from "./cache.ts";
import { claudeBinary, claudeEnv, workerEnvNames } from "./claude.ts";
import type { ModelServer } from "./model-server.ts";
import { findNode22 } from "./node22.ts";
import type { Lab } from "./workspace.ts";

/** `@mariozechner/pi-coding-agent` 0.73.1 (runs on Node 20) and `@earendil-works/pi-coding-agent` 1.6.0 (Node >= 22.19). */
export type PiLine = "0.73.1" | "1.6.0";

export const PI_LINES: readonly PiLine[] = ["0.73.1", "1.6.0"];

/** The lines that this run of the tests is about: both, or those that TEST_PI_LINES names (scripts/run-tests.ts). */
export const LINES_OF_RUN: readonly PiLine[] = PI_LINES.filter((line) =>
  (process.env["TEST_PI_LINES"] ?? line).split(",").includes(line),
);

/** The root of this package: what `-e` gets unless a test loads another extension. */
export const PACKAGE_ROOT = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

export interface PiSetup {
  lab: Lab;
  modelServer: ModelServer;
  line: PiLine;
  cwd: string;
  /** Folder or file for `-e`. Default: this package. */
  extensionPath?: string;
  /** Loads what `pi install` put into this HOME, and nothing by `-e`. */
  installed?: boolean;
  /** Default: the lab's. Several Pi may share one. */
  stateDir?: string;
  /** Default: the lab's. */
  home?: string;
  /** Added last; a value of undefined takes a variable out. */
  env?: Readonly<Record<string, string | undefined>>;
  /** More arguments for Pi. */
  args?: readonly string[];
}

export interface PiLaunch {
  file: string;
  args: string[];
  env: Record<string, string>;
}

/** undefined when the line can run here, else the reason for the test's `skip`. */
export async function skipReason(line: PiLine): Promise<string | undefined> {
  if (line === "0.73.1") return undefined;
  const node = await findNode22();
  return node.ok ? undefined : node.reason;
}

/**
 * Writes `.pi/agent/models.json` into the HOME (provider `lab`, model `scripted`, on the model server) and composes the
 * launch: no `--mode`, so that the same serves RPC, print and TUI.
 */
export async function preparePi(setup: PiSetup): Promise<PiLaunch> {
  setup.lab.assertOpen();
  const home = setup.home ?? setup.lab.home;
  const agentDir = join(home, ".pi", "agent");
  await mkdir(agentDir, { recursive: true });
  await writeFile(join(agentDir, "models.json"), modelsJson(setup.modelServer.url));
  await shareCaches(setup);
  const env: Record<string, string> = {
    ...setup.lab.env,
    HOME: home,
    ...claudeEnv(setup.lab, setup.modelServer.url),
    PI_OFFLINE: "1",
    PI_CLAUDE_SUPERVISOR_STATE_DIR: setup.stateDir ?? setup.lab.stateDir,
    PI_CLAUDE_SUPERVISOR_CLAUDE: claudeBinary(),
    PI_CLAUDE_SUPERVISOR_WORKER_ENV: workerEnvNames(),
  };
  for (const [name, value] of Object.entries(setup.env ?? {})) {
    if (value === undefined) delete env[name];
    else env[name] = value;
  }
  const extension = setup.installed ? [] : ["--no-extensions", "-e", setup.extensionPath ?? PACKAGE_ROOT];
  const flags = [...extension, "--provider", "lab", "--model", "scripted"];
  return { file: await nodeFor(setup.line), args: [cliOf(setup.line), ...flags, ...(setup.args ?? [])], env };
}

/**
 * Pi's loader (jiti) keeps transpiled files in `$TMPDIR/jiti`, Node 22 compiled ones in `$TMPDIR/node-compile-cache` (Pi 1.6.0
 * asks it to); both are named and checked by content. A fresh TMPDIR would make every start a cold one, so labs share them.
 */
async function shareCaches(setup: PiSetup): Promise<void> {
  const caches = { jiti: `jiti-${setup.line}`, "node-compile-cache": "node-compile" };
  for (const [name, sharedName] of Object.entries(caches)) {
    const shared = join(cacheFolder(), sharedName);
    await mkdir(shared, { recursive: true });
    await symlink(shared, join(setup.lab.tmp, name)).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "EEXIST") throw error;
    });
  }
}

/** The Node that runs a line here. Throws when there is none (see `skipReason`). */
export async function nodeFor(line: PiLine): Promise<string> {
  if (line === "0.73.1") return process.execPath;
  const node = await findNode22();
  if (!node.ok) throw new Error(node.reason);
  return node.path;
}

/** The program of a line. */
export function cliOf(line: PiLine): string {
  const modules = join(PACKAGE_ROOT, "node_modules");
  return line === "0.73.1"
    ? join(modules, "@mariozechner", "pi-coding-agent", "dist", "cli.js")
    : join(modules, "@earendil-works", "pi-coding-agent", "dist", "bundle", "cli.js");
}

export function modelsJson(url: string): string {
  const model = {
    id: "scripted",
    name: "Scripted",
    reasoning: false,
    input: ["text"],
    contextWindow: 200_000,
    maxTokens: 8_000,
  };
  const lab = { baseUrl: url, api: "anthropic-messages", apiKey: "not-a-key", models: [model] };
  return `${JSON.stringify({ providers: { lab } }, null, 2)}\n`;
}

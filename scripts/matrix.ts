/**
 * `npm run matrix [-- --full] [-- --without=check] [-- --only=24,12] [-- --write docs/matrix.md]`: a fresh clone of the
 * checked-out commit, set up and checked under each supported Node and npm, both fetched from npm into a cache folder. A leg
 * is `npm ci`, `npm run check`, `npm run build`, and the demo (real Pi, real Claude Code) on every line of Pi that runs on
 * that Node; `--full` adds `npm test`; `--without=check` leaves the longest of them out. `--only=NODE[,NPM]` takes the legs
 * that begin so. The last result of each leg is kept in the cache folder: `--write` makes the page of all of them, after
 * each leg.
 */
import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { cacheFolder } from "../test/support/cache.ts";
import { isNewEnough } from "../test/support/node22.ts";
import { fetchNode, fetchPackage } from "./install/fetch-package.ts";
import { type Leg, pageOf, type Step } from "./matrix/page.ts";

const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), "..");

/** [Node, npm] as CI has them. npm 12 needs Node 22.22, 24.15 or 26. */
const LEGS: readonly (readonly [node: string, npm: string])[] = [
  ["20.17.0", "10"],
  ["20", "11"],
  ["22.19.0", "10"],
  ["22.19.0", "11"],
  ["24", "11"],
  ["24", "12"],
  ["26", "12"],
];

/** Milliseconds for one step; only the full tests come near it on a busy machine. */
const STEP_MS = 40 * 60_000;

const words = process.argv.slice(2);
const full = words.includes("--full");
const check = !words.includes("--without=check");
const [onlyNode = "", onlyNpm = ""] = (words.find((word) => word.startsWith("--only=")) ?? "--only=")
  .slice(7)
  .split(",");
const page = words.includes("--write") ? words[words.indexOf("--write") + 1] : undefined;
const commit = execFileSync("git", ["rev-parse", "HEAD"], { cwd: ROOT, encoding: "utf8" }).trim();

const kept = join(cacheFolder(), "matrix", "results.json");
const last = lastResults();
const legs: Leg[] = [];
for (const [node, npm] of LEGS) {
  if (!node.startsWith(onlyNode) || !npm.startsWith(onlyNpm)) continue;
  const leg = await runLeg(node, npm);
  legs.push(leg);
  last[keyOf(node, npm)] = leg;
  mkdirSync(dirname(kept), { recursive: true });
  writeFileSync(kept, `${JSON.stringify(last, null, 2)}\n`);
  if (page !== undefined) writePage(resolve(page));
}
const failed = legs.flatMap(({ steps }) => steps.filter(({ ok }) => !ok));
console.log(failed.length === 0 ? "\nall legs passed" : `\n${failed.length} steps failed`);
process.exitCode = failed.length === 0 ? 0 : 1;

function keyOf(node: string, npm: string): string {
  return `Node ${node} with npm ${npm}`;
}

function lastResults(): Record<string, Leg> {
  return existsSync(kept) ? (JSON.parse(readFileSync(kept, "utf8")) as Record<string, Leg>) : {};
}

function writePage(path: string): void {
  const keys = LEGS.map(([node, npm]) => keyOf(node, npm));
  const results = keys.map((key) => last[key]);
  writeFileSync(path, pageOf(keys, results, `${process.platform} ${process.arch}`));
}

async function runLeg(node: string, npm: string): Promise<Leg> {
  const work = mkdtempSync(join(tmpdir(), "pcs-matrix-"));
  try {
    const bin = toolchain(node, npm, join(work, "bin"));
    const env = { ...process.env, PATH: [bin, process.env["PATH"]].join(delimiter) };
    const says = (program: string): string => execFileSync(program, ["--version"], { env, encoding: "utf8" }).trim();
    const leg: Leg = {
      node: says("node").slice(1),
      npm: says("npm"),
      steps: [],
      commit: commit.slice(0, 12),
      date: new Date().toISOString().slice(0, 10),
    };
    console.log(`\n# Node ${leg.node}, npm ${leg.npm}`);
    const clone = join(work, "clone");
    execFileSync("git", ["clone", "-q", ROOT, clone]);
    execFileSync("git", ["checkout", "-q", "--detach", commit], { cwd: clone });
    const commands = [
      ["ci"],
      ...(check ? [["run", "check"]] : []),
      ["run", "build"],
      ["run", "demo", "--", "--pi=0.73.1"],
      ...(isNewEnough(leg.node) ? [["run", "demo", "--", "--pi=1.6.0"]] : []),
      ...(full ? [["test"]] : []),
    ];
    for (const args of commands) {
      const step = await run(args, clone, env);
      leg.steps.push(step);
      console.log(`${step.ok ? "ok  " : "FAIL"}  ${step.name} (${step.seconds.toFixed(0)} s)\n${step.tail}`.trimEnd());
      if (!step.ok && args[0] === "ci") break;
    }
    const sums = join(clone, "dist", "SHA256SUMS");
    if (existsSync(sums)) leg.archive = readFileSync(sums, "utf8").slice(0, 64);
    return leg;
  } finally {
    rmSync(work, { recursive: true, force: true, maxRetries: 5 });
  }
}

function run(args: readonly string[], cwd: string, env: NodeJS.ProcessEnv): Promise<Step> {
  const began = performance.now();
  return new Promise((done) => {
    const child = spawn("npm", args, { cwd, env, stdio: ["ignore", "pipe", "pipe"], timeout: STEP_MS });
    let tail = "";
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (chunk: Buffer) => {
        tail = (tail + chunk.toString("utf8")).slice(-6_000);
      });
    child.once("error", (error) => done({ name: `npm ${args.join(" ")}`, ok: false, seconds: 0, tail: error.message }));
    child.once("close", (code) => {
      const name = `npm ${args.join(" ").replace(" -- ", " ")}`;
      done({ name, ok: code === 0, seconds: (performance.now() - began) / 1_000, tail: code === 0 ? "" : tail });
    });
  });
}

/** A folder for PATH with that Node and that npm. */
function toolchain(node: string, npm: string, bin: string): string {
  const program = fetchNode(node);
  const npmPackage = fetchPackage(`npm@${npm}`);
  mkdirSync(bin, { recursive: true });
  symlinkSync(program, join(bin, "node"));
  for (const name of ["npm", "npx"]) {
    const cli = join(npmPackage, "bin", `${name}-cli.js`);
    writeFileSync(join(bin, name), `#!/bin/sh\nexec "${join(bin, "node")}" "${cli}" "$@"\n`, { mode: 0o755 });
  }
  return bin;
}

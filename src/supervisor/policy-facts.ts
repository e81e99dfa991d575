/**
 * The gate's window onto the disk: synchronous, never throwing, answered from caches that live for one moment. A
 * moment ends with each tool call, because the worker changes the disk between two calls; within one call a command
 * may ask the same question many times.
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { lstatSync, readdirSync, readFileSync, readlinkSync, realpathSync, type Stats, statSync } from "node:fs";
import { dirname, isAbsolute, join, normalize, relative, resolve, sep } from "node:path";
import type { GitState, PolicyFacts } from "../core/contracts/policy.ts";

export interface DiskFactsOptions {
  workspace: string;
  home: string;
  stateDir: string;
  /** When the task began (Unix ms); absent = no task yet, nothing is its doing. */
  since?: number;
}

export interface DiskFacts extends PolicyFacts {
  /** Forget what was seen: called before each tool call. */
  nextCall(): void;
}

const GIT_TIMEOUT_MS = 2_000;
const MAX_LINKS = 40;
const MAX_CANDIDATES = 500;
const MAX_GIT_OUTPUT = 256 * 1024;
const MAX_PACKAGE_JSON = 1024 * 1024;

/** Folders of a home whose files a hard link in the workspace could stand for. */
const CREDENTIAL_PLACES = [".ssh", ".aws", ".gnupg", ".kube", ".azure", ".config/gcloud", ".config/gh", ".docker", "."];

export function diskFacts(options: DiskFactsOptions): DiskFacts {
  const { workspace, home, stateDir } = options;
  const cache = new Map<string, unknown>();
  const once = <T>(key: string, make: () => T): T => {
    if (cache.has(key)) return cache.get(key) as T;
    const value = make();
    cache.set(key, value);
    return value;
  };

  return {
    nextCall: () => cache.clear(),
    realPath: (path) => once(`real ${path}`, () => realPathOf(path)),
    kind: (path) => once(`kind ${path}`, () => kindOf(path)),
    hardLinks: (path) => once(`links ${path}`, () => hardLinksOf(path, [workspace, home, stateDir])),
    gitState: (path) => once(`git ${path}`, () => gitStateOf(workspace, path)),
    packageScripts: (folder) => once(`scripts ${folder}`, () => packageScriptsOf(folder)),
    hasLocalBin: (folder, name) => once(`bin ${folder} ${name}`, () => hasLocalBin(workspace, folder, name)),
    changedByTask: (path) => isYounger(path, "ctimeMs", options.since),
    createdByTask: (path) => isYounger(path, "birthtimeMs", options.since),
  };
}

/** Follows links by hand where realpath(3) would fail: a path that does not exist counts by its deepest real parent. */
function realPathOf(path: string, links = 0): string | undefined {
  try {
    return realpathSync.native(path);
  } catch (error) {
    const code = codeOf(error);
    if (code !== "ENOENT" && code !== "ENOTDIR") return undefined;
  }
  const target = linkTarget(path);
  if (target !== undefined) return links >= MAX_LINKS ? undefined : realPathOf(target, links + 1);
  const parent = dirname(path);
  if (parent === path) return path;
  const real = realPathOf(parent, links);
  return real === undefined
    ? undefined
    : join(real, path.slice(parent.length).replaceAll(sep, "/").replace(/^\/+/, ""));
}

function linkTarget(path: string): string | undefined {
  try {
    return normalize(resolve(dirname(path), readlinkSync(path)));
  } catch {
    return undefined;
  }
}

/** By the times that only the kernel sets: unlike the modification time, a program cannot choose them. */
function isYounger(path: string, time: "ctimeMs" | "birthtimeMs", since: number | undefined): boolean {
  if (since === undefined) return false;
  const stats = statOf(path);
  return stats !== "absent" && (stats === undefined || stats[time] > since);
}

function kindOf(path: string): "file" | "directory" | "other" | "absent" | undefined {
  const stats = statOf(path);
  if (stats === "absent") return "absent";
  if (stats === undefined) return undefined;
  return stats.isFile() ? "file" : stats.isDirectory() ? "directory" : "other";
}

function statOf(path: string): Stats | "absent" | undefined {
  try {
    return statSync(path);
  } catch (error) {
    const code = codeOf(error);
    return code === "ENOENT" || code === "ENOTDIR" ? "absent" : undefined;
  }
}

/**
 * The file system does not tell a file's other names, so those that matter are compared by device and inode: the
 * credential stores of the home, git's hooks and configuration, and the supervisor's own folder.
 */
function hardLinksOf(
  path: string,
  [workspace, home, stateDir]: [string, string, string],
): readonly string[] | undefined {
  const stats = statOf(path);
  if (stats === "absent") return [];
  if (stats === undefined) return undefined;
  if (!stats.isFile() || stats.nlink < 2) return [];
  const folders = [
    ...CREDENTIAL_PLACES.map((name) => join(home, name)),
    join(workspace, ".git"),
    join(workspace, ".git/hooks"),
    join(workspace, ".claude"),
    stateDir,
  ];
  const names: string[] = [];
  let looked = 0;
  for (const folder of folders) {
    for (const name of entriesOf(folder)) {
      looked += 1;
      if (looked > MAX_CANDIDATES) return undefined;
      const candidate = join(folder, name);
      if (candidate === path) continue;
      const other = statOf(candidate);
      if (other !== "absent" && other?.ino === stats.ino && other.dev === stats.dev) names.push(candidate);
    }
  }
  return names;
}

function entriesOf(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/**
 * Whether git can bring a path back. A folder answers with the worst of what it holds. Nothing of the repository's
 * configuration runs: the index is listed without the fsmonitor, and contents are compared by hash instead of by
 * `git status`, which would run clean filters.
 */
function gitStateOf(workspace: string, path: string): GitState | undefined {
  try {
    lstatSync(path);
  } catch (error) {
    const code = codeOf(error);
    return code === "ENOENT" || code === "ENOTDIR" ? "absent" : undefined;
  }
  const name = relative(workspace, path);
  if (name === "" || name.startsWith("..") || isAbsolute(name)) return undefined;
  const tracked = git(workspace, ["ls-files", "-s", "-z", "--", `:(literal)${name}`]);
  const others = git(workspace, ["ls-files", "-o", "-z", "--exclude-standard", "--", `:(literal)${name}`]);
  if (tracked === undefined || others === undefined) return undefined;
  if (others !== "") return "untracked";
  if (tracked === "") return git(workspace, ["check-ignore", "-q", "--", name]) === undefined ? "untracked" : "ignored";
  const same = tracked.split("\0").every((entry) => entry === "" || isUnmodified(workspace, entry));
  return same ? "tracked" : "modified";
}

/** One line of `git ls-files -s`: `<mode> <object> <stage>\t<path>`. */
function isUnmodified(workspace: string, entry: string): boolean {
  const match = /^(\d+) ([0-9a-f]+) 0\t(.*)$/s.exec(entry);
  if (!match) return false;
  const [, mode = "", object = "", name = ""] = match;
  const path = join(workspace, name);
  try {
    const stats = lstatSync(path);
    if (mode === "120000")
      return stats.isSymbolicLink() && blobId(Buffer.from(readlinkSync(path)), object.length) === object;
    if (!stats.isFile() || stats.size > 64 * 1024 * 1024) return false;
    return blobId(readFileSync(path), object.length) === object;
  } catch {
    return false;
  }
}

/** git's id of a blob; 40 hex digits are SHA-1, 64 are SHA-256 repositories. */
function blobId(bytes: Buffer, digits: number): string {
  return createHash(digits === 64 ? "sha256" : "sha1")
    .update(`blob ${bytes.length}\0`)
    .update(bytes)
    .digest("hex");
}

/** Standard output, or undefined when git refuses, is not there, or takes too long. */
function git(workspace: string, args: string[]): string | undefined {
  const safe = ["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "core.untrackedCache=false"];
  const run = spawnSync("git", [...safe, ...args], {
    cwd: workspace,
    env: {
      PATH: process.env["PATH"] ?? "/usr/bin:/bin",
      HOME: "/nonexistent",
      GIT_CONFIG_NOSYSTEM: "1",
      GIT_OPTIONAL_LOCKS: "0",
      LC_ALL: "C",
    },
    encoding: "utf8",
    timeout: GIT_TIMEOUT_MS,
    maxBuffer: MAX_GIT_OUTPUT,
    stdio: ["ignore", "pipe", "ignore"],
  });
  return run.status === 0 ? run.stdout : undefined;
}

function packageScriptsOf(folder: string): Readonly<Record<string, string>> | undefined {
  try {
    const path = join(folder, "package.json");
    if (statSync(path).size > MAX_PACKAGE_JSON) return undefined;
    const value: unknown = JSON.parse(readFileSync(path, "utf8"));
    if (typeof value !== "object" || value === null || !("scripts" in value)) return {};
    const { scripts } = value;
    if (typeof scripts !== "object" || scripts === null) return {};
    return Object.fromEntries(
      Object.entries(scripts).filter((entry): entry is [string, string] => typeof entry[1] === "string"),
    );
  } catch {
    return undefined;
  }
}

function hasLocalBin(workspace: string, folder: string, name: string): boolean {
  if (name === "" || name.includes("/") || name === "..") return false;
  for (let at = folder; at === workspace || at.startsWith(workspace + sep); at = dirname(at)) {
    if (statOf(join(at, "node_modules/.bin", name)) instanceof Object) return true;
    if (at === workspace) break;
  }
  return false;
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}

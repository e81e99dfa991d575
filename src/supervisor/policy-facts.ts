/**
 * The gate's window onto the disk: synchronous, never throwing, answered from caches that live for one moment. A
 * moment ends with each tool call, because the worker changes the disk between two calls; within one call a command
 * may ask the same question many times.
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { lstatSync, readdirSync, readFileSync, readlinkSync, statSync } from "node:fs";
import { dirname, isAbsolute, join, relative, sep } from "node:path";
import type { GitState, PolicyFacts } from "../core/contracts/policy.ts";
import { type Look, PathLook } from "./path-look.ts";

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
const MAX_CANDIDATES = 500;
const MAX_GIT_OUTPUT = 256 * 1024;
const MAX_PACKAGE_JSON = 1024 * 1024;

/** Folders of a home whose files a hard link in the workspace could stand for. */
const CREDENTIAL_PLACES = [".ssh", ".aws", ".gnupg", ".kube", ".azure", ".config/gcloud", ".config/gh", ".docker", "."];

export function diskFacts(options: DiskFactsOptions): DiskFacts {
  const { workspace, home, stateDir } = options;
  const look = new PathLook();
  const cache = new Map<string, unknown>();
  const once = <T>(key: string, make: () => T): T => {
    if (cache.has(key)) return cache.get(key) as T;
    const value = make();
    cache.set(key, value);
    return value;
  };

  return {
    nextCall: () => {
      look.forget();
      if (cache.size > 0) cache.clear();
    },
    realPath: (path) => look.real(path),
    kind: (path) => kindOf(look.target(path)),
    hardLinks: (path) => {
      const target = look.target(path);
      if (target === "absent") return NO_LINKS;
      if (target !== undefined && (!target.isFile() || target.nlink < 2)) return NO_LINKS;
      return once(`links ${path}`, () => hardLinksOf(path, target, look, [workspace, home, stateDir]));
    },
    gitState: (path) => once(`git ${path}`, () => gitStateOf(workspace, path, look)),
    packageScripts: (folder) => once(`scripts ${folder}`, () => packageScriptsOf(folder)),
    hasLocalBin: (folder, name) => once(`bin ${folder} ${name}`, () => hasLocalBin(workspace, folder, name, look)),
    changedByTask: (path) => isYounger(look.target(path), "ctimeMs", options.since),
    createdByTask: (path) => isYounger(look.target(path), "birthtimeMs", options.since),
  };
}

const NO_LINKS: readonly string[] = [];

/** By the times that only the kernel sets: unlike the modification time, a program cannot choose them. */
function isYounger(target: Look, time: "ctimeMs" | "birthtimeMs", since: number | undefined): boolean {
  if (since === undefined) return false;
  return target !== "absent" && (target === undefined || target[time] > since);
}

function kindOf(target: Look): "file" | "directory" | "other" | "absent" | undefined {
  if (target === "absent" || target === undefined) return target;
  return target.isFile() ? "file" : target.isDirectory() ? "directory" : "other";
}

/**
 * The file system does not tell a file's other names, so those that matter are compared by device and inode: the
 * credential stores of the home, git's hooks and configuration, and the supervisor's own folder.
 */
function hardLinksOf(
  path: string,
  stats: Look,
  look: PathLook,
  [workspace, home, stateDir]: [string, string, string],
): readonly string[] | undefined {
  if (stats === undefined || stats === "absent") return undefined;
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
      const other = look.target(candidate);
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
function gitStateOf(workspace: string, path: string, look: PathLook): GitState | undefined {
  const found = look.name(path);
  if (found === "absent" || found === undefined) return found;
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

function hasLocalBin(workspace: string, folder: string, name: string, look: PathLook): boolean {
  if (name === "" || name.includes("/") || name === "..") return false;
  for (let at = folder; at === workspace || at.startsWith(workspace + sep); at = dirname(at)) {
    if (look.target(join(at, "node_modules/.bin", name)) instanceof Object) return true;
    if (at === workspace) break;
  }
  return false;
}

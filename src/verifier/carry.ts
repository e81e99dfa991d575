/**
 * Ignored dependency folders in the clean worktree. A copy by reflink where the file system can, else by hard links
 * (real folders, shared files: modules find each other inside the clean worktree, and nothing is copied), else a plain
 * copy while it is small, else a symbolic link. Caches inside are left out.
 */
import {
  constants,
  copyFileSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  symlinkSync,
} from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { dirname, isAbsolute, join, relative, resolve } from "node:path";
import type { VerifyFinding } from "../core/contracts/verifier.ts";
import { errnoOf } from "../platform/errno.ts";
import type { GitOptions } from "./git.ts";
import { git, nulList } from "./git.ts";
import { removeFolder } from "./own-folder.ts";

export type CarryMode = "reflink" | "hard links" | "copy" | "symbolic link";

/** Bounds of a plain copy (no reflink, other file system). */
const COPY_BYTES = 1024 * 1024 * 1024;
const COPY_FILES = 100_000;
/** Tools keep caches in these; a cache may hold results of earlier runs. */
const CACHES = new Set([".cache", ".vite", ".vitest", ".parcel-cache", "__pycache__"]);

/** Ignored paths of the work tree (folders collapsed), split into what `carry` names and the rest. */
export async function ignoredPaths(
  run: GitOptions,
  carry: readonly string[],
  prefix: string,
): Promise<{ carried: string[]; left: string[] }> {
  const listed = await git(["ls-files", "-o", "-i", "--exclude-standard", "--directory", "-z"], run);
  if (!listed.ok) return { carried: [], left: [] };
  const carried: string[] = [];
  const left: string[] = [];
  for (const entry of nulList(listed.stdout)) {
    const path = entry.replace(/\/$/, "");
    const wanted = carry.some((name) => {
      if (!name.includes("/")) return path.split("/").includes(name);
      const full = [name, prefix === "" ? name : `${prefix}/${name}`];
      return full.some((one) => path === one || path.startsWith(`${one}/`));
    });
    (wanted ? carried : left).push(path);
  }
  return { carried, left };
}

/** Brings `root/path` to `target/path` and says how, as findings. */
export async function carryPath(
  root: string,
  path: string,
  target: string,
  signal?: AbortSignal,
): Promise<VerifyFinding[]> {
  const from = join(root, path);
  const to = join(target, path);
  mkdirSync(dirname(to), { recursive: true });
  const brought = await bring({ root, from, to, signal });
  const findings: VerifyFinding[] = [
    {
      kind: "not-covered",
      path,
      detail: `Carried into the clean worktree (${brought.mode}, ${brought.files} files); the tree id does not cover it.`,
    },
  ];
  if (await hasEditableInstall(from, root)) {
    const detail = "An editable install in it imports this project from the workspace, not from the clean worktree.";
    findings.push({ kind: "not-covered", path, detail });
  }
  return findings;
}

interface Brought {
  mode: CarryMode;
  files: number;
}

interface Way {
  root: string;
  from: string;
  to: string;
  signal: AbortSignal | undefined;
}

async function bring(way: Way): Promise<Brought> {
  if (lstatSync(way.from).isSymbolicLink()) {
    symlinkSync(movedLink(way.from, way), way.to);
    return { mode: "symbolic link", files: 1 };
  }
  for (const mode of ["reflink", "hard links", "copy"] as const) {
    const done = await copyTree(way, mode);
    if (done !== undefined) return done;
    await removeFolder(way.to);
  }
  symlinkSync(way.from, way.to);
  return { mode: "symbolic link", files: 1 };
}

/** `undefined` when this mode does not work here. Yields to the event loop every few milliseconds. */
async function copyTree(way: Way, mode: Exclude<CarryMode, "symbolic link">): Promise<Brought | undefined> {
  let files = 0;
  let bytes = 0;
  let slice = performance.now();
  const pending: [string, string][] = [[way.from, way.to]];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const [source, target] = next;
    if (performance.now() - slice > 8) {
      await new Promise((done) => setImmediate(done));
      slice = performance.now();
      if (way.signal?.aborted) return { mode, files };
    }
    const stat = lstatSync(source, { throwIfNoEntry: false });
    if (stat === undefined) continue;
    if (stat.isDirectory()) {
      mkdirSync(target, { mode: (stat.mode & 0o777) | 0o700 });
      for (const name of readdirSync(source)) {
        if (!CACHES.has(name)) pending.push([join(source, name), join(target, name)]);
      }
    } else if (stat.isSymbolicLink()) {
      symlinkSync(movedLink(source, way), target);
    } else if (stat.isFile()) {
      files++;
      bytes += stat.size;
      if (mode === "copy" && (bytes > COPY_BYTES || files > COPY_FILES)) return undefined;
      if (!bringFile(source, target, mode)) return undefined;
    }
  }
  return { mode, files };
}

function bringFile(source: string, target: string, mode: Exclude<CarryMode, "symbolic link">): boolean {
  try {
    if (mode === "hard links") linkSync(source, target);
    else copyFileSync(source, target, mode === "reflink" ? constants.COPYFILE_FICLONE_FORCE : 0);
    return true;
  } catch (error) {
    // No reflinks here; another file system; too many links; a file of someone else (fs.protected_hardlinks).
    const code = errnoOf(error) ?? "";
    if (["ENOTSUP", "EOPNOTSUPP", "EXDEV", "EINVAL", "ENOSYS", "ENOTTY", "EMLINK", "EPERM", "EACCES"].includes(code))
      return false;
    throw error;
  }
}

/**
 * Where a copied link points: a relative one inside the repository stays (workspace packages resolve to the clean
 * worktree), one that leaves the repository becomes absolute, an absolute one into the carried folder goes along.
 */
function movedLink(source: string, way: Way): string {
  const link = readlinkSync(source);
  const target = resolve(dirname(source), link);
  if (!isAbsolute(link)) return isInside(way.root, target) ? link : target;
  return isInside(way.from, target) ? join(way.to, relative(way.from, target)) : link;
}

function isInside(folder: string, path: string): boolean {
  const inside = relative(folder, path);
  return inside !== "" && !inside.startsWith("..") && !isAbsolute(inside);
}

/** pip's editable installs leave `.pth` files (or finder modules) with the project's path in site-packages. */
async function hasEditableInstall(folder: string, root: string): Promise<boolean> {
  const lib = join(folder, "lib");
  for (const python of await readdir(lib).catch(() => [])) {
    const packages = join(lib, python, "site-packages");
    for (const name of await readdir(packages).catch(() => [])) {
      if (!/\.pth$|^__editable__.*\.py$/.test(name)) continue;
      if ((await readFile(join(packages, name), "utf8").catch(() => "")).includes(root)) return true;
    }
  }
  return false;
}

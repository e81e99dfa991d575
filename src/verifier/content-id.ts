/**
 * Outside git: `sha256:` over names, kinds, modes and contents of the files under cwd. Bounded: folders that tools
 * derive are left out, the bytes beyond 1 GiB count by size and time only, and more than 50,000 files are refused.
 */
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { lstat, readdir, readlink } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import type { Result } from "../core/result.ts";
import { failure } from "../core/result.ts";
import type { TreeId, TreeNote, TreeOptions } from "./tree-id.ts";

export const MAX_FILES = 50_000;
export const MAX_BYTES = 1024 * 1024 * 1024;

/** Folders that tools make from the rest, or that hold another version control's own data. */
const LEFT_OUT = new Set(
  (
    ".git .hg .svn .jj node_modules .venv venv vendor __pycache__ .pytest_cache .mypy_cache .ruff_cache .tox .nox " +
    ".cache .nyc_output coverage target .gradle .next .turbo"
  ).split(" "),
);

export interface ContentEntry {
  path: string;
  kind: "file" | "link" | "other";
  mode: number;
  size: number;
  mtimeMs: number;
}

/** Failures: `tree-too-large` (more than 50,000 files), `unreadable`, `aborted`. */
export async function contentId(cwd: string, options: Pick<TreeOptions, "signal"> = {}): Promise<Result<TreeId>> {
  const listed = await listFiles(cwd, options.signal);
  if (!listed.ok) return listed;
  const hash = createHash("sha256");
  const notes: TreeNote[] = [
    {
      kind: "bounded",
      detail: `Not a git repository: the hash covers ${listed.entries.length} files without ${[...LEFT_OUT].slice(4, 8).join(", ")} and other derived folders.`,
    },
  ];
  let bytes = 0;
  for (const entry of listed.entries) {
    if (options.signal?.aborted) return failure("aborted", "The verification was stopped while files were hashed.");
    const executable = (entry.mode & 0o100) !== 0 ? "x" : "-";
    hash.update(`${entry.kind}${executable}\0${entry.path}\0${entry.size}\0`);
    try {
      if (entry.kind === "link") hash.update(await readlink(join(cwd, entry.path)));
      else if (entry.kind === "file" && bytes + entry.size <= MAX_BYTES) {
        bytes += entry.size;
        hash.update(await fileSha256(join(cwd, entry.path)));
      } else if (entry.kind === "file") {
        hash.update(String(entry.mtimeMs));
        notes.push({ kind: "bounded", path: entry.path, detail: "Beyond 1 GiB: covered by size and time only." });
      }
    } catch (error) {
      notes.push({ kind: "unreadable", path: entry.path, detail: `It cannot be read (${(error as Error).message}).` });
    }
    hash.update("\0");
  }
  return { ok: true, id: `sha256:${hash.digest("hex")}`, notes: notes.slice(0, 50) };
}

export async function fileSha256(path: string): Promise<string> {
  const hash = createHash("sha256");
  await pipeline(createReadStream(path), hash);
  return hash.digest("hex");
}

/** Files whose time of writing is later than `sinceMs` (epoch, ms), by path. Times can be set by whoever writes. */
export async function writtenSince(
  cwd: string,
  sinceMs: number,
  signal?: AbortSignal,
): Promise<Result<{ paths: string[] }>> {
  const listed = await listFiles(cwd, signal);
  if (!listed.ok) return listed;
  return { ok: true, paths: listed.entries.filter((entry) => entry.mtimeMs > sinceMs).map((entry) => entry.path) };
}

/** What the content hash covers, by path. Failures: those of `contentId` but `aborted` while hashing. */
export async function listFiles(cwd: string, signal?: AbortSignal): Promise<Result<{ entries: ContentEntry[] }>> {
  const entries: ContentEntry[] = [];
  const folders = [""];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    if (signal?.aborted) return failure("aborted", "The verification was stopped while files were listed.");
    const found = await readdir(join(cwd, folder), { withFileTypes: true }).catch((error: Error) => error);
    if (found instanceof Error) {
      if (folder === "") return failure("unreadable", `${cwd} cannot be read: ${found.message}.`);
      continue;
    }
    for (const item of found) {
      const path = folder === "" ? item.name : `${folder}/${item.name}`;
      if (item.isDirectory()) {
        if (!LEFT_OUT.has(item.name)) folders.push(path);
        continue;
      }
      const stat = await lstat(join(cwd, path)).catch(() => undefined);
      if (stat === undefined) continue;
      const kind = stat.isFile() ? "file" : stat.isSymbolicLink() ? "link" : "other";
      entries.push({ path, kind, mode: stat.mode, size: kind === "other" ? 0 : stat.size, mtimeMs: stat.mtimeMs });
      if (entries.length > MAX_FILES) {
        const advice = 'Run "git init" there, or give a smaller folder with --cwd.';
        return failure(
          "tree-too-large",
          `${cwd} has more than ${MAX_FILES} files and is not a git repository. ${advice}`,
        );
      }
    }
  }
  entries.sort((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0));
  return { ok: true, entries };
}

/** What differs between two trees, by name, size and kind. Content is never judged: a binary is only named. */
import { rm } from "node:fs/promises";
import type { VerifyChanges } from "../core/contracts/verifier.ts";
import type { Result } from "../core/result.ts";
import { failure } from "../core/result.ts";
import type { GitOptions } from "./git.ts";
import { git, nulList } from "./git.ts";
import { findRepo } from "./repo.ts";
import type { TreeOptions } from "./tree-id.ts";
import { snapshotRepo, withScratch } from "./tree-id.ts";

export interface ChangedFile {
  path: string;
  status: "added" | "modified" | "deleted" | "type-changed";
  kind: "text" | "binary" | "symlink" | "submodule";
  /** More than 5 MiB. */
  large: boolean;
  /** Bytes now; 0 when deleted. */
  size: number;
  /** git object id of the content now; absent when deleted. */
  hash?: string;
  /** Lines; absent for anything but text. */
  added?: number;
  deleted?: number;
}

export interface DiffStat {
  files: number;
  added: number;
  deleted: number;
  binaries: number;
}

const LARGE_BYTES = 5 * 1024 * 1024;

/**
 * Files that differ between `sinceTree` (an id that `treeId` gave for this workspace with the same `scratchDir`, or any
 * commit) and the workspace now. Failures: those of `treeId`; `tree-gone` (the scratch folder was lost);
 * `needs-git` (outside git contents are only hashed as a whole).
 */
export async function changedFiles(
  cwd: string,
  sinceTree: string,
  options: TreeOptions = {},
): Promise<Result<{ tree: string; files: ChangedFile[]; stat: DiffStat }>> {
  return withScratch(options, async (scratchDir) => {
    const found = await findRepo(cwd, options);
    if (!found.ok) return found;
    if (found.repo === undefined) {
      return failure(
        "needs-git",
        `${cwd} is in no git repository, so single changes are not known; run "git init" there.`,
      );
    }
    const now = await snapshotRepo(found.repo, { ...options, scratchDir });
    if (!now.ok) return now;
    const files = await changesBetween(sinceTree, now.id, now.options);
    await rm(now.indexFile, { force: true });
    return files.ok ? { ok: true, tree: now.id, files: files.files, stat: diffStat(files.files) } : files;
  });
}

export function diffStat(files: readonly ChangedFile[]): DiffStat {
  const stat: DiffStat = { files: files.length, added: 0, deleted: 0, binaries: 0 };
  for (const file of files) {
    stat.added += file.added ?? 0;
    stat.deleted += file.deleted ?? 0;
    if (file.kind === "binary") stat.binaries++;
  }
  return stat;
}

/** Files of one report. */
const MOST_LISTED = 200;

/** The same, bounded, as it stands in a report. */
export function changesOf(files: readonly ChangedFile[]): VerifyChanges {
  const { added, deleted } = diffStat(files);
  const listed = files.slice(0, MOST_LISTED).map(({ large: _large, ...file }) => file);
  return { files: listed, more: files.length - listed.length, added, deleted };
}

/** Compares two trees (or commits) of one object store. */
export async function changesBetween(
  from: string,
  to: string,
  run: GitOptions,
): Promise<Result<{ files: ChangedFile[] }>> {
  if (from === to) return { ok: true, files: [] };
  const flags = ["-r", "--no-renames", "--no-ext-diff", "--no-textconv", "-z"];
  const raw = await git(["diff-tree", "--raw", "--no-abbrev", ...flags, from, to], run);
  if (!raw.ok) {
    if (raw.reason === "git-failed" && /bad object|not a tree|unknown revision|bad tree/i.test(raw.message)) {
      return failure(
        "tree-gone",
        `The tree ${from} is no longer known; the scratch folder was removed or git pruned it.`,
      );
    }
    return raw;
  }
  const counts = await git(["diff-tree", "--numstat", ...flags, from, to], run);
  // A missing blob (partial clone) costs the line counts, not the list.
  const lines = counts.ok ? lineCounts(nulList(counts.stdout)) : new Map<string, LineCount>();
  const files: ChangedFile[] = [];
  const parts = nulList(raw.stdout);
  for (let at = 0; at + 1 < parts.length; at += 2) {
    const [oldMode = "", newMode = "", , newId = "", letter = ""] = (parts[at] ?? "").slice(1).split(" ");
    const path = parts[at + 1] ?? "";
    const mode = letter === "D" ? oldMode : newMode;
    const count = lines.get(path);
    const kind =
      mode === "120000" ? "symlink" : mode === "160000" ? "submodule" : count === "binary" ? "binary" : "text";
    files.push({
      path,
      status: letter === "A" ? "added" : letter === "D" ? "deleted" : letter === "T" ? "type-changed" : "modified",
      kind,
      large: false,
      size: 0,
      ...(letter === "D" ? {} : { hash: newId }),
      ...(kind === "text" && count !== undefined && count !== "binary" ? count : {}),
    });
  }
  return withSizes(files, run);
}

type LineCount = { added: number; deleted: number } | "binary";

function lineCounts(entries: readonly string[]): Map<string, LineCount> {
  const counts = new Map<string, LineCount>();
  for (const entry of entries) {
    const [added = "", deleted = "", path = ""] = entry.split("\t");
    counts.set(path, added === "-" ? "binary" : { added: Number(added), deleted: Number(deleted) });
  }
  return counts;
}

async function withSizes(files: ChangedFile[], run: GitOptions): Promise<Result<{ files: ChangedFile[] }>> {
  const ids = files.flatMap((file) => (file.hash === undefined || file.kind === "submodule" ? [] : [file.hash]));
  if (ids.length === 0) return { ok: true, files };
  const checked = await git(["cat-file", "--batch-check=%(objectname) %(objectsize)"], {
    ...run,
    input: `${ids.join("\n")}\n`,
  });
  if (!checked.ok) return checked;
  const sizes = new Map<string, number>();
  for (const line of checked.stdout.toString("utf8").split("\n")) {
    const [id = "", size = ""] = line.split(" ");
    if (/^\d+$/.test(size)) sizes.set(id, Number(size));
  }
  for (const file of files) {
    file.size = sizes.get(file.hash ?? "") ?? 0;
    file.large = file.size > LARGE_BYTES;
  }
  return { ok: true, files };
}

/**
 * The unified diff between `sinceTree` and the workspace now, for people and reviewers: text files only, cut at
 * `maxBytes` (default 200,000) with a line that says so. Not redacted. Failures: those of `changedFiles`.
 */
export async function diffText(
  cwd: string,
  sinceTree: string,
  options: TreeOptions & { maxBytes?: number } = {},
): Promise<Result<{ tree: string; text: string; isCut: boolean }>> {
  return withScratch(options, async (scratchDir) => {
    const found = await findRepo(cwd, options);
    if (!found.ok) return found;
    if (found.repo === undefined) return failure("needs-git", `${cwd} is in no git repository, so there is no diff.`);
    const now = await snapshotRepo(found.repo, { ...options, scratchDir });
    if (!now.ok) return now;
    const maxBytes = options.maxBytes ?? 200_000;
    const args = ["diff-tree", "-r", "-p", "--no-ext-diff", "--no-textconv", "--no-color", sinceTree, now.id];
    const output = await git(args, { ...now.options, maxBytes, keepCut: true });
    await rm(now.indexFile, { force: true });
    if (!output.ok) return output;
    const isCut = output.isCut;
    const text = `${output.stdout.toString("utf8")}${isCut ? `\n[… cut at ${maxBytes} bytes …]\n` : ""}`;
    return { ok: true, tree: now.id, text, isCut };
  });
}

/** `a, b, c and 4 more`. */
export function summarize(paths: readonly string[], most = 5): string {
  const shown = paths.slice(0, most).join(", ");
  return paths.length > most ? `${shown} and ${paths.length - most} more` : shown;
}

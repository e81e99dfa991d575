/** What differs between two trees, by name, size and kind. Content is never judged: a binary is only named. */
import type { VerifyChanges } from "../core/contracts/verifier.ts";
import type { Result } from "../core/result.ts";
import { failure } from "../core/result.ts";
import type { GitOptions } from "./git.ts";
import { git, nulList } from "./git.ts";
import { asFarAsKnown } from "./lost-contents.ts";
import { findRepo } from "./repo.ts";
import type { GitSnapshot, TreeOptions } from "./tree-id.ts";
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
  /** Lines; absent for anything but text, and where the content of then is not known any more. */
  added?: number;
  deleted?: number;
}

/** Where to compare from: a tree id that `treeId` gave for this workspace with the same `scratchDir`, or any commit. */
export interface Since {
  tree: string;
  /** The commit of then: what stands for contents that no commit held, which are not kept. */
  head?: string | undefined;
}

export interface DiffStat {
  files: number;
  added: number;
  deleted: number;
  binaries: number;
}

const LARGE_BYTES = 5 * 1024 * 1024;

/**
 * Files that differ between `since` and the workspace now. Failures: those of `treeId`; `tree-gone` (the scratch folder was
 * lost); `needs-git` (outside git contents are only hashed as a whole).
 */
export async function changedFiles(
  cwd: string,
  since: Since,
  options: TreeOptions = {},
): Promise<Result<{ tree: string; files: ChangedFile[]; stat: DiffStat }>> {
  return withNow(cwd, options, async (now) => {
    const files = await changesBetween(since, now.id, now.options);
    return files.ok ? { ok: true, tree: now.id, files: files.files, stat: diffStat(files.files) } : files;
  });
}

/** Gives `work` the present tree with all contents. */
async function withNow<T extends object>(
  cwd: string,
  options: TreeOptions,
  work: (now: GitSnapshot) => Promise<Result<T>>,
): Promise<Result<T>> {
  return withScratch(options, async (scratchDir) => {
    const found = await findRepo(cwd, options);
    if (!found.ok) return found;
    if (found.repo === undefined) {
      const advice = 'single changes are not known; run "git init" there.';
      return failure("needs-git", `${cwd} is in no git repository, so ${advice}`);
    }
    const now = await snapshotRepo(found.repo, { ...options, scratchDir, contents: true });
    if (!now.ok) return now;
    try {
      return await work(now);
    } finally {
      await now.release();
    }
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

/** One line of `git diff-tree --raw`. */
export interface RawChange {
  path: string;
  oldMode: string;
  newMode: string;
  oldId: string;
  newId: string;
  letter: string;
}

const FLAGS = ["-r", "--no-renames", "--no-ext-diff", "--no-textconv", "-z"];

/** What differs between two trees by name and id alone. Failures: `tree-gone`, and those of git.ts. */
export async function rawChanges(from: string, to: string, run: GitOptions): Promise<Result<{ changes: RawChange[] }>> {
  if (from === to) return { ok: true, changes: [] };
  const raw = await git(["diff-tree", "--raw", "--no-abbrev", ...FLAGS, from, to], run);
  if (!raw.ok) {
    if (raw.reason === "git-failed" && /bad object|not a tree|unknown revision|bad tree/i.test(raw.message)) {
      return failure(
        "tree-gone",
        `The tree ${from} is no longer known; the scratch folder was removed or git pruned it.`,
      );
    }
    return raw;
  }
  const changes: RawChange[] = [];
  const parts = nulList(raw.stdout);
  for (let at = 0; at + 1 < parts.length; at += 2) {
    const [oldMode = "", newMode = "", oldId = "", newId = "", letter = ""] = (parts[at] ?? "").slice(1).split(" ");
    changes.push({ path: parts[at + 1] ?? "", oldMode, newMode, oldId, newId, letter });
  }
  return { ok: true, changes };
}

/** Compares a tree (or commit) with a snapshot's, whose contents `run` reaches. */
export async function changesBetween(
  since: Since,
  to: string,
  run: GitOptions,
): Promise<Result<{ files: ChangedFile[] }>> {
  const raw = await rawChanges(since.tree, to, run);
  if (!raw.ok) return raw;
  const known = await asFarAsKnown(since.tree, raw.changes, run, since.head);
  if (!known.ok) return known;
  const counts = await git(["diff-tree", "--numstat", ...FLAGS, known.from, to], run);
  // A missing blob (partial clone) costs the line counts, not the list.
  const lines = counts.ok ? lineCounts(nulList(counts.stdout)) : new Map<string, LineCount>();
  const files = raw.changes.map(({ path, oldMode, newMode, newId, letter }): ChangedFile => {
    const mode = letter === "D" ? oldMode : newMode;
    const count = lines.get(path);
    const kind =
      mode === "120000" ? "symlink" : mode === "160000" ? "submodule" : count === "binary" ? "binary" : "text";
    const counted = kind === "text" && count !== undefined && count !== "binary" && !known.unknown.has(path);
    return {
      path,
      status: letter === "A" ? "added" : letter === "D" ? "deleted" : letter === "T" ? "type-changed" : "modified",
      kind,
      large: false,
      size: 0,
      ...(letter === "D" ? {} : { hash: newId }),
      ...(counted ? count : {}),
    };
  });
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
 * The unified diff between `since` and the workspace now, for people and reviewers: text files only, cut at `maxBytes`
 * (default 200,000) with a line that says so. Files whose content of then is not known are named first. Not redacted.
 * Failures: those of `changedFiles`.
 */
export async function diffText(
  cwd: string,
  since: Since,
  options: TreeOptions & { maxBytes?: number } = {},
): Promise<Result<{ tree: string; text: string; isCut: boolean }>> {
  return withNow(cwd, options, async (now) => {
    const raw = await rawChanges(since.tree, now.id, now.options);
    if (!raw.ok) return raw;
    const known = await asFarAsKnown(since.tree, raw.changes, now.options, since.head);
    if (!known.ok) return known;
    const maxBytes = options.maxBytes ?? 200_000;
    const args = ["diff-tree", "-r", "-p", "--no-ext-diff", "--no-textconv", "--no-color", known.from, now.id];
    const output = await git(args, { ...now.options, maxBytes, keepCut: true });
    if (!output.ok) return output;
    const { isCut } = output;
    const text = `${uncertain([...known.unknown])}${output.stdout.toString("utf8")}${isCut ? `\n[… cut at ${maxBytes} bytes …]\n` : ""}`;
    return { ok: true, tree: now.id, text, isCut };
  });
}

/** Whoever reads the diff must not take for the task's work what stood there before. */
function uncertain(paths: readonly string[]): string {
  if (paths.length === 0) return "";
  const names = summarize(paths, 20);
  return `[No commit held these files as they were at the start; they are shown against the last commit before it, or whole: ${names}]\n`;
}

/** `a, b, c and 4 more`. */
export function summarize(paths: readonly string[], most = 5): string {
  const shown = paths.slice(0, most).join(", ");
  return paths.length > most ? `${shown} and ${paths.length - most} more` : shown;
}

/**
 * Contents that no object folder holds: what an earlier snapshot read of uncommitted files is not kept, and a partial clone
 * never had everything. The index and the trees still name them by id.
 */
import { randomBytes } from "node:crypto";
import { lstat, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Result } from "../core/result.ts";
import type { RawChange } from "./changed-files.ts";
import type { GitOptions } from "./git.ts";
import { git, nulList } from "./git.ts";
import type { Repo } from "./repo.ts";

/**
 * Has the next `git add` read again what the index names and no object folder holds: an entry without the file's times
 * counts as changed.
 */
export async function readAgain(repo: Repo, run: GitOptions): Promise<Result> {
  const staged = await git(["ls-files", "--stage", "-z"], run);
  if (!staged.ok) return staged;
  const entries: { mode: string; id: string; path: string }[] = [];
  for (const entry of nulList(staged.stdout)) {
    const tab = entry.indexOf("\t");
    const [mode = "", id = "", stage] = entry.slice(0, tab).split(" ");
    if (mode !== GITLINK && stage === "0") entries.push({ mode, id, path: entry.slice(tab + 1) });
  }
  const lost = await lostOf(
    entries.map((entry) => entry.id),
    run,
  );
  if (!lost.ok) return lost;
  let indexInfo = "";
  for (const { mode, id, path } of entries) {
    // What is not there has nothing to read: deleted, or outside a sparse checkout, whose mark an update would take away.
    if (!lost.ids.has(id) || (await lstat(join(repo.root, path)).catch(() => undefined)) === undefined) continue;
    indexInfo += `${mode} ${id}\t${path}\0`;
  }
  if (indexInfo === "") return { ok: true };
  const marked = await git(["update-index", "-z", "--index-info"], { ...run, input: indexInfo });
  return marked.ok ? { ok: true } : marked;
}

/**
 * `from` as far as its contents are known: a file whose content of then is lost stands as the commit `head` has it, or
 * not at all. `unknown` names these files.
 */
export async function asFarAsKnown(
  from: string,
  changes: readonly RawChange[],
  run: GitOptions,
  head: string | undefined,
): Promise<Result<{ from: string; unknown: ReadonlySet<string> }>> {
  const olds = changes.filter(({ oldMode }) => oldMode !== GITLINK && oldMode !== ABSENT);
  const lost = await lostOf(
    olds.map((change) => change.oldId),
    run,
  );
  if (!lost.ok) return lost;
  const unknown = olds.filter(({ oldId }) => lost.ids.has(oldId));
  if (unknown.length === 0) return { ok: true, from, unknown: new Set() };
  const committed = head === undefined ? new Map<string, string>() : await entriesOf(head, from, run);
  const index = { ...run, indexFile: `${run.indexFile ?? ""}.${randomBytes(6).toString("hex")}` };
  try {
    const read = await git(["read-tree", from], index);
    if (!read.ok) return read;
    const input = unknown.map(({ path, oldId }) => `${committed.get(path) ?? nothing(oldId)}\t${path}\0`).join("");
    const updated = await git(["update-index", "-z", "--index-info"], { ...index, input });
    if (!updated.ok) return updated;
    const written = await git(["write-tree", "--missing-ok"], index);
    if (!written.ok) return written;
    const id = written.stdout.toString("utf8").trim();
    return { ok: true, from: id, unknown: new Set(unknown.map(({ path }) => path)) };
  } finally {
    await rm(index.indexFile, { force: true });
  }
}

const GITLINK = "160000";
const ABSENT = "000000";

/** An index line that removes its path. */
function nothing(id: string): string {
  return `0 ${"0".repeat(id.length)}`;
}

/** `mode id` of the files that a commit has otherwise than a tree. */
async function entriesOf(commit: string, tree: string, run: GitOptions): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  const raw = await git(["diff-tree", "--raw", "--no-abbrev", "-r", "--no-renames", "-z", tree, commit], run);
  // A commit that is gone (rewritten and pruned) costs the comparison with it.
  const parts = raw.ok ? nulList(raw.stdout) : [];
  for (let at = 0; at + 1 < parts.length; at += 2) {
    const [, mode = "", , id = "", letter] = (parts[at] ?? "").split(" ");
    if (letter !== "D" && mode !== GITLINK) found.set(parts[at + 1] ?? "", `${mode} ${id}`);
  }
  return found;
}

/** Which of the objects are in no folder that git looks into. */
async function lostOf(ids: readonly string[], run: GitOptions): Promise<Result<{ ids: ReadonlySet<string> }>> {
  const lost = new Set<string>();
  if (ids.length === 0) return { ok: true, ids: lost };
  const input = `${[...new Set(ids)].join("\n")}\n`;
  const checked = await git(["cat-file", "--batch-check=%(objectname)"], { ...run, input });
  if (!checked.ok) return checked;
  for (const line of checked.stdout.toString("utf8").split("\n")) {
    if (line.endsWith(" missing")) lost.add(line.slice(0, -" missing".length));
  }
  return { ok: true, ids: lost };
}

/** What a person should know beside pass or fail. A finding never changes the outcome; the supervisor weighs it. */
import type { VerifyFinding, VerifySpec } from "../core/contracts/verifier.ts";
import type { ChangedFile } from "./changed-files.ts";
import { collectInputs, hashInput, isTestFile } from "./inputs.ts";
import type { TreeNote } from "./tree-id.ts";

const MOST = 50;

export interface FindingFacts {
  spec: VerifySpec;
  /** Folder whose inputs count: the clean worktree's cwd, or the workspace. */
  cwd: string;
  notes: readonly TreeNote[];
  /** Against the task's start; undefined when it is not known. */
  changed: readonly ChangedFile[] | undefined;
  /** Path from the repository's top to cwd, with a slash at its end, or "". */
  prefix: string;
}

export async function gatherFindings(facts: FindingFacts): Promise<VerifyFinding[]> {
  const inputs = await changedInputs(facts.spec, facts.cwd);
  const named = new Set(inputs.map((finding) => finding.path));
  const files: VerifyFinding[] = [];
  for (const file of facts.changed ?? []) {
    const path = file.path.startsWith(facts.prefix) ? file.path.slice(facts.prefix.length) : file.path;
    if (isTestFile(file.path) && !named.has(path)) {
      files.push({ kind: "changed-input", path, detail: `A test file was ${file.status}${lines(file)}.` });
    }
    if (file.large) {
      const detail = `${file.kind === "binary" ? "A binary" : "A file"} of ${file.size} bytes was ${file.status} (git ${file.hash ?? "?"}).`;
      files.push({ kind: "large-file", path, detail });
    }
  }
  const none: VerifyFinding[] =
    facts.changed?.length === 0
      ? [{ kind: "no-change", detail: "The tree is the same as at the task's start: nothing was changed." }]
      : [];
  return [...inputs, ...capped(files), ...none, ...facts.notes.map(noteFinding)];
}

/** Compares the inputs of now with those of the start; what appeared and what vanished counts as changed. */
export async function changedInputs(spec: VerifySpec, cwd: string): Promise<VerifyFinding[]> {
  const commands = spec.setup === undefined ? spec.commands : [spec.setup, ...spec.commands];
  const now = await collectInputs(cwd, commands);
  const scripts = new Set([...spec.scripts, ...now.scripts]);
  const findings: VerifyFinding[] = [];
  for (const path of [...new Set([...Object.keys(spec.inputs), ...Object.keys(now.hashes)])].sort()) {
    const before = spec.inputs[path];
    // What a changed script does not lead to any more may be as it was.
    const after = now.hashes[path] ?? (await hashInput(cwd, path));
    if (before === after) continue;
    const what = before === undefined ? "was added" : after === undefined ? "was removed" : "was changed";
    if (scripts.has(path)) {
      const detail = `It ${what} since the start and is part of what decides; a person has to sign it off.`;
      findings.push({ kind: "changed-script", path, detail });
    } else {
      findings.push({ kind: "changed-input", path, detail: `It ${what} since the start; the verification reads it.` });
    }
  }
  return [
    ...findings.filter((one) => one.kind === "changed-script"),
    ...capped(findings.filter((one) => one.kind !== "changed-script")),
  ];
}

function noteFinding(note: TreeNote): VerifyFinding {
  const kind = note.kind === "hidden-change" || note.kind === "filter-off" ? "git-state" : "not-covered";
  return { kind, ...(note.path === undefined ? {} : { path: note.path }), detail: note.detail };
}

function lines(file: ChangedFile): string {
  return file.added === undefined ? "" : ` (+${file.added} -${file.deleted ?? 0})`;
}

function capped(findings: VerifyFinding[]): VerifyFinding[] {
  if (findings.length <= MOST) return findings;
  const more = findings.length - MOST;
  return [...findings.slice(0, MOST), { kind: "changed-input", detail: `${more} more files are not listed here.` }];
}

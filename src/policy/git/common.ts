/** What the judges of git's writing verbs share. */
import { describe } from "../invocation.ts";
import { type Scan, scan } from "../options.ts";
import { judgePath } from "../paths/access.ts";
import { judgeFlags } from "../programs/reader.ts";
import { sweepPaths } from "../programs/sweep.ts";
import { isOpen, readable } from "../shell/marks.ts";
import type { Arg } from "../shell/words.ts";
import type { GitCall } from "./git.ts";
import { tableOf } from "./read.ts";

export const DISCARDS = "It discards work that nothing can bring back.";

export const REWRITES = "It rewrites history.";

export const STARTS = "It starts programs.";

export function subjectOf(git: GitCall): string {
  return readable(describe(git));
}

export function known(git: GitCall, flags: string): Scan {
  const found = scan(git.rest, tableOf(`write ${git.verb}`, flags));
  judgeFlags(git, found, true);
  if (found.unknown.length > 0) sweepPaths(git, git.rest);
  return found;
}

export function fine(git: GitCall, reason: string): undefined {
  git.gate.report.allow(`git.${git.verb}`, reason);
  return undefined;
}

export function ask(git: GitCall, reason: string, loss: "lost" | "recoverable" = "recoverable"): undefined {
  git.gate.report.review(`git.${git.verb}`, reason, subjectOf(git), { loss });
  return undefined;
}

/** Paths that git would take up or change: ordinary ones of the workspace. */
export function judgeFilePaths(git: GitCall, operands: readonly Arg[]): void {
  for (const arg of operands) {
    const value = arg.value.replace(/^:(?:\([^)]*\)|[!^/])+/, "");
    judgePath(git.gate, git.state.folders, {
      value: value === "" ? "." : value,
      glob: arg.glob || /[*?[]/.test(value),
      access: "read",
    });
  }
}

/** Names of branches and revisions: an expansion in them is asked. */
export function judgeNames(git: GitCall, operands: readonly Arg[]): void {
  for (const arg of operands) {
    if (isOpen(arg.value) || arg.glob)
      git.gate.report.review("git.dynamic", "An expansion decides what git works on.", readable(arg.raw));
  }
}

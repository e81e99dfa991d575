/** Git's reading verbs: known options, paths inside, no listing of secrets. */
import { type FlagTable, flagTable, has, scan } from "../options.ts";
import { judgePath } from "../paths/access.ts";
import { judgeData, judgeFlags } from "../programs/reader.ts";
import { sweepPaths } from "../programs/sweep.ts";
import { ENVIRONMENT, isOpen, readable } from "../shell/marks.ts";
import type { Arg } from "../shell/words.ts";
import { READ_VERBS } from "./flags.ts";
import type { GitCall } from "./git.ts";

const TABLES = new Map<string, FlagTable>();

export function tableOf(verb: string, spec: string): FlagTable {
  let table = TABLES.get(verb);
  if (table === undefined) {
    table = flagTable(spec);
    TABLES.set(verb, table);
  }
  return table;
}

/** Verbs whose second form changes something. */
function changes(git: GitCall, operands: readonly Arg[]): string | undefined {
  const first = operands[0]?.value ?? "";
  if (git.verb === "reflog" && (first === "expire" || first === "delete" || first === "drop"))
    return "It drops history that could be needed.";
  if (git.verb === "symbolic-ref" && operands.length > 1) return "It moves a reference.";
  if (git.verb === "var" && first !== "GIT_DEFAULT_BRANCH") return "It shows settings that may hold secrets.";
  return undefined;
}

export function judgeGitRead(git: GitCall): void {
  const { gate, verb } = git;
  const found = scan(git.rest, tableOf(verb, READ_VERBS[verb] ?? ""));
  judgeFlags(git, found, true);
  if (found.unknown.length > 0) sweepPaths(git, git.rest);
  const problem = changes(git, found.operands);
  if (problem !== undefined)
    gate.report.review(`git.${verb}`, problem, readable(git.rest.map((arg) => arg.value).join(" ")), { loss: "lost" });
  const isPattern = verb === "grep" && !has(found, "-e", "-f");
  if (isPattern) judgeData(git, found.operands.slice(0, 1));
  judgeOperands(git, isPattern ? found.operands.slice(1) : found.operands);
  gate.report.allow(`git.${verb}`, `\`git ${verb}\` only reads.`);
}

/** Revisions and paths. `REV:PATH` reads PATH from history; a path outside or with secrets is judged as a file. */
export function judgeOperands(git: GitCall, operands: readonly Arg[]): void {
  for (const arg of operands) {
    const text = arg.value;
    if (isOpen(text)) {
      git.gate.report.review("git.dynamic", "An expansion decides what git reads.", readable(arg.raw));
      if (text.includes(ENVIRONMENT)) continue;
    }
    const colon = text.indexOf(":");
    const inHistory = colon > 0 && !text.startsWith(":(") && !text.startsWith("/") ? text.slice(colon + 1) : undefined;
    const path = text.startsWith(":") ? text.replace(/^:(?:\([^)]*\)|[!^/]|\d:)+/, "") : (inHistory ?? text);
    if (path === "" || !mayBePath(path)) continue;
    judgePath(git.gate, git.state.folders, { value: path, glob: arg.glob || /[*?[]/.test(path), access: "read" });
  }
}

/** Revisions such as `HEAD~2`, `main..topic` or `v1.0^{commit}` are no paths. */
function mayBePath(text: string): boolean {
  return (
    text.startsWith("/") ||
    text.startsWith("~") ||
    text.startsWith("../") ||
    text === ".." ||
    text.includes("/../") ||
    text.startsWith(".") ||
    text.includes("/.") ||
    text.includes("/")
  );
}

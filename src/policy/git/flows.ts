/**
 * What the output of a reading verb is known to be. Only exact forms count: an option such as `--format` could make git
 * print any text, which a later part would take for an option or a path.
 */
import { A_NUMBER, A_REVISION, FILE_NAMES, type Flow, NOTHING_KNOWN } from "../shell/flow.ts";
import type { GitCall } from "./git.ts";

/** Options with which each verb prints commit ids or names of branches and tags. */
const REVISIONS: Readonly<Record<string, RegExp>> = {
  "rev-parse": /^(?:--short(?:=\d+)?|--abbrev-ref|--verify|-q|--quiet|--symbolic-full-name)$/,
  "merge-base": /^(?:-a|--all|--octopus|--fork-point)$/,
  "rev-list": /^(?:-n|-\d+|--max-count=\d+|--reverse|--first-parent|--no-merges|--max-parents=\d+|--all)$/,
  describe: /^(?:--tags|--always|--abbrev=\d+|--long|--all|--exact-match)$/,
  "symbolic-ref": /^(?:--short|-q|--quiet)$/,
  log: /^(?:-1|-n1|--format=%[Hh]|--pretty=%[Hh]|--pretty=format:%[Hh])$/,
  branch: /^--show-current$/,
};

/** Options with which each verb prints names of tracked files. */
const NAMES: Readonly<Record<string, RegExp>> = {
  "ls-files": /^(?:-z|-c|-m|-d|--cached|--modified|--deleted|--full-name|--error-unmatch|--)$/,
  "ls-tree": /^(?:-r|-z|--name-only|--full-name|--full-tree)$/,
  diff: /^(?:--name-only|--cached|--staged|--diff-filter=[A-Za-z]+|-z|--merge-base|--)$/,
  grep: /^(?:-l|-i|-w|-E|-F|-z|--files-with-matches|--name-only|--)$/,
};
const LISTS: Readonly<Record<string, RegExp>> = {
  "ls-tree": /^--name-only$/,
  diff: /^--name-only$/,
  grep: /^(?:-l|--files-with-matches|--name-only)$/,
};

export function flowOfRead(git: GitCall): Flow {
  const { verb } = git;
  const options = git.rest.map((arg) => arg.value).filter((word) => word.startsWith("-"));
  if (verb === "rev-list" && options.length === 1 && options[0] === "--count") return A_NUMBER;
  const revisions = Object.hasOwn(REVISIONS, verb) ? REVISIONS[verb] : undefined;
  if (
    revisions !== undefined &&
    options.every((word) => revisions.test(word)) &&
    (verb !== "log" || options.length > 1)
  )
    return A_REVISION;
  const names = Object.hasOwn(NAMES, verb) ? NAMES[verb] : undefined;
  const lists = Object.hasOwn(LISTS, verb) ? LISTS[verb] : undefined;
  if (names === undefined || !options.every((word) => names.test(word))) return NOTHING_KNOWN;
  return lists === undefined || options.some((word) => lists.test(word)) ? FILE_NAMES : NOTHING_KNOWN;
}

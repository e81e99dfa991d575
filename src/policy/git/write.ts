/** Git's verbs that change the repository or the files: what can be undone is free, what discards is asked. */
import { describe } from "../invocation.ts";
import { has, type Scan, scan } from "../options.ts";
import { judgePath } from "../paths/access.ts";
import { judgeClaudeWords } from "../programs/claude.ts";
import { judgeFlags } from "../programs/reader.ts";
import { runText } from "../programs/shells.ts";
import { sweepPaths } from "../programs/sweep.ts";
import { tryEach } from "../programs/wrappers.ts";
import type { Flow } from "../shell/flow.ts";
import { hasMark, isOpen, readable } from "../shell/marks.ts";
import type { Arg } from "../shell/words.ts";
import { configKeyKind } from "./config.ts";
import { flowOfRead } from "./flows.ts";
import type { GitCall } from "./git.ts";
import { judgeOperands, tableOf } from "./read.ts";

type Judge = (git: GitCall) => Flow | undefined;

/** Asked in every profile. `lost`: neither git nor a command can bring it back. */
const asks =
  (reason: string, loss: "lost" | "recoverable" = "recoverable"): Judge =>
  (git) => {
    git.gate.report.review(`git.${git.verb}`, reason, readable(describe(git)), { loss });
    sweepPaths(git, git.rest);
    judgeClaudeWords(git);
    if (git.verb === "bisect" || git.verb === "submodule" || git.verb === "difftool") tryEach(git, git.rest);
    for (const arg of git.rest) if (arg.value.includes(" ")) runText(git, arg.value, `git ${git.verb}`, true);
    return undefined;
  };

const DISCARDS = "It discards work that nothing can bring back.";
const REWRITES = "It rewrites history.";
const STARTS = "It starts programs.";

export const WRITE_VERBS: Readonly<Record<string, Judge>> = {
  add,
  stage: add,
  commit,
  branch,
  checkout,
  switch: switchBranch,
  stash,
  worktree,
  tag,
  remote,
  config,
  merge,
  "cherry-pick": pick,
  revert: pick,
  reset,
  restore,
  rm: removeFiles,
  mv: moveFiles,
  init,
  notes: notes,
  apply: asks("It changes files by a patch."),
  am: asks("It commits patches."),
  rebase,
  clean,
  gc,
  prune: asks(DISCARDS, "lost"),
  repack: asks("It repacks the repository."),
  pack: asks("It repacks the repository."),
  bisect: asks(STARTS),
  submodule: asks(STARTS),
  "filter-branch": asks(REWRITES, "lost"),
  "filter-repo": asks(REWRITES, "lost"),
  "update-ref": asks(REWRITES, "lost"),
  "update-index": asks("It changes git's index."),
  "read-tree": asks("It changes git's index."),
  "checkout-index": asks("It overwrites files.", "lost"),
  replace: asks(REWRITES),
  archive: asks("It writes an archive."),
  bundle: asks("It writes a bundle of the history."),
  difftool: asks(STARTS),
  mergetool: asks(STARTS),
  credential: asks("It shows or stores credentials."),
  "credential-store": asks("It shows or stores credentials."),
  "credential-cache": asks("It shows or stores credentials."),
  daemon: asks("It serves the repository to others."),
  instaweb: asks("It serves the repository to others."),
  "http-backend": asks("It serves the repository to others."),
  "format-patch": asks("It writes files."),
  "sparse-checkout": asks("It removes files from the work tree."),
  maintenance: asks("It registers work for later."),
  hook: asks(STARTS),
  rerere: asks("It changes recorded merges."),
  lfs: asks(STARTS),
  "hash-object": asks("It writes an object."),
  "write-tree": asks("It writes an object."),
  "commit-tree": asks("It writes an object."),
};

function subjectOf(git: GitCall): string {
  return readable(describe(git));
}

function known(git: GitCall, flags: string): Scan {
  const found = scan(git.rest, tableOf(`write ${git.verb}`, flags));
  judgeFlags(git, found, true);
  if (found.unknown.length > 0) sweepPaths(git, git.rest);
  return found;
}

function fine(git: GitCall, reason: string): undefined {
  git.gate.report.allow(`git.${git.verb}`, reason);
  return undefined;
}

function ask(git: GitCall, reason: string, loss: "lost" | "recoverable" = "recoverable"): undefined {
  git.gate.report.review(`git.${git.verb}`, reason, subjectOf(git), { loss });
  return undefined;
}

function add(git: GitCall): undefined {
  const found = scan(
    git.rest,
    tableOf(
      "write add",
      "-AufnvN --all --update --force --dry-run --verbose --intent-to-add --no-all --ignore-errors --ignore-missing --renormalize --chmod= --refresh --sparse --no-ignore-removal",
    ),
  );
  judgeFlags(git, found, false);
  judgeFilePaths(git, found.operands);
  return fine(git, "It changes the index only.");
}

/** Paths that git would take up or change: ordinary ones of the workspace. */
function judgeFilePaths(git: GitCall, operands: readonly Arg[]): void {
  for (const arg of operands) {
    const value = arg.value.replace(/^:(?:\([^)]*\)|[!^/])+/, "");
    judgePath(git.gate, git.state.folders, {
      value: value === "" ? "." : value,
      glob: arg.glob || /[*?[]/.test(value),
      access: "read",
    });
  }
}

const COMMIT =
  "-aqvsneoi -m= -F=< -t=< -C= -S=? -u=? --all --message= --file=< --template=< --amend --no-edit --allow-empty --allow-empty-message --quiet " +
  "--verbose --signoff --no-signoff --author= --date= --dry-run --short --porcelain --long --fixup= --squash= --reuse-message= --cleanup= " +
  "--no-gpg-sign --status --no-status --only --include --trailer= --edit --reset-author --no-post-rewrite --branch --untracked-files=? -z --null";

function commit(git: GitCall): undefined {
  const found = known({ ...git }, COMMIT);
  const { report } = git.gate;
  if (has(found, "-n")) report.review("git.no-verify", "It skips the project's own checks.", "-n");
  if (git.gate.context.profile === "strict") ask(git, "The strict profile asks before commits.");
  judgeFilePaths(git, found.operands);
  return fine(git, "A local commit can be undone.");
}

const BRANCH =
  "-arvqli -vv --all --remotes --verbose --quiet --list --show-current --column=? --no-column --sort= --merged=? --no-merged=? --contains=? --no-contains=? --points-at= --format= --color=? --no-color --abbrev=? --no-abbrev --ignore-case --track=? --no-track -t --recurse-submodules --omit-empty";

function branch(git: GitCall): Flow | undefined {
  if (
    git.rest.some(
      (arg) =>
        (/^-[a-zA-Z]*[dDmMcCfu]/.test(arg.value) && !arg.value.startsWith("--")) ||
        /^--(?:delete|move|copy|force|set-upstream|unset-upstream|edit-description)/.test(arg.value),
    )
  ) {
    sweepPaths(git, git.rest);
    return ask(git, "It removes, moves or repoints a branch.");
  }
  const found = known(git, BRANCH);
  judgeNames(git, found.operands);
  fine(git, "It lists branches or makes one.");
  return flowOfRead(git);
}

/** Names of branches and revisions: an expansion in them is asked. */
function judgeNames(git: GitCall, operands: readonly Arg[]): void {
  for (const arg of operands) {
    if (isOpen(arg.value) || arg.glob)
      git.gate.report.review("git.dynamic", "An expansion decides what git works on.", readable(arg.raw));
  }
}

function checkout(git: GitCall): undefined {
  const found = scan(
    git.rest,
    tableOf(
      "write checkout",
      "-q -b= --quiet --track=? -t --no-track --no-guess --guess --detach -d --progress --no-progress --orphan= -l",
    ),
  );
  judgeFlags(git, found, true);
  if (found.unknown.length > 0) {
    sweepPaths(git, git.rest);
    return ask(git, DISCARDS, "lost");
  }
  if (git.rest.some((arg) => arg.value === "--")) return ask(git, DISCARDS, "lost");
  judgeNames(git, found.operands);
  if (has(found, "-b", "--orphan")) return fine(git, "It makes a new branch.");
  if (found.operands.length !== 1) return ask(git, DISCARDS, "lost");
  const [name] = found.operands as [Arg];
  if (name.value === "-" || hasMark(name.value)) return fine(git, "It goes to another branch.");
  // A word that is also a file would restore that file.
  for (const folder of git.state.folders) {
    const kind = git.gate.facts.kind(name.value.startsWith("/") ? name.value : `${folder}/${name.value}`);
    if (kind !== "absent" || /[*?[]|^\.|\/\./.test(name.value))
      return ask(git, "It could restore a file and discard edits.", "lost");
  }
  return fine(git, "It goes to another branch; edits stay or git refuses.");
}

function switchBranch(git: GitCall): undefined {
  const found = known(
    git,
    "-qdt -c= --create= --quiet --detach --track=? --no-track --guess --no-guess --orphan= --progress --no-progress",
  );
  judgeNames(git, found.operands);
  return fine(git, "It goes to another branch; edits stay or git refuses.");
}

const STASH_FREE = new Set(["push", "save", "list", "show", "pop", "apply", "create"]);

function stash(git: GitCall): undefined {
  const [first, ...others] = git.rest;
  const verb = first === undefined || first.value.startsWith("-") ? "push" : first.value;
  if (!STASH_FREE.has(verb)) {
    const lost = verb === "drop" || verb === "clear";
    return ask(
      git,
      lost ? "It drops stashed work." : "This verb of stash is not known to be harmless.",
      lost ? "lost" : "recoverable",
    );
  }
  const rest = first?.value === verb ? others : git.rest;
  const found = scan(
    rest,
    tableOf(
      "write stash",
      "-kuaqpSz -# -m= --message= --keep-index --no-keep-index --include-untracked --all --quiet --staged --index --patch --stat --name-only --name-status --oneline --format= --pretty= --numstat --color=? --no-color --only-untracked",
    ),
  );
  judgeFlags(git, found, true);
  judgeOperands(git, found.operands);
  return fine(git, "Work is kept in a stash.");
}

function worktree(git: GitCall): undefined {
  const [first, ...rest] = git.rest;
  if (first?.value === "list") return fine(git, "It lists work trees.");
  if (first?.value !== "add") return ask(git, "It moves or removes work trees.", "lost");
  const found = scan(
    rest,
    tableOf(
      "write worktree",
      "-qd -b= --detach --quiet --track --no-track --guess-remote --no-guess-remote --lock --reason= --orphan --checkout --no-checkout",
    ),
  );
  judgeFlags(git, found, true);
  const [path, ...names] = found.operands;
  if (path !== undefined)
    judgePath(git.gate, git.state.folders, { value: path.value, glob: path.glob, access: "write" });
  judgeNames(git, names);
  return fine(git, "A new work tree inside the workspace.");
}

function tag(git: GitCall): undefined {
  const found = scan(
    git.rest,
    tableOf(
      "write tag",
      "-lin=? -n=? -l=? -i --list=? --sort= --contains=? --no-contains=? --merged=? --no-merged=? --points-at= --format= --column=? --no-column --color=? --no-color --ignore-case --omit-empty",
    ),
  );
  const listing =
    found.unknown.length === 0 &&
    (found.operands.length === 0 ||
      has(found, "-l", "--list", "-n", "--contains", "--merged", "--no-merged", "--points-at", "--no-contains"));
  if (listing) return fine(git, "It lists tags.");
  sweepPaths(git, git.rest);
  return ask(git, "It makes or removes a tag, which is a release in many projects.");
}

function remote(git: GitCall): undefined {
  const words = git.rest.map((arg) => arg.value);
  if (words.length === 0 || words.every((word) => word === "-v" || word === "--verbose") || words[0] === "get-url")
    return fine(git, "It lists remotes.");
  sweepPaths(git, git.rest);
  return ask(git, "It changes or asks a remote.");
}

const CONFIG_READS = new Set(["--get", "--get-all", "--get-regexp", "--list", "-l", "--get-urlmatch", "get", "list"]);
const CONFIG_SCOPES = new Set([
  "--local",
  "--worktree",
  "--show-origin",
  "--show-scope",
  "--name-only",
  "-z",
  "--null",
  "--includes",
  "--bool",
  "--int",
  "--path",
  "--type",
  "--default",
]);

function config(git: GitCall): undefined {
  const { report } = git.gate;
  const words = git.rest.map((arg) => arg.value);
  const reads = words.some((word) => CONFIG_READS.has(word));
  const plain = words.filter(
    (word) => !word.startsWith("-") && !["get", "set", "list", "unset", "edit"].includes(word),
  );
  if (
    reads ||
    (plain.length === 1 &&
      words.every((word) => !word.startsWith("-") || CONFIG_SCOPES.has(word)) &&
      !["set", "unset", "edit"].includes(words[0] ?? ""))
  ) {
    const odd = words.filter(
      (word) =>
        word.startsWith("-") &&
        !CONFIG_READS.has(word) &&
        !CONFIG_SCOPES.has(word) &&
        !word.startsWith("--type=") &&
        !word.startsWith("--default="),
    );
    if (odd.length > 0)
      report.review("git.config", "It reads a file or scope beyond the repository's own.", subjectOf(git));
    sweepPaths(git, git.rest);
    if (
      plain.length !== 1 ||
      words.includes("--get-regexp") ||
      /cred|token|pass|secret|header|askpass|^url\./i.test(plain[0] ?? "")
    ) {
      report.review("git.config", "All settings together may hold a credential.", subjectOf(git));
    }
    return fine(git, "It shows settings.");
  }
  const [key, value] = plain;
  for (const [index, word] of plain.entries()) {
    if (configKeyKind(word, plain[index + 1]) === "runs" && /\./.test(word))
      report.deny("git.config-runs", "Git would run the value of this setting.", subjectOf(git));
  }
  if (key !== undefined && value?.startsWith("!")) runText(git, value.slice(1), "git alias", true);
  sweepPaths(git, git.rest);
  return ask(git, "It changes git's settings.");
}

function merge(git: GitCall): undefined {
  if (git.rest.some((arg) => /^--(?:abort|quit)$/.test(arg.value))) return ask(git, DISCARDS, "lost");
  const found = known(
    git,
    "-qv -m= -F=< --no-ff --ff --ff-only --no-edit --no-commit --commit --squash --no-squash --stat --no-stat -n --log=? --quiet --verbose --continue --signoff --message=",
  );
  judgeNames(git, found.operands);
  return fine(git, "A local merge can be undone.");
}

function pick(git: GitCall): undefined {
  if (git.rest.some((arg) => /^--(?:abort|quit|skip)$/.test(arg.value))) return ask(git, DISCARDS, "lost");
  const found = known(
    git,
    "-xnsr -m= --no-commit --no-edit --mainline= --signoff --continue --ff --allow-empty --keep-redundant-commits",
  );
  judgeNames(git, found.operands);
  return fine(git, "A local commit can be undone.");
}

function reset(git: GitCall): undefined {
  if (git.rest.some((arg) => /^--(?:h|k|me)/.test(arg.value))) return ask(git, DISCARDS, "lost");
  const found = known(git, "-qN --quiet --soft --mixed --no-refresh --refresh --intent-to-add");
  judgeNames(git, found.operands);
  judgeOperands(git, found.operands);
  return fine(git, "Files stay as they are; the reflog keeps the commits.");
}

function restore(git: GitCall): undefined {
  const found = scan(
    git.rest,
    tableOf("write restore", "-SqW -s= --staged --source= --quiet --worktree --progress --no-progress"),
  );
  judgeFlags(git, found, true);
  judgeFilePaths(git, found.operands);
  if (has(found, "--staged", "-S") && !has(found, "--worktree", "-W") && found.unknown.length === 0)
    return fine(git, "It changes the index only.");
  return ask(git, DISCARDS, "lost");
}

function removeFiles(git: GitCall): undefined {
  const found = known(git, "-rqnf --cached --quiet --dry-run --ignore-unmatch --force --sparse");
  if (has(found, "--cached", "--dry-run", "-n")) {
    judgeFilePaths(git, found.operands);
    return fine(git, "It changes the index only.");
  }
  for (const arg of found.operands)
    judgePath(git.gate, git.state.folders, {
      value: arg.value,
      glob: arg.glob || /[*?[]/.test(arg.value),
      access: "remove",
      sweeping: true,
      keepLast: true,
    });
  return fine(git, "Git can bring back what it removes.");
}

function moveFiles(git: GitCall): undefined {
  const found = known(git, "-kvn --verbose --dry-run");
  for (const arg of found.operands.slice(0, -1))
    judgePath(git.gate, git.state.folders, { value: arg.value, glob: arg.glob, access: "write" });
  const target = found.operands.at(-1);
  if (target !== undefined)
    judgePath(git.gate, git.state.folders, { value: target.value, glob: target.glob, access: "write" });
  return fine(git, "Git can move it back.");
}

function init(git: GitCall): undefined {
  const found = known(git, "-q -b= --quiet --initial-branch= --object-format=");
  for (const arg of found.operands)
    judgePath(git.gate, git.state.folders, { value: arg.value, glob: arg.glob, access: "write" });
  return ask(git, "It makes a repository.");
}

function notes(git: GitCall): undefined {
  const verb = git.rest[0]?.value ?? "list";
  return verb === "list" || verb === "show" ? fine(git, "It shows notes.") : ask(git, "It changes notes.");
}

function rebase(git: GitCall): undefined {
  for (const [index, arg] of git.rest.entries()) {
    const text =
      arg.value === "-x" || arg.value === "--exec"
        ? git.rest[index + 1]?.value
        : /^(?:--exec=|-x)(.+)$/.exec(arg.value)?.[1];
    if (text !== undefined) runText(git, text, "git rebase --exec", true);
  }
  sweepPaths(git, git.rest);
  return ask(git, REWRITES);
}

function clean(git: GitCall): undefined {
  sweepPaths(git, git.rest);
  if (git.rest.some((arg) => arg.value === "-n" || arg.value === "--dry-run" || /^-[a-zA-Z]*n/.test(arg.value)))
    return ask(git, "It lists what a clean would remove.");
  return ask(git, DISCARDS, "lost");
}

function gc(git: GitCall): undefined {
  const prunes = git.rest.some((arg) => arg.value.startsWith("--prune") || arg.value === "--aggressive");
  return ask(git, prunes ? DISCARDS : "It repacks the repository.", prunes ? "lost" : "recoverable");
}

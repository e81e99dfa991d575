/** Git's verbs that change the repository or the files: what can be undone is free, what discards is asked. */
import { describe } from "../invocation.ts";
import { judgePath } from "../paths/access.ts";
import { judgeClaudeWords } from "../programs/claude.ts";
import { runText } from "../programs/shells.ts";
import { sweepPaths } from "../programs/sweep.ts";
import { tryEach } from "../programs/wrappers.ts";
import type { Flow } from "../shell/flow.ts";
import { readable } from "../shell/marks.ts";
import { branch, checkout, merge, pick, remote, switchBranch, tag, worktree } from "./branches.ts";
import { ask, DISCARDS, fine, known, REWRITES, STARTS } from "./common.ts";
import { add, clean, commit, moveFiles, removeFiles, reset, restore, stash } from "./files.ts";
import type { GitCall } from "./git.ts";
import { config } from "./settings.ts";

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

function gc(git: GitCall): undefined {
  const prunes = git.rest.some((arg) => arg.value.startsWith("--prune") || arg.value === "--aggressive");
  return ask(git, prunes ? DISCARDS : "It repacks the repository.", prunes ? "lost" : "recoverable");
}

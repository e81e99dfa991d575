/** Branches, tags, remotes, merges: names that can be made again are free, removing and repointing is asked. */
import { has, scan } from "../options.ts";
import { judgePath } from "../paths/access.ts";
import { judgeFlags } from "../programs/reader.ts";
import { sweepPaths } from "../programs/sweep.ts";
import type { Flow } from "../shell/flow.ts";
import { hasMark } from "../shell/marks.ts";
import type { Arg } from "../shell/words.ts";
import { ask, DISCARDS, fine, judgeNames, known } from "./common.ts";
import { flowOfRead } from "./flows.ts";
import type { GitCall } from "./git.ts";
import { tableOf } from "./read.ts";

export const BRANCH =
  "-arvqli -vv --all --remotes --verbose --quiet --list --show-current --column=? --no-column --sort= --merged=? --no-merged=? --contains=? --no-contains=? --points-at= --format= --color=? --no-color --abbrev=? --no-abbrev --ignore-case --track=? --no-track -t --recurse-submodules --omit-empty";

export function branch(git: GitCall): Flow | undefined {
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

export function checkout(git: GitCall): undefined {
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

export function switchBranch(git: GitCall): undefined {
  const found = known(
    git,
    "-qdt -c= --create= --quiet --detach --track=? --no-track --guess --no-guess --orphan= --progress --no-progress",
  );
  judgeNames(git, found.operands);
  return fine(git, "It goes to another branch; edits stay or git refuses.");
}

export function tag(git: GitCall): undefined {
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

export function remote(git: GitCall): undefined {
  const words = git.rest.map((arg) => arg.value);
  if (words.length === 0 || words.every((word) => word === "-v" || word === "--verbose") || words[0] === "get-url")
    return fine(git, "It lists remotes.");
  sweepPaths(git, git.rest);
  return ask(git, "It changes or asks a remote.");
}

export function merge(git: GitCall): undefined {
  if (git.rest.some((arg) => /^--(?:abort|quit)$/.test(arg.value))) return ask(git, DISCARDS, "lost");
  const found = known(
    git,
    "-qv -m= -F=< --no-ff --ff --ff-only --no-edit --no-commit --commit --squash --no-squash --stat --no-stat -n --log=? --quiet --verbose --continue --signoff --message=",
  );
  judgeNames(git, found.operands);
  return fine(git, "A local merge can be undone.");
}

export function pick(git: GitCall): undefined {
  if (git.rest.some((arg) => /^--(?:abort|quit|skip)$/.test(arg.value))) return ask(git, DISCARDS, "lost");
  const found = known(
    git,
    "-xnsr -m= --no-commit --no-edit --mainline= --signoff --continue --ff --allow-empty --keep-redundant-commits",
  );
  judgeNames(git, found.operands);
  return fine(git, "A local commit can be undone.");
}

export function worktree(git: GitCall): undefined {
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

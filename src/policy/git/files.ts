/** The index, commits, stashes and the files of the work tree. */
import { has, scan } from "../options.ts";
import { judgePath } from "../paths/access.ts";
import { judgeFlags } from "../programs/reader.ts";
import { sweepPaths } from "../programs/sweep.ts";
import { ask, DISCARDS, fine, judgeFilePaths, judgeNames, known } from "./common.ts";
import type { GitCall } from "./git.ts";
import { judgeOperands, tableOf } from "./read.ts";

export function add(git: GitCall): undefined {
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

export const COMMIT =
  "-aqvsneoi -m= -F=< -t=< -C= -S=? -u=? --all --message= --file=< --template=< --amend --no-edit --allow-empty --allow-empty-message --quiet " +
  "--verbose --signoff --no-signoff --author= --date= --dry-run --short --porcelain --long --fixup= --squash= --reuse-message= --cleanup= " +
  "--no-gpg-sign --status --no-status --only --include --trailer= --edit --reset-author --no-post-rewrite --branch --untracked-files=? -z --null";

export function commit(git: GitCall): undefined {
  const found = known({ ...git }, COMMIT);
  const { report } = git.gate;
  if (has(found, "-n")) report.review("git.no-verify", "It skips the project's own checks.", "-n");
  if (git.gate.context.profile === "strict") ask(git, "The strict profile asks before commits.");
  judgeFilePaths(git, found.operands);
  return fine(git, "A local commit can be undone.");
}

export const STASH_FREE = new Set(["push", "save", "list", "show", "pop", "apply", "create"]);

export function stash(git: GitCall): undefined {
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

export function reset(git: GitCall): undefined {
  if (git.rest.some((arg) => /^--(?:h|k|me)/.test(arg.value))) return ask(git, DISCARDS, "lost");
  const found = known(git, "-qN --quiet --soft --mixed --no-refresh --refresh --intent-to-add");
  judgeNames(git, found.operands);
  judgeOperands(git, found.operands);
  return fine(git, "Files stay as they are; the reflog keeps the commits.");
}

export function restore(git: GitCall): undefined {
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

export function removeFiles(git: GitCall): undefined {
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

export function moveFiles(git: GitCall): undefined {
  const found = known(git, "-kvn --verbose --dry-run");
  for (const arg of found.operands.slice(0, -1))
    judgePath(git.gate, git.state.folders, { value: arg.value, glob: arg.glob, access: "write" });
  const target = found.operands.at(-1);
  if (target !== undefined)
    judgePath(git.gate, git.state.folders, { value: target.value, glob: target.glob, access: "write" });
  return fine(git, "Git can move it back.");
}

export function clean(git: GitCall): undefined {
  sweepPaths(git, git.rest);
  if (git.rest.some((arg) => arg.value === "-n" || arg.value === "--dry-run" || /^-[a-zA-Z]*n/.test(arg.value)))
    return ask(git, "It lists what a clean would remove.");
  return ask(git, DISCARDS, "lost");
}

/** Options of git's verbs that only choose what is shown (git 2.43). Not here: --output, --ext-diff, --textconv, -O, --upload-pack ... */

export const DIFF_FLAGS =
  "-apubwRzDM -p -U= -S= -G= -l= -W -B=? -C=? -M=? -X=? -r -t --patch --no-patch -s --unified= --raw --patch-with-raw --indent-heuristic " +
  "--no-indent-heuristic --minimal --patience --histogram --anchored= --diff-algorithm= --stat --stat=? --stat-width= --stat-count= " +
  "--compact-summary --numstat --shortstat --dirstat=? --cumulative --summary --patch-with-stat --name-only --name-status " +
  "--submodule=? --color=? --no-color --color-moved=? --no-color-moved --color-words=? --word-diff=? --word-diff-regex= " +
  "--no-renames --rename-empty --no-rename-empty --check --ws-error-highlight= --full-index --binary --abbrev=? --break-rewrites=? " +
  "--find-renames=? --find-copies=? --find-copies-harder --irreversible-delete --diff-filter= --find-object= --pickaxe-all " +
  "--pickaxe-regex --skip-to= --rotate-to= --relative=? --no-relative --text --ignore-cr-at-eol --ignore-space-at-eol " +
  "--ignore-space-change --ignore-all-space --ignore-blank-lines --ignore-matching-lines= --inter-hunk-context= " +
  "--function-context --exit-code --quiet --no-ext-diff --no-textconv --ignore-submodules=? --src-prefix= --dst-prefix= " +
  "--no-prefix --default-prefix --line-prefix= --ita-invisible-in-index --cached --staged --merge-base --cc -c -m --combined-all-paths --output=>!";

const LOG_ONLY =
  "-# -n= -i -E -F -P -g -q --max-count= --skip= --since= --after= --until= --before= --author= --committer= --grep= --all-match " +
  "--invert-grep --regexp-ignore-case --basic-regexp --extended-regexp --fixed-strings --perl-regexp --merges --no-merges " +
  "--min-parents= --max-parents= --first-parent --not --all --branches=? --tags=? --remotes=? --glob= --exclude= --reflog " +
  "--single-worktree --cherry-mark --cherry-pick --left-only --right-only --cherry --walk-reflogs --merge --boundary " +
  "--simplify-by-decoration --full-history --dense --sparse --simplify-merges --ancestry-path=? --date-order --author-date-order " +
  "--topo-order --reverse --no-walk=? --do-walk --pretty=? --format= --abbrev-commit --no-abbrev-commit --oneline --encoding= " +
  "--expand-tabs=? --notes=? --no-notes --show-signature --relative-date --date= --parents --children --left-right --graph " +
  "--no-graph --show-linear-break=? --count --timestamp --header --follow --decorate=? --no-decorate --decorate-refs= " +
  "--decorate-refs-exclude= --source --mailmap --no-mailmap --use-mailmap --log-size -L= --no-commit-id --root --objects " +
  "--show-notes=? --stdin --disk-usage=? --max-age= --min-age= --clear-decorations";

export const LOG_FLAGS = `${DIFF_FLAGS} ${LOG_ONLY}`;

/** What each reading verb may be told. */
export const READ_VERBS: Readonly<Record<string, string>> = {
  status:
    "-sbvuz -u=? --short --branch --show-stash --porcelain=? --long --verbose --untracked-files=? --ignored=? --ignore-submodules=? --column=? --no-column --ahead-behind --no-ahead-behind --renames --no-renames --find-renames=?",
  diff: `${DIFF_FLAGS} --no-index -0 -1 -2 -3 --base --ours --theirs`,
  "diff-tree": `${LOG_FLAGS} -r -t`,
  "diff-index": DIFF_FLAGS,
  "diff-files": DIFF_FLAGS,
  log: LOG_FLAGS,
  show: LOG_FLAGS,
  whatchanged: LOG_FLAGS,
  reflog: LOG_FLAGS,
  shortlog: `${LOG_FLAGS} -nsecw --numbered --summary --email --committer --group=`,
  blame:
    "-bcefklnpstwM -L= -S= -C=? -M=? -l --root --show-stats --porcelain --line-porcelain --incremental --encoding= --date= --score-debug --show-name --show-number --show-email --no-progress --progress --since= --ignore-rev= --ignore-revs-file=< --abbrev= --color-lines --color-by-age --reverse --first-parent",
  annotate: "-bcefklnpstw -L= -C=? -M=?",
  "rev-parse":
    "--show-toplevel --show-prefix --show-cdup --git-dir --absolute-git-dir --git-common-dir --is-inside-work-tree --is-inside-git-dir --is-bare-repository --is-shallow-repository --show-superproject-working-tree --abbrev-ref=? --short=? --verify --quiet -q --symbolic --symbolic-full-name --all --branches=? --tags=? --remotes=? --default= --revs-only --no-revs --flags --no-flags --sq --not --since= --until= --show-object-format=? --git-path= --path-format= --end-of-options",
  "rev-list": `${LOG_FLAGS} --quiet --bisect --use-bitmap-index --progress=`,
  "ls-files":
    "-cdomkstuvfzi -x= -X=< --cached --deleted --others --modified --killed --stage --unmerged --directory --no-empty-directory --exclude= --exclude-from=< --exclude-standard --error-unmatch --full-name --recurse-submodules --abbrev=? --format= --deduplicate --eol --ignored --debug --sparse",
  "ls-tree": "-drtlz --long --name-only --name-status --object-only --full-name --full-tree --abbrev=? --format=",
  "cat-file":
    "-teps --batch=? --batch-check=? --batch-all-objects --unordered --buffer --allow-unknown-type --follow-symlinks",
  "merge-base": "-a --all --octopus --independent --is-ancestor --fork-point",
  "merge-tree": "-z --write-tree --name-only --messages --no-messages --merge-base=",
  describe:
    "--dirty=? --broken=? --all --tags --contains --abbrev=? --candidates= --exact-match --debug --long --match= --exclude= --always --first-parent",
  "name-rev": "--tags --refs= --exclude= --all --name-only --no-undefined --always --annotate-stdin",
  "for-each-ref":
    "--count= --sort= --format= --color=? --shell --points-at= --merged=? --no-merged=? --contains=? --no-contains=? --ignore-case --exclude= --omit-empty --stdin",
  grep: "-aiInvwlLcohHEGFPpWqz -# -A= -B= -C= -e= -f=< -m= --cached --untracked --no-index --recurse-submodules --text --ignore-case --textconv=? --max-depth= -r --recursive --no-recursive --word-regexp --invert-match --full-name --extended-regexp --basic-regexp --perl-regexp --fixed-strings --line-number --column --files-with-matches --name-only --files-without-match --null --only-matching --count --color=? --no-color --break --heading --show-function --context= --after-context= --before-context= --function-context --max-count= --threads= --and --or --not --all-match --quiet --exclude-standard --no-exclude-standard",
  "show-ref": "--head --branches --heads --tags -d --dereference -s --hash=? --verify --abbrev=? -q --quiet --exists",
  "show-branch": "-ar --all --remotes --current --topo-order --sha1-name --independent --merge-base --list",
  "count-objects": "-vH --verbose --human-readable",
  "check-ignore": "-qvnz --quiet --verbose --stdin --non-matching --no-index",
  "check-attr": "-az --all --cached --stdin",
  "check-ref-format": "--branch --normalize --allow-onelevel --refspec-pattern",
  cherry: "-v --abbrev=?",
  "range-diff": `${DIFF_FLAGS} --creation-factor= --left-only --right-only --no-dual-color`,
  "verify-commit": "-v --verbose --raw",
  "verify-tag": "-v --verbose --raw --format=",
  version: "--build-options",
  var: "-l",
  help: "-ag",
  "patch-id": "--stable --unstable --verbatim",
  fsck: "--no-dangling --unreachable --connectivity-only --full --strict --no-progress --lost-found=never",
  "symbolic-ref": "-q --quiet --short --recurse --no-recurse",
};

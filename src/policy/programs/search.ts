/** Programs that look for text or files. */
import type { Invocation, ProgramTable } from "../invocation.ts";
import { flagTable, has, scan } from "../options.ts";
import { FILE_NAMES, type Flow, filtered, NOTHING_KNOWN } from "../shell/flow.ts";
import { judgeAwk } from "./awk.ts";
import { judgeFind } from "./find.ts";
import { judgeJq } from "./jq.ts";
import { judgeData, judgeFlags, program, readPaths } from "./reader.ts";
import { judgeSed } from "./sed.ts";

const GREP = flagTable(
  "-EFGPiIvwxcLloqsbHhnTUZarRyzu -# -A= -B= -C= -D= -d= -e= -f=< -m= --extended-regexp --fixed-strings --basic-regexp " +
    "--perl-regexp --regexp= --file=< --ignore-case --no-ignore-case --word-regexp --line-regexp --null-data --no-messages " +
    "--invert-match --version --help --max-count= --byte-offset --line-number --line-buffered --with-filename --no-filename " +
    "--label= --only-matching --quiet --silent --binary-files= --text --directories= --devices= --recursive " +
    "--dereference-recursive --include= --exclude= --exclude-from=< --exclude-dir= --files-without-match --files-with-matches " +
    "--count --initial-tab --null --before-context= --after-context= --context= --group-separator= --no-group-separator " +
    "--color=? --colour=?",
);
const RG = flagTable(
  "-abcFHhIiLlNnoPpqSsUuVvwx0 -. -A= -B= -C= -E= -M= -T= -d= -e= -f=< -g= -j= -m= -r= -t= --after-context= --before-context= " +
    "--context= --regexp= --file=< --glob= --iglob= --type= --type-not= --type-add= --type-list --files --files-with-matches " +
    "--files-without-match --count --count-matches --line-number --no-line-number --column --no-column --heading --no-heading " +
    "--with-filename --no-filename --only-matching --passthru --replace= --sort= --sortr= --max-count= --max-depth= " +
    "--max-filesize= --max-columns= --hidden --no-hidden --ignore --no-ignore --no-ignore-vcs --no-ignore-parent --no-messages " +
    "--fixed-strings --ignore-case --case-sensitive --smart-case --word-regexp --line-regexp --invert-match --multiline " +
    "--multiline-dotall --pcre2 --text --binary --crlf --follow --no-follow --one-file-system --quiet --stats --json --vimgrep " +
    "--color= --colors= --pretty --trim --null --null-data --encoding= --engine= --threads= --unrestricted --version --help " +
    "--no-config --no-pre --block-buffered --line-buffered --context-separator= --field-match-separator= --debug --trace " +
    "--glob-case-insensitive --ignore-file-case-insensitive --max-columns-preview --no-mmap --mmap --byte-offset --auto-hybrid-regex",
);

/** Options with which whole lines pass through as they are. */
const LINES_ONLY =
  /^-(?:[EFPGivwxeqmN]|-(?:invert-match|ignore-case|extended-regexp|fixed-strings|perl-regexp|regexp|max-count|no-line-number))$/;

export const SEARCH: ProgramTable = {
  grep: program("finds text", grep),
  egrep: program("finds text", grep),
  fgrep: program("finds text", grep),
  zgrep: program("finds text in compressed files", grep),
  rg: program("finds text; its --pre starts a program", ripgrep),
  find: program("finds files; its actions start programs, write and remove", judgeFind),
  sed: program("edits a stream; its commands can write and start programs", judgeSed),
  gsed: program("edits a stream; its commands can write and start programs", judgeSed),
  awk: program("a language that can start programs", judgeAwk),
  gawk: program("a language that can start programs", judgeAwk),
  mawk: program("a language that can start programs", judgeAwk),
  nawk: program("a language that can start programs", judgeAwk),
  jq: program("picks from JSON", judgeJq),
};

function grep(call: Invocation): Flow {
  const found = scan(call.args, GREP);
  judgeFlags(call, found, false);
  const named = has(found, "-e", "--regexp", "-f", "--file");
  judgeData(call, named ? [] : found.operands.slice(0, 1));
  const paths = found.operands.slice(named ? 0 : 1);
  readPaths(call, paths);
  call.gate.report.allow("read.grep", "It finds text.");
  const lists = has(found, "-l", "-L", "--files-with-matches", "--files-without-match") && !has(found, "--label", "-H");
  // A recursive search meets hidden files too, which may hold secrets.
  if (lists && (has(found, "--include") || !has(found, "-r", "-R", "--recursive", "--dereference-recursive")))
    return FILE_NAMES;
  const recursive = has(found, "-r", "-R", "--recursive", "--dereference-recursive");
  return paths.length === 0 && !recursive
    ? filtered(
        call.stdin,
        found.flags.every((flag) => LINES_ONLY.test(flag.name)),
      )
    : NOTHING_KNOWN;
}

function ripgrep(call: Invocation): Flow {
  const found = scan(call.args, RG);
  judgeFlags(call, found, true);
  const noPattern = has(found, "-e", "--regexp", "-f", "--file", "--files", "--type-list", "--version");
  judgeData(call, noPattern ? [] : found.operands.slice(0, 1));
  const paths = found.operands.slice(noPattern ? 0 : 1);
  readPaths(call, paths);
  call.gate.report.allow("read.rg", "It finds text.");
  if (has(found, "-l", "--files", "--files-with-matches", "--files-without-match")) {
    return has(found, "--hidden", "-.", "-u", "--unrestricted") ? NOTHING_KNOWN : FILE_NAMES;
  }
  return paths.length === 0 && call.stdin !== undefined
    ? filtered(
        call.stdin,
        found.flags.every((flag) => LINES_ONLY.test(flag.name)),
      )
    : NOTHING_KNOWN;
}

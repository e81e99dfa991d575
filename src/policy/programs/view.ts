/** Programs that show, cut, compare or count text. */
import type { Invocation, ProgramTable } from "../invocation.ts";
import { flagTable, scan } from "../options.ts";
import { A_NUMBER, type Flow, filtered, NOTHING_KNOWN } from "../shell/flow.ts";
import { judgeFlags, program, reader, readPaths } from "./reader.ts";

const DIFF =
  "-abBcdeEHinNpPqrstTuvwyZ -# -C= -U= -F= -I= -L= -W= -x= -S= -X=< --brief --report-identical-files --context=? --unified=? " +
  "--ed --rcs --side-by-side --width= --left-column --suppress-common-lines --show-c-function --label= --show-function-line= " +
  "--expand-tabs --initial-tab --tabsize= --recursive --no-dereference --new-file --unidirectional-new-file " +
  "--ignore-file-name-case --exclude= --exclude-from=< --starting-file= --ignore-case --ignore-tab-expansion " +
  "--ignore-trailing-space --ignore-space-change --ignore-all-space --ignore-blank-lines --ignore-matching-lines= --text " +
  "--strip-trailing-cr --minimal --speed-large-files --color=? --from-file=< --to-file=< --normal --version";

export const VIEW: ProgramTable = {
  cat: program("prints files", cat),
  head: reader(
    "prints the beginning",
    "-qvz -# -n= -c= --lines= --bytes= --quiet --silent --verbose --zero-terminated",
    { out: "lines" },
  ),
  tail: reader(
    "prints the end; following never ends",
    "-qvz -# + -n= -c= --lines= --bytes= --quiet --silent --verbose --zero-terminated",
    { out: "lines" },
  ),
  nl: reader(
    "numbers lines",
    "-p -b= -d= -f= -h= -i= -l= -n= -s= -v= -w= --body-numbering= --number-width= --number-format= --number-separator=",
  ),
  tac: reader("prints lines backwards", "-br -s= --before --regex --separator=", { out: "lines" }),
  rev: reader("prints lines mirrored", ""),
  cut: reader(
    "prints columns",
    "-bnsz -c= -d= -f= -b= --bytes= --characters= --delimiter= --fields= --complement --only-delimited --output-delimiter= --zero-terminated",
  ),
  paste: reader("joins lines", "-sz -d= --delimiters= --serial --zero-terminated"),
  tr: reader("replaces characters", "-cCdst --complement --delete --squeeze-repeats --truncate-set1", {
    operands: "data",
  }),
  fold: reader("breaks long lines", "-bs -w= --bytes --spaces --width="),
  fmt: reader("fills lines", "-cstu -w= -p= -g= --width= --prefix= --split-only --uniform-spacing"),
  column: reader(
    "aligns columns",
    "-tnexLJ -s= -o= -c= -N= -R= -H= -E= -T= -W= -d -l= --table --separator= --output-separator= --table-columns= --json --table-name=",
  ),
  expand: reader("replaces tabs", "-i -t= --initial --tabs="),
  unexpand: reader("replaces blanks", "-a -t= --all --tabs= --first-only"),
  wc: program("counts", wc),
  uniq: reader(
    "drops repeated lines; a second operand is written",
    "-cdDiuz -f= -s= -w= --count --repeated --all-repeated=? --unique --ignore-case --skip-fields= --skip-chars= --check-chars= --group=? --zero-terminated",
    { most: 1, out: "lines" },
  ),
  comm: reader(
    "compares sorted files",
    "-123z --check-order --nocheck-order --output-delimiter= --total --zero-terminated",
  ),
  cmp: reader("compares files", "-bls -i= -n= --print-bytes --verbose --quiet --silent --bytes= --ignore-initial="),
  diff: reader("compares files", DIFF),
  sort: reader(
    "sorts lines; its other options write or start a program",
    "-bcCdfghiMmnrRsuVz -k= -t= -S= --key= --field-separator= --ignore-leading-blanks --dictionary-order --ignore-case " +
      "--general-numeric-sort --human-numeric-sort --month-sort --numeric-sort --reverse --random-sort --version-sort --sort= " +
      "--check=? --merge --stable --unique --zero-terminated --parallel= --buffer-size= --batch-size= -o=>! --output=>! -T=>! --temporary-directory=>! --files0-from=<! --random-source=<!",
    { guarded: true, out: "lines" },
  ),
  od: reader(
    "shows bytes",
    "-abcdfilosxvz -A= -j= -N= -t= -w=? --address-radix= --skip-bytes= --read-bytes= --format= --output-duplicates --width=?",
  ),
  hexdump: reader("shows bytes", "-bcCdovx -n= -s="),
  xxd: reader("shows bytes; a second operand is written", "-abdeEiupC -c= -g= -l= -s= -o= -n= -cols= -len= -seek=", {
    most: 1,
  }),
  strings: reader("shows text in a binary", "-aw -n= -t= -e= --all --bytes= --radix= --encoding="),
  base64: reader("encodes", "-di -w= --decode --ignore-garbage --wrap="),
  base32: reader("encodes", "-di -w= --decode --ignore-garbage --wrap="),
  zcat: reader("prints compressed files", "-fqv"),
  join: reader(
    "joins two sorted files",
    "-iz -1= -2= -a= -e= -j= -o= -t= -v= --ignore-case --check-order --nocheck-order --header",
  ),
  tsort: reader("sorts a graph", ""),
  look: reader("finds words by their beginning", "-abdf -t="),
};

const CAT = flagTable(
  "-AbeEnstTuv --show-all --number-nonblank --show-ends --number --squeeze-blank --show-tabs --show-nonprinting --version --help",
);

/** Without files it hands its input on as it is. */
function cat(call: Invocation): Flow {
  const found = scan(call.args, CAT);
  judgeFlags(call, found, false);
  readPaths(call, found.operands);
  call.gate.report.allow("read.cat", "It prints files.");
  const passes =
    found.operands.length === 0 || found.operands.every((arg) => arg.value === "-" || arg.value === "/dev/stdin");
  if (passes) return call.stdin ?? NOTHING_KNOWN;
  if (found.operands.some((arg) => arg.value.includes("\uE003"))) return { ...NOTHING_KNOWN, network: true };
  return found.operands.some((arg) => arg.value === "-") ? filtered(call.stdin, false) : NOTHING_KNOWN;
}

const WC = flagTable("-clLmw --bytes --chars --lines --words --max-line-length --total=");

function wc(call: Invocation): Flow {
  const found = scan(call.args, WC);
  judgeFlags(call, found, false);
  readPaths(call, found.operands);
  call.gate.report.allow("read.wc", "It counts.");
  return found.operands.length === 0 && found.flags.length === 1
    ? { ...A_NUMBER, network: call.stdin?.network ?? false }
    : filtered(call.stdin, false);
}

/** Programs that look at names, sizes and kinds of files, or at the machine. */
import type { Invocation, ProgramTable } from "../invocation.ts";
import { flagTable, scan } from "../options.ts";
import { A_NUMBER, FILE_NAMES, type Flow, NOTHING_KNOWN } from "../shell/flow.ts";
import { judgeFlags, program, reader, readPaths } from "./reader.ts";

const LS =
  "-aAbBcCdfFgGhHiIklLmnNopqQrRsStuUvxXZ1 -I= -T= -w= --all --almost-all --author --escape --block-size= --ignore-backups " +
  "--color=? --directory --dired --classify=? --file-type --format= --full-time --group-directories-first --no-group " +
  "--human-readable --si --dereference --hide= --hyperlink=? --indicator-style= --inode --ignore= --kibibytes --literal " +
  "--numeric-uid-gid --quote-name --quoting-style= --reverse --recursive --size --sort= --time= --time-style= --tabsize= " +
  "--width= --zero --context --version --help";
const SUMS =
  "-bctwz --binary --check --tag --text --zero --ignore-missing --quiet --status --strict --warn -a= --algorithm=";

export const LOOK: ProgramTable = {
  ls: program("lists folders", list),
  dir: reader("lists folders", LS),
  tree: reader(
    "lists folders",
    "-adfilpsughDFqNQrtcUvxACSnJX -L= -I= -P= --prune --dirsfirst --filelimit= --noreport --du --si --inodes --device " +
      "--charset= --gitignore --matchdirs --ignore-case --sort=? --timefmt= --metafirst -o=>! --version --help --filesfirst",
    { guarded: true },
  ),
  stat: reader("shows a file's facts", "-Lftx -c= --format= --printf= --dereference --file-system --terse --version"),
  file: reader(
    "tells a file's kind",
    "-bihkLNnprs0 -F= -P= -e= --brief --mime --mime-type --mime-encoding --no-dereference --dereference --separator= --exclude= --extension --keep-going --version",
  ),
  du: reader(
    "shows sizes",
    "-0abcDhHklLmPsSx -B= -d= -t= --all --apparent-size --block-size= --bytes --total --max-depth= --human-readable --si " +
      "--summarize --exclude= --one-file-system --threshold= --time=? --separate-dirs --inodes --null",
  ),
  df: reader(
    "shows free space",
    "-aBhHiklPTvx -t= --all --human-readable --si --inodes --local --portability --print-type --type= --total --output=?",
  ),
  realpath: reader(
    "resolves a path",
    "-eLmPqsz --canonicalize-existing --canonicalize-missing --no-symlinks --strip --quiet --zero --relative-to=< --relative-base=<",
  ),
  readlink: reader(
    "resolves a link",
    "-femnqsvz --canonicalize --canonicalize-existing --canonicalize-missing --no-newline --quiet --silent --verbose --zero",
  ),
  which: reader("finds a program", "-as --all --skip-alias --skip-functions --skip-dot --skip-tilde --version", {
    operands: "data",
  }),
  type: reader("finds a program", "-afptP", { operands: "data" }),
  whereis: reader("finds a program", "-bmsu", { operands: "data" }),
  uname: reader(
    "names the system",
    "-asnrvmpio --all --kernel-name --nodename --kernel-release --machine --operating-system",
    { operands: "none" },
  ),
  sha256sum: reader("prints a checksum", SUMS),
  sha1sum: reader("prints a checksum", SUMS),
  sha512sum: reader("prints a checksum", SUMS),
  sha224sum: reader("prints a checksum", SUMS),
  sha384sum: reader("prints a checksum", SUMS),
  md5sum: reader("prints a checksum", SUMS),
  b2sum: reader("prints a checksum", SUMS),
  shasum: reader("prints a checksum", SUMS),
  cksum: reader("prints a checksum", SUMS),
  id: reader("names the account", "-agGnruz", { operands: "data" }),
  whoami: reader("names the account", "", { operands: "none" }),
  groups: reader("names the account's groups", "", { operands: "data" }),
  nproc: program("counts processors", processors),
  arch: reader("names the processor", "", { operands: "none" }),
  uptime: reader("tells how long the machine runs", "-ps --pretty --since", { operands: "none" }),
  free: reader("shows memory", "-bkmghltvw --human --mega --giga --si --total", { operands: "none" }),
  tput: reader("asks what the terminal can do", "-S -T=", { operands: "data" }),
  tty: reader("names the terminal", "-s", { operands: "none" }),
};

const LS_TABLE = flagTable(LS);
/** Options with which each line is a file's name and nothing else; hidden files, which may hold secrets, stay out. */
const NAMES_ONLY = /^-(?:[1BdrRStUvX]|-color|-reverse|-group-directories-first)$/;

function list(call: Invocation): Flow {
  const found = scan(call.args, LS_TABLE);
  judgeFlags(call, found, false);
  readPaths(call, found.operands);
  call.gate.report.allow("read.ls", "It lists folders.");
  return found.flags.every((flag) => NAMES_ONLY.test(flag.name)) ? FILE_NAMES : NOTHING_KNOWN;
}

function processors(call: Invocation): Flow {
  const found = scan(call.args, flagTable("--all --ignore="));
  judgeFlags(call, found, false);
  call.gate.report.allow("read.nproc", "It counts processors.");
  return A_NUMBER;
}

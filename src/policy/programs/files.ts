/** Programs that create, copy, move, remove or mark files. */
import { describe, type Invocation, type ProgramTable } from "../invocation.ts";
import { flagTable, has, scan } from "../options.ts";
import { judgePath } from "../paths/access.ts";
import { type Flow, NOTHING_KNOWN } from "../shell/flow.ts";
import { readable } from "../shell/marks.ts";
import type { Arg } from "../shell/words.ts";
import { judgeFlags, program, readPaths } from "./reader.ts";
import { sweepPaths } from "./sweep.ts";
import { into, parties, simple, touchPaths } from "./targets.ts";

export const FILES: ProgramTable = {
  mkdir: program("makes folders", mkdir),
  touch: program("makes empty files", touch),
  cp: program("copies files", copy),
  install: program("copies files with a mode", install),
  mkdirp: program("makes folders", mkdir),
  ln: program("makes links", link),
  chmod: program("changes modes", mode),
  chown: program("changes owners", owner),
  chgrp: program("changes owners", owner),
  chattr: program("changes attributes", owner),
  setfacl: program("changes rights", owner),
  tee: program("writes what passes through", tee),
  sponge: program("writes what comes in", tee),
  dd: program("copies bytes to any place", dd),
  split: program("cuts a file into many", asksAboutWrites),
  csplit: program("cuts a file into many", asksAboutWrites),
  mktemp: program("makes a temporary file", asksAboutWrites),
  mkfifo: program("makes a pipe", asksAboutWrites),
  mknod: program("makes a device", asksAboutWrites),
  unzip: program("unpacks over existing files", asksAboutWrites),
  zip: program("packs files; can start a program", asksAboutWrites),
  tar: program("packs and unpacks; can start a program", asksAboutWrites),
  bsdtar: program("packs and unpacks; can start a program", asksAboutWrites),
  cpio: program("packs and unpacks", asksAboutWrites),
  ar: program("packs and unpacks", asksAboutWrites),
  "7z": program("packs and unpacks", asksAboutWrites),
  gzip: program("replaces files", asksAboutWrites),
  gunzip: program("replaces files", asksAboutWrites),
  bzip2: program("replaces files", asksAboutWrites),
  xz: program("replaces files", asksAboutWrites),
  zstd: program("replaces files", asksAboutWrites),
  patch: program("changes files by a patch", asksAboutWrites),
  iconv: program("converts text", asksAboutWrites),
  dos2unix: program("changes files in place", asksAboutWrites),
  rename: program("renames by code", asksAboutWrites),
  restic: program("backs up", asksAboutWrites),
};

const MKDIR = flagTable("-pv -m= --parents --verbose --mode=");

function mkdir(call: Invocation): undefined {
  const found = simple(call, MKDIR);
  touchPaths(call, found.operands, "write");
  call.gate.report.allow("write.mkdir", "It makes folders in the workspace.");
  return undefined;
}

const TOUCH = flagTable("-acmhf -d= -t= -r=< --date= --time= --reference=< --no-create --no-dereference");

function touch(call: Invocation): undefined {
  const found = simple(call, TOUCH);
  touchPaths(call, found.operands, "write");
  call.gate.report.allow("write.touch", "It makes empty files in the workspace.");
  return undefined;
}

const COPY = flagTable(
  "-abdfHiLlnPpRrsTuvx -t= -S= --archive --force --interactive --no-clobber --update=? --verbose --recursive --parents " +
    "--target-directory= --no-target-directory --preserve=? --no-preserve= --dereference --no-dereference --reflink=? --sparse= --backup=? --suffix= --link --symbolic-link --one-file-system",
);

function copy(call: Invocation): undefined {
  const found = simple(call, COPY);
  const { sources, target } = parties(found, "-t", "--target-directory");
  readPaths(call, sources);
  if (has(found, "-l", "-s", "--link", "--symbolic-link")) touchPaths(call, sources, "change");
  into(call, sources, target, "write", !has(found, "-n", "--no-clobber"));
  if (
    sources.some(
      (arg) =>
        /(?:^|\/)\.{1,2}\/?$/.test(arg.value) ||
        ((arg.glob && arg.value.includes(".")) === false && arg.glob && has(found, "-r", "-R", "-a")),
    )
  ) {
    call.gate.report.review(
      "copy.whole-folder",
      "It copies all of a folder into another; protected files may be among it.",
      readable(describe(call)),
    );
  }
  call.gate.report.allow("write.cp", "It copies files in the workspace.");
  return undefined;
}

const INSTALL = flagTable(
  "-bCcDdpsTv -g= -m= -o= -S= -t= --mode= --directory --target-directory= --backup=? --preserve-timestamps --verbose --compare",
);

function install(call: Invocation): undefined {
  const found = simple(call, INSTALL);
  if (has(found, "-d", "--directory")) touchPaths(call, found.operands, "write");
  else {
    const { sources, target } = parties(found, "-t", "--target-directory");
    readPaths(call, sources);
    into(call, sources, target, "write", true);
  }
  call.gate.report.allow("write.install", "It copies files in the workspace.");
  return undefined;
}

const LINK = flagTable(
  "-bfinrsTvLP -t= -S= --symbolic --force --relative --no-dereference --no-target-directory --target-directory= --verbose --interactive --backup=?",
);

function link(call: Invocation): undefined {
  const found = simple(call, LINK);
  const { sources, target } = parties(found, "-t", "--target-directory");
  touchPaths(call, sources.length > 0 ? sources : found.operands, "change");
  touchPaths(call, found.operands, "read");
  if (target !== undefined) into(call, sources, target, "change", has(found, "-f", "--force"));
  call.gate.report.allow("write.ln", "It links files of the workspace.");
  return undefined;
}

const MODE = flagTable(
  "-cfRvH --changes --quiet --silent --verbose --recursive --reference=< --preserve-root --no-preserve-root",
);
const PLAIN_MODE = /^(?:[ugoa]*[-+=][rwxX]*(?:,[ugoa]*[-+=][rwxX]*)*|0?[0-7]{3})$/;

function mode(call: Invocation): undefined {
  const { gate } = call;
  // `-x`, `-w`, `-r` are modes, not options.
  const isMode = (arg: Arg): boolean => /^-[rwxXst]+$/.test(arg.value);
  const modes = call.args.filter(isMode);
  const found = scan(
    call.args.filter((arg) => !isMode(arg) && !arg.value.startsWith("+")),
    MODE,
  );
  judgeFlags(call, found, false);
  const plus = call.args.filter((arg) => arg.value.startsWith("+"));
  const given = modes.length + plus.length > 0 || has(found, "--reference");
  const [first, ...rest] = found.operands;
  const files = given ? found.operands : rest;
  for (const word of given ? [...modes, ...plus] : first === undefined ? [] : [first]) {
    if (!PLAIN_MODE.test(word.value))
      gate.report.review("chmod.special", "A mode beyond read, write and execute.", readable(word.value));
  }
  touchPaths(call, files, "change", has(found, "-R", "--recursive"));
  gate.report.allow("write.chmod", "It changes modes in the workspace.");
  return undefined;
}

function owner(call: Invocation): undefined {
  const { gate } = call;
  gate.report.review("files.owner", "It changes who owns or may use files.", readable(describe(call)));
  const recursive = call.args.some((arg) => /^-\w*R/.test(arg.value) || arg.value === "--recursive");
  const operands = call.args.filter((arg) => !arg.value.startsWith("-"));
  touchPaths(call, operands.slice(1), "change", recursive);
  sweepPaths(call, call.args);
  return undefined;
}

const TEE = flagTable("-aip --append --ignore-interrupts --output-error=?");

function tee(call: Invocation): Flow {
  const found = simple(call, TEE);
  for (const arg of found.operands) if (arg.value !== "-") touchPaths(call, [arg], "redirect");
  call.gate.report.allow("write.tee", "It writes to files that git can bring back.");
  return call.stdin ?? NOTHING_KNOWN;
}

function dd(call: Invocation): undefined {
  const { gate } = call;
  gate.report.review("files.dd", "It copies bytes to any place.", readable(describe(call)));
  for (const arg of call.args) {
    if (arg.value.startsWith("of="))
      judgePath(gate, call.state.folders, { value: arg.value.slice(3), glob: arg.glob, access: "redirect" });
    else if (arg.value.startsWith("if="))
      judgePath(gate, call.state.folders, { value: arg.value.slice(3), glob: arg.glob, access: "read" });
  }
  return undefined;
}

/** Archives, patches and kin: they write where their input says. Listing an archive is plain reading. */
function asksAboutWrites(call: Invocation): undefined {
  const { gate } = call;
  const listing =
    ((call.name === "tar" || call.name === "bsdtar") &&
      /^-?t[vzjJf]*$/.test(call.args[0]?.value ?? "") &&
      call.args.length === 2) ||
    (call.name === "unzip" && call.args[0]?.value === "-l" && call.args.length === 2);
  if (listing) {
    readPaths(call, call.args.slice(1));
    gate.report.allow(`read.${call.name}`, "It lists an archive.");
    return undefined;
  }
  judgeTargets(call);
  gate.report.review(
    `files.${call.name}`,
    "It writes files that the gate cannot name, or starts a program.",
    readable(describe(call)),
  );
  sweepPaths(call, call.args);
  return undefined;
}

/** Where an archive is unpacked or a file put, as far as an option says it. */
function judgeTargets(call: Invocation): void {
  for (const [index, arg] of call.args.entries()) {
    const attached = /^(?:--directory=|--output=|--output-dir=|-o(?==?[/.~\w])=?)(.+)$/.exec(arg.value)?.[1];
    const separate = /^(?:-C|-d|-o|--directory|--output)$/.test(arg.value) ? call.args[index + 1] : undefined;
    const target = separate ?? (attached === undefined ? undefined : { ...arg, value: attached });
    if (target !== undefined) touchPaths(call, [target], "write");
  }
}

/** Programs that create, copy, move, remove or mark files. */
import { describe, type Invocation, type ProgramTable } from "../invocation.ts";
import { type FlagTable, flagTable, flagValue, has, type Scan, scan } from "../options.ts";
import { judgePath, placesOf } from "../paths/access.ts";
import type { Access } from "../paths/places.ts";
import { basename } from "../paths/text.ts";
import { type Flow, NOTHING_KNOWN } from "../shell/flow.ts";
import { readable } from "../shell/marks.ts";
import type { Arg } from "../shell/words.ts";
import { judgeFlags, program, readPaths } from "./reader.ts";
import { sweepPaths } from "./sweep.ts";

export const FILES: ProgramTable = {
  mkdir: program("makes folders", mkdir),
  touch: program("makes empty files", touch),
  cp: program("copies files", copy),
  install: program("copies files with a mode", install),
  mv: program("moves files; what it leaves or overwrites must be replaceable", move),
  rm: program("removes files", remove),
  rmdir: program("removes empty folders", removeEmpty),
  unlink: program("removes a file", remove),
  shred: program("destroys a file's content", shred),
  srm: program("destroys a file's content", shred),
  rimraf: program("removes folders", rimraf),
  del: program("removes files", rimraf),
  "del-cli": program("removes files", rimraf),
  trash: program("removes files", rimraf),
  shx: program("the shell's programs for packages", shx),
  mkdirp: program("makes folders", mkdir),
  truncate: program("cuts files", truncate),
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

function touchPaths(call: Invocation, args: readonly Arg[], access: Access, sweeping = false, keepLast = false): void {
  for (const arg of args)
    judgePath(call.gate, call.state.folders, { value: arg.value, glob: arg.glob, access, sweeping, keepLast });
}

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

function simple(call: Invocation, table: FlagTable): Scan {
  const found = scan(call.args, table);
  judgeFlags(call, found, false);
  if (found.unknown.length > 0) sweepPaths(call, call.args);
  return found;
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

function parties(found: Scan, ...targetFlags: string[]): { sources: Arg[]; target: Arg | undefined } {
  const flagged = flagValue(found, ...targetFlags);
  if (flagged !== undefined) return { sources: found.operands, target: flagged };
  return {
    sources: found.operands.slice(0, -1),
    target: found.operands.length > 1 ? found.operands.at(-1) : undefined,
  };
}

/** The target itself, and the names the sources would get in it when it is a folder. */
function into(
  call: Invocation,
  sources: readonly Arg[],
  target: Arg | undefined,
  access: Access,
  overwrites: boolean,
): void {
  if (target === undefined) return;
  const { gate, state } = call;
  touchPaths(call, [target], access);
  const seen = new Set<string>();
  for (const source of sources.slice(0, 32)) {
    const name = basename(source.value);
    if (name === "" || name === "." || name === ".." || seen.has(name)) continue;
    seen.add(name);
    judgePath(gate, state.folders, {
      value: `${target.value.replace(/\/+$/, "")}/${name}`,
      glob: target.glob || source.glob,
      access,
    });
  }
  if (overwrites && !target.glob) overwritten(call, target);
}

/** An existing file with edits that git cannot bring back would be overwritten. */
function overwritten(call: Invocation, target: Arg): void {
  const { gate, state } = call;
  if (gate.report.isDenyOnly || /[\uE000-\uE005]/.test(target.value)) return;
  const places = placesOf(gate, state.folders, target.value, false);
  if (places.size === 1 && places.has("workspace")) {
    judgePath(gate, state.folders, { value: target.value, glob: false, access: "redirect" });
  }
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

const MOVE = flagTable(
  "-bfinTuv -t= -S= --force --interactive --no-clobber --update=? --verbose --target-directory= --no-target-directory --backup=? --suffix=",
);

function move(call: Invocation): undefined {
  const found = simple(call, MOVE);
  const { sources, target } = parties(found, "-t", "--target-directory");
  for (const source of sources) {
    judgePath(call.gate, call.state.folders, {
      value: source.value,
      glob: source.glob,
      access: "remove",
      sweeping: true,
      keepLast: true,
    });
  }
  if (target !== undefined) {
    into(call, sources, target, "write", true);
    const outside = [...placesOf(call.gate, call.state.folders, target.value, target.glob)].some(
      (place) => place === "outside" || place === "system",
    );
    if (outside)
      call.gate.report.review("floor.moves-out", "It moves files out of the workspace.", readable(describe(call)), {
        loss: "lost",
        floor: true,
      });
  }
  call.gate.report.allow("write.mv", "Git can bring back what it moves.");
  return undefined;
}

const REMOVE = flagTable(
  "-dfiIrRv --force --interactive=? --recursive --dir --verbose --one-file-system --preserve-root=?",
);

function remove(call: Invocation): undefined {
  const found = simple(call, REMOVE);
  if (call.args.some((arg) => arg.value === "--no-preserve-root")) {
    call.gate.report.deny("floor.system", "It would sweep a system folder.", readable(describe(call)));
  }
  const sweeping = has(found, "-r", "-R", "-f", "--recursive", "--force") || found.unknown.length > 0;
  touchPaths(call, found.operands, "remove", sweeping, true);
  call.gate.report.allow("write.rm", "Git can bring back what it removes.");
  return undefined;
}

function removeEmpty(call: Invocation): undefined {
  const found = simple(call, flagTable("-pv --parents --verbose --ignore-fail-on-non-empty"));
  for (const arg of found.operands)
    judgePath(call.gate, call.state.folders, {
      value: arg.value,
      glob: arg.glob,
      access: "remove",
      sweeping: true,
      keepLast: true,
    });
  call.gate.report.allow("write.rmdir", "It removes empty folders of the workspace.");
  return undefined;
}

function shred(call: Invocation): undefined {
  const found = simple(
    call,
    flagTable("-fuvxz -n= -s= --force --remove=? --verbose --zero --iterations= --size= --exact"),
  );
  touchPaths(call, found.operands, "remove", true);
  call.gate.report.allow("write.shred", "Git can bring back what it destroys.");
  return undefined;
}

function rimraf(call: Invocation): undefined {
  const found = simple(
    call,
    flagTable("-gvf --glob --no-glob --verbose --force --preserve-root --max-retries= --impl="),
  );
  touchPaths(call, found.operands, "remove", true);
  call.gate.report.allow("write.rimraf", "Git can bring back what it removes.");
  return undefined;
}

function shx(call: Invocation): Flow {
  return call.args.length === 0 ? NOTHING_KNOWN : call.walker.invoke(call.args, call);
}

function truncate(call: Invocation): undefined {
  const found = simple(call, flagTable("-co -s= -r=< --size= --no-create --reference=< --io-blocks"));
  touchPaths(call, found.operands, "redirect");
  call.gate.report.allow("write.truncate", "Git can bring back what it cuts.");
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

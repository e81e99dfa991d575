/** `find`: tests and print actions are free; actions that start programs, write or remove are judged (findutils 4.9). */
import { describe, type Invocation } from "../invocation.ts";
import { judgePath } from "../paths/access.ts";
import { couldMatch } from "../paths/glob.ts";
import { FILE_NAMES, type Flow, NOTHING_KNOWN } from "../shell/flow.ts";
import { readable } from "../shell/marks.ts";
import type { Arg } from "../shell/words.ts";
import { isPlainReader } from "./plain.ts";
import { judgeData, readPaths } from "./reader.ts";

const words = (text: string): ReadonlySet<string> => new Set(text.split(" "));

const BEFORE_PATHS = words("-H -L -P");
/** Tests and operators without an argument. */
const ALONE = words(
  "-print -print0 -ls -prune -quit -true -false -empty -readable -writable -executable -nouser -nogroup -depth -d -mount -xdev " +
    "-daystart -noleaf -follow -ignore_readdir_race -noignore_readdir_race -warn -nowarn -help -version ( ) ! , -not -a -and -o -or",
);
const ONE_TEXT = words(
  "-name -iname -path -ipath -wholename -iwholename -lname -ilname -regex -iregex -regextype -type -xtype -size -perm -user -group " +
    "-uid -gid -inum -links -fstype -amin -atime -cmin -ctime -mmin -mtime -used -maxdepth -mindepth -printf -context -newermt -newerat -newerct -D",
);
const ONE_PATH = words(
  "-newer -anewer -cnewer -samefile -neweraa -newerac -neweram -newerca -newercc -newercm -newerma -newermc -newermm",
);
const WRITES = words("-fprint -fprint0 -fls -fprintf");
const STARTS = words("-exec -execdir -ok -okdir");

export function judgeFind(call: Invocation): Flow {
  const { args, gate } = call;
  const { report } = gate;
  let at = 0;
  while (at < args.length && (BEFORE_PATHS.has(args[at]?.value ?? "") || /^-O\d$/.test(args[at]?.value ?? ""))) at += 1;
  const starts: Arg[] = [];
  while (at < args.length && !isExpression(args[at] as Arg)) {
    starts.push(args[at] as Arg);
    at += 1;
  }
  readPaths(call, starts);
  for (const start of starts) {
    if (start.glob && /^[*?[]/.test(start.value))
      report.review("options.unclear", "A file name could become an action of find.", start.raw);
  }
  while (at < args.length) at = judgeTerm(call, at, starts);
  report.allow("read.find", "It finds files.");
  return args.some((arg) => arg.value === "-printf" || arg.value === "-ls") || mayFindSecrets(call)
    ? NOTHING_KNOWN
    : FILE_NAMES;
}

/** Without a pattern for the name, or with one that fits, an environment file may be among what it finds. */
function mayFindSecrets(call: Invocation): boolean {
  const patterns = namePatterns(call);
  return patterns.length === 0 || patterns.some((pattern) => fitsSecret(pattern));
}

function namePatterns(call: Invocation): string[] {
  const { args } = call;
  return args
    .filter(
      (_arg, index) =>
        /^-i?name$/.test(args[index - 1]?.value ?? "") && !/^(?:-not|!)$/.test(args[index - 2]?.value ?? ""),
    )
    .map((arg) => arg.value);
}

/** `*` of find matches a leading dot. */
function fitsSecret(pattern: string): boolean {
  return [".env", ".env.local"].some(
    (name) => couldMatch(pattern.toLowerCase().replace(/^\*/, ".*"), name) || couldMatch(pattern.toLowerCase(), name),
  );
}

function isExpression(arg: Arg): boolean {
  return arg.value.startsWith("-") || arg.value === "(" || arg.value === "!" || arg.value === ")" || arg.value === ",";
}

/** Judges one term and returns where the next begins. */
function judgeTerm(call: Invocation, at: number, starts: readonly Arg[]): number {
  const { args, gate, state } = call;
  const { report } = gate;
  const term = args[at] as Arg;
  const word = term.value;
  const value = args[at + 1];
  if (ALONE.has(word)) return at + 1;
  if (ONE_TEXT.has(word)) {
    if (value !== undefined) judgeData(call, [value]);
    return at + 2;
  }
  if (ONE_PATH.has(word)) {
    if (value !== undefined) readPaths(call, [value]);
    return at + 2;
  }
  if (word === "-delete") {
    report.review("find.delete", "It removes whatever it finds.", readable(describe(call)), {
      loss: "lost",
      floor: true,
    });
    for (const start of starts) removeBelow(call, start);
    return at + 1;
  }
  if (WRITES.has(word)) {
    report.review("find.writes", "It writes to a file.", readable(`${word} ${value?.value ?? ""}`));
    if (value !== undefined)
      judgePath(gate, state.folders, { value: value.value, glob: value.glob, access: "redirect" });
    return at + (word === "-fprintf" ? 3 : 2);
  }
  if (STARTS.has(word)) return judgeExec(call, at, starts);
  report.review("options.unknown", "This term of find is not known to be harmless.", readable(word));
  return at + 1;
}

function judgeExec(call: Invocation, at: number, starts: readonly Arg[]): number {
  const { args, gate } = call;
  let end = at + 1;
  while (end < args.length && args[end]?.value !== ";" && !(args[end]?.value === "+" && args[end - 1]?.value === "{}"))
    end += 1;
  const command = args.slice(at + 1, end);
  const targets = starts.length > 0 ? starts : [{ value: ".", raw: ".", glob: false, plain: true }];
  for (const target of targets) {
    const found: Arg = {
      value: target.value === "/" ? "/*" : `${target.value.replace(/\/+$/, "")}/*`,
      raw: "{}",
      glob: true,
      plain: false,
    };
    const argv = command.map((arg) => (arg.value.includes("{}") ? substitute(arg, found) : arg));
    call.walker.invoke(argv, { ...call, stdin: undefined });
    if (/^(?:rm|rmdir|unlink|shred)$/.test(argv[0]?.value ?? "")) removeBelow(call, target);
  }
  if (mayFindSecrets(call) && !isQuiet(command)) {
    gate.report.review(
      "find.shows",
      "What it finds may include files with secrets, and the program shows their content.",
      readable(command.map((arg) => arg.value).join(" ")),
    );
  }
  if (args[at]?.value.endsWith("dir") || args[at]?.value.startsWith("-ok") || !isPlainReader(command[0]?.value ?? "")) {
    gate.report.review(
      "find.exec",
      "It starts a program for what it finds.",
      readable(command.map((arg) => arg.value).join(" ")),
    );
  }
  return end + 1;
}

/** Programs that tell about files but do not show their content. */
function isQuiet(command: readonly Arg[]): boolean {
  const name = command[0]?.value ?? "";
  if (
    /^(?:wc|ls|stat|file|du|echo|printf|basename|dirname|realpath|readlink|test|\[|md5sum|sha\d+sum|cksum)$/.test(name)
  )
    return true;
  return /^(?:[ef]?grep|rg)$/.test(name) && command.some((arg) => /^-[a-zA-Z]*[lLcq]/.test(arg.value));
}

function substitute(arg: Arg, found: Arg): Arg {
  return {
    value: arg.value === "{}" ? found.value : arg.value.replaceAll("{}", found.value),
    raw: arg.raw,
    glob: true,
    plain: false,
  };
}

/** Removal below a start point that is root, a home or a system folder is a sweep of it; the workspace only by asking. */
function removeBelow(call: Invocation, start: Arg): void {
  const { gate, state } = call;
  const value = `${start.value.replace(/\/+$/, "")}/*`;
  judgePath(gate, state.folders, { value, glob: true, access: "remove", sweeping: isOutsideWorkspace(start) });
}

function isOutsideWorkspace(start: Arg): boolean {
  return start.value.startsWith("/") || start.value.startsWith("..");
}

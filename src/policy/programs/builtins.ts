/** Builtins of the shell (bash 5.2): those that change where it stands, what words mean, or how it goes on. */
import { judgeAssignment, judgeSetVariable } from "../environment.ts";
import type { Invocation, ProgramTable } from "../invocation.ts";
import { describe } from "../invocation.ts";
import { judgePath } from "../paths/access.ts";
import { join, normalise } from "../paths/text.ts";
import { NETWORK, NUMBER, readable, UNKNOWN } from "../shell/marks.ts";
import type { Arg } from "../shell/words.ts";
import { program } from "./reader.ts";
import { runText } from "./shells.ts";

export const BUILTINS: ProgramTable = {
  cd: program("changes the shell's folder", cd),
  pushd: program("changes the shell's folder", cd),
  popd: program("changes the shell's folder", popd),
  dirs: program("lists folders", harmless),
  exit: program("ends the shell", leave),
  return: program("ends a function", leave),
  logout: program("ends the shell", leave),
  break: program("ends a loop", harmless),
  continue: program("goes on with a loop", harmless),
  wait: program("waits for its own children", harmless),
  jobs: program("lists its own children", harmless),
  times: program("shows used time", harmless),
  shift: program("drops an argument", harmless),
  umask: program("limits the mode of new files", umask),
  set: program("switches the shell's modes", set),
  shopt: program("switches the shell's modes", meaning),
  alias: program("gives a word a new meaning", alias),
  unalias: program("takes a meaning away", meaning),
  hash: program("remembers where a program is", meaning),
  enable: program("loads and switches builtins", meaning),
  bind: program("binds keys to commands", meaning),
  complete: program("registers code for completion", meaning),
  trap: program("runs text later", trap),
  eval: program("runs text", evaluate),
  source: program("runs a file in this shell", source),
  ".": program("runs a file in this shell", source),
  export: program("hands variables to later programs", declare),
  declare: program("declares variables", declare),
  typeset: program("declares variables", declare),
  local: program("declares variables", declare),
  readonly: program("declares variables", declare),
  unset: program("forgets variables", unset),
  read: program("reads a line into variables", read),
  mapfile: program("reads lines into an array", mapfile),
  readarray: program("reads lines into an array", mapfile),
  let: program("calculates; evaluates text as code", meaning),
  getopts: program("reads options", meaning),
  history: program("shows earlier commands", meaning),
  fc: program("edits and runs earlier commands", meaning),
  ulimit: program("limits resources", meaning),
  suspend: program("stops the shell", meaning),
  disown: program("lets a child go on alone", meaning),
  fg: program("fetches a child", meaning),
  bg: program("sends a child to the background", meaning),
};

function harmless(call: Invocation): undefined {
  call.gate.report.allow("shell.builtin", "A harmless builtin of the shell.");
  return undefined;
}

function leave(call: Invocation): undefined {
  call.state.end();
  return harmless(call);
}

function meaning(call: Invocation): undefined {
  call.gate.report.review("shell.changes-meaning", "It changes what later words mean or do.", readable(describe(call)));
  return undefined;
}

function cd(call: Invocation): undefined {
  const { gate, state } = call;
  const args = call.args.filter((arg) => !/^-[LPe@]+$/.test(arg.value) && arg.value !== "--");
  const [target] = args;
  if (call.name === "pushd" && (target === undefined || /^[-+]/.test(target.value))) return popd(call);
  if (args.length > 1) gate.report.review("shell.cd", "`cd` takes one folder.", readable(describe(call)));
  const before = state.folders;
  if (target?.value === "-") {
    const old = state.get("OLDPWD");
    if (old === undefined || old.value === UNKNOWN) {
      gate.report.review("path.unknown-folder", "The folder before is not known.", "cd -");
      state.enter(undefined, true);
    } else state.enter(old.value, true);
    state.assign("OLDPWD", { value: before[0] ?? UNKNOWN, glob: false });
    return undefined;
  }
  const value = target?.value ?? gate.context.home;
  judgePath(gate, before, { value, glob: target?.glob ?? false, access: "read" });
  const from = before.length === 1 || value.startsWith("/") ? (before[0] ?? "/") : undefined;
  const open = /[\uE000-\uE005]/.test(value) || target?.glob === true;
  const folder = open || from === undefined ? undefined : normalise(join(from, value));
  state.enter(folder, folder !== undefined && gate.facts.kind(folder) === "directory");
  state.assign("OLDPWD", { value: before.length === 1 ? (before[0] ?? UNKNOWN) : UNKNOWN, glob: false });
  gate.report.allow("shell.cd", "It moves inside the workspace.");
  return undefined;
}

function popd(call: Invocation): undefined {
  call.gate.report.review("path.unknown-folder", "The folder before is not known.", "popd");
  call.state.enter(undefined, true);
  return undefined;
}

function umask(call: Invocation): undefined {
  return call.args.length === 0 || call.args.every((arg) => /^(?:-S|-p|[0-7]{3,4})$/.test(arg.value))
    ? harmless(call)
    : meaning(call);
}

/** `set -euo pipefail` and its kin are free; new positional parameters are not. */
function set(call: Invocation): undefined {
  let option = false;
  for (const arg of call.args) {
    if (option && /^(?:pipefail|errexit|nounset|xtrace|noglob|noclobber|posix)$/.test(arg.value)) option = false;
    else if (/^[-+][euxfCvn]*o?$/.test(arg.value) && arg.value.length > 1) option = arg.value.endsWith("o");
    else return meaning(call);
  }
  return call.args.length === 0 ? meaning(call) : harmless(call);
}

function alias(call: Invocation): undefined {
  for (const arg of call.args) {
    const equals = arg.value.indexOf("=");
    if (equals > 0) runText(call, arg.value.slice(equals + 1), "alias", true);
  }
  return meaning(call);
}

function trap(call: Invocation): undefined {
  const [text] = call.args.filter((arg) => arg.value !== "--");
  if (text !== undefined && call.args.length > 1) runText(call, text.value, "trap", true);
  return meaning(call);
}

function evaluate(call: Invocation): undefined {
  runText(call, call.args.map((arg) => arg.value).join(" "), "eval", false);
  call.gate.report.review("shell.eval", "It runs text as a command.", readable(describe(call)));
  return undefined;
}

function source(call: Invocation): undefined {
  const [file] = call.args;
  call.gate.report.review("shell.source", "It runs a file in this shell.", readable(describe(call)));
  if (file === undefined) return undefined;
  const network =
    file.value.includes(NETWORK) || (/^\/dev\/(?:stdin|fd\/0)$/.test(file.value) && call.stdin?.network === true);
  if (network)
    call.gate.report.deny("network.into-interpreter", "It would run text from the network.", readable(describe(call)));
  if (!file.value.startsWith("/dev/"))
    judgePath(call.gate, call.state.folders, { value: file.value, glob: file.glob, access: "read" });
  return undefined;
}

/** `export NAME=value`, `local x=1`, `declare -r x=1`. */
function declare(call: Invocation): undefined {
  const { gate, state, walker } = call;
  const exported = call.name === "export" || call.args.some((arg) => /^-\w*x/.test(arg.value));
  for (const arg of call.args) {
    if (/^-[aAgrxIp]+$/.test(arg.value)) continue;
    const equals = arg.value.indexOf("=");
    const name = equals < 0 ? arg.value : arg.value.slice(0, equals).replace(/\+$/, "");
    if (arg.value.startsWith("-") || arg.value.startsWith("+") || !/^[A-Za-z_]\w*$/.test(name)) {
      gate.report.review(
        "shell.changes-meaning",
        "This form of declaration can evaluate text or hide a name.",
        readable(arg.raw),
      );
      continue;
    }
    if (equals < 0) {
      if (exported) judgeAssignment(name, state.get(name)?.value ?? UNKNOWN, gate, arg.raw);
      continue;
    }
    const value = arg.value.slice(equals + 1);
    walker.unused.delete(name);
    if (exported || /^[A-Z]/.test(name)) judgeAssignment(name, value, gate, arg.raw);
    state.assign(name, { value, glob: true });
  }
  if (call.args.length === 0 || call.args.some((arg) => arg.value === "-p")) {
    gate.report.review("words.environment", "It shows the environment, which may hold secrets.", describe(call));
  }
  return harmless(call);
}

function unset(call: Invocation): undefined {
  for (const arg of call.args) {
    if (/^-[fv]$/.test(arg.value)) continue;
    if (/^[a-z_][a-z0-9_]*$/.test(arg.value)) call.state.assign(arg.value, { value: "", glob: false });
    else return meaning(call);
  }
  return harmless(call);
}

const READ_WITH_VALUE = new Set(["-p", "-t", "-n", "-N", "-d", "-u", "-i"]);

/** A line of the input: the name of a file when the input lists names, network text when it comes from there. */
function read(call: Invocation): undefined {
  const names: Arg[] = [];
  for (let index = 0; index < call.args.length; index += 1) {
    const arg = call.args[index] as Arg;
    if (READ_WITH_VALUE.has(arg.value)) index += 1;
    else if (!/^-[rs]+$|^-[ptnNdu].+/.test(arg.value)) names.push(arg);
  }
  const { stdin, state } = call;
  const value = stdin?.network ? NETWORK : stdin?.number ? NUMBER : stdin?.names ? "./*" : UNKNOWN;
  for (const arg of names.length > 0 ? names.map((name) => name.value) : ["REPLY"]) {
    if (/^[a-z_][a-z0-9_]*$|^REPLY$/.test(arg)) state.assign(arg, { value, glob: true });
    else if (/^[A-Z_][A-Z0-9_]*$/.test(arg)) {
      judgeSetVariable(arg, UNKNOWN, call.gate, describe(call));
      state.assign(arg, { value, glob: true });
    } else return meaning(call);
  }
  return harmless(call);
}

function mapfile(call: Invocation): undefined {
  const name = call.args.at(-1)?.value ?? "";
  if (call.args.some((arg) => arg.value === "-C") || !/^[a-z_]\w*$/.test(name)) return meaning(call);
  call.state.assign(name, { value: UNKNOWN, glob: true });
  return harmless(call);
}

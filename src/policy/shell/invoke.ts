/** Finds the judge of one argument vector; wrappers and runners come back here with what they would start. */
import { frozenMatch } from "../frozen.ts";
import { describe, type Invocation, type Program } from "../invocation.ts";
import { judgePath } from "../paths/access.ts";
import { basename } from "../paths/text.ts";
import { findProgram } from "../programs/registry.ts";
import { judgeUnknown } from "../programs/unknown.ts";
import { applyRules } from "../rules.ts";
import { type Flow, filtered, NOTHING_KNOWN } from "./flow.ts";
import { hasMark, NETWORK, readable } from "./marks.ts";
import type { ShellState } from "./state.ts";
import type { Walker } from "./walker.ts";
import type { Arg } from "./words.ts";

export interface InvokeOptions {
  state: ShellState;
  stdin: Flow | undefined;
  assigned: readonly string[];
  walker: Walker;
  packageFolder: string | undefined;
}

/** A character beyond ASCII before the option's value begins. */
const ODD_OPTION = /^-[^=\s]*[^\x20-\x7e\uE000-\uE005=\s]/;

/** Folders whose programs are taken for the system's own. */
const SYSTEM_PROGRAM_FOLDERS = new Set([
  "/bin",
  "/usr/bin",
  "/usr/local/bin",
  "/sbin",
  "/usr/sbin",
  "/opt/homebrew/bin",
]);

export function invoke(argv: readonly Arg[], options: InvokeOptions): Flow {
  const [head] = argv;
  if (head === undefined) return NOTHING_KNOWN;
  const { walker, state } = options;
  const { gate } = walker;
  gate.trace?.command({ argv: argv.map((arg) => readable(arg.value)), folders: state.folders, depth: walker.depth });
  const call: Invocation = {
    name: basename(head.value),
    head,
    args: argv.slice(1),
    state,
    stdin: options.stdin,
    assigned: options.assigned,
    packageFolder: options.packageFolder,
    gate,
    walker,
  };
  if (frozenMatch(argv, options)) {
    let flow: Flow = NOTHING_KNOWN;
    gate.report.denyOnly(() => {
      flow = judgeProgram(call);
    });
    gate.report.allow("verify.frozen", "It is the frozen verification command.");
    return flow;
  }
  const mark = gate.report.mark();
  const flow = judgeProgram(call);
  if (gate.context.rules !== undefined && gate.context.rules.length > 0) applyRules(call, mark);
  return flow;
}

function judgeProgram(call: Invocation): Flow {
  const { head, gate, walker } = call;
  const { report } = gate;
  if (hasMark(head.value)) {
    report.review("words.dynamic-command", "An expansion decides which program runs.", readable(head.value));
    if (head.value.includes(NETWORK))
      report.deny("network.into-interpreter", "It would run text from the network.", readable(head.value));
    return judgeUnknown(call);
  }
  if (!head.plain) report.review("words.built-command", "The program's name is built from pieces.", head.raw);
  if (!isPlainAscii(head.value))
    report.review("characters.command", "The program's name holds unusual characters.", head.value);
  for (const arg of call.args) {
    if (arg.value.charCodeAt(0) === 45 && ODD_OPTION.test(arg.value)) {
      report.review("characters.option", "An option's name holds unusual characters.", readable(arg.value));
    }
  }
  if (walker.functions.has(head.value))
    report.review("bash.function-call", "The word was given a new meaning in this call.", head.value);
  const program = findProgram(call.name);
  if (head.value.includes("/")) return judgeByPath(call, program);
  if (program === undefined) return judgeUnknown(call);
  return run(program, call);
}

/** A program named by a path: deny rules match by basename; a known system folder makes it the known program. */
function judgeByPath(call: Invocation, program: Program | undefined): Flow {
  const { head, gate, state } = call;
  const folder = head.value.slice(0, head.value.lastIndexOf("/"));
  if (program !== undefined && SYSTEM_PROGRAM_FOLDERS.has(folder)) return run(program, call);
  judgePath(gate, state.folders, { value: head.value, glob: head.glob, access: "read" });
  if (isProjectWrapper(call, folder) && program !== undefined) return run(program, call);
  const local = localBin(call, folder);
  if (local) return program === undefined ? judgeUnknown(call) : run(program, call);
  let flow: Flow = NOTHING_KNOWN;
  if (program === undefined) return judgeUnknown(call);
  gate.report.denyOnly(() => {
    flow = run(program, call);
  });
  gate.report.review("program.path", "A program named by a path that is not the system's.", describe(call));
  return flow;
}

/** `./gradlew` and `./mvnw`: the build tool that the project brings, as git has it. */
function isProjectWrapper(call: Invocation, folder: string): boolean {
  if (folder !== "." || (call.name !== "gradlew" && call.name !== "mvnw")) return false;
  const { gate, state } = call;
  const [at] = state.folders;
  return (
    at !== undefined &&
    state.folders.length === 1 &&
    gate.facts.gitState(`${at}/${call.name}`) === "tracked" &&
    !gate.facts.changedByTask(`${at}/${call.name}`)
  );
}

/** `node_modules/.bin/tsc` in a folder of the workspace is the project's own tool. */
function localBin(call: Invocation, folder: string): boolean {
  const { gate, state } = call;
  const match = /^(?:(.*)\/)?node_modules\/\.bin$/.exec(folder.replace(/^\.\//, ""));
  if (match === null || state.folders.length !== 1) return false;
  const base = match[1] ?? state.folders[0] ?? "";
  const absolute = base.startsWith("/") ? base : `${state.folders[0]}/${base}`;
  return (
    absolute.startsWith(gate.context.workspace) &&
    gate.facts.hasLocalBin(absolute, call.name) &&
    findProgram(call.name) !== undefined
  );
}

function isPlainAscii(text: string): boolean {
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code < 33 || code > 126) return false;
  }
  return true;
}

/** A program whose output is not known still hands on where its input came from. */
function run(program: Program, call: Invocation): Flow {
  return program.judge(call) ?? filtered(call.stdin, false);
}

/** Judges the tools of tools-table.ts: which words stay in the workspace, which name code, which act outside. */
import { describe, type Invocation, type ProgramTable } from "../invocation.ts";
import { program } from "../programs/reader.ts";
import { asRunner, judgeRunnerWords } from "../programs/runner.ts";
import { sweepPaths } from "../programs/sweep.ts";
import { type Flow, NOTHING_KNOWN } from "../shell/flow.ts";
import { readable } from "../shell/marks.ts";
import type { Arg } from "../shell/words.ts";
import { BY_VERB, LOADS_CODE, NAMES_CODE, RUNS_PROGRAM, WHOLE } from "./tools-table.ts";

export const TOOLS: ProgramTable = {
  ...Object.fromEntries(Object.entries(WHOLE).map(([name, reason]) => [name, program(reason, whole)])),
  ...Object.fromEntries(Object.entries(BY_VERB).map(([name, { reason }]) => [name, program(reason, byVerb)])),
};

/** Targets and tasks that by their name act where others see it. */
const OUTWARD_TARGET = /^(?::?[\w-]+:)*(?:deploy|publish|release|upload|push|ship|promote)(?:[-_:][\w:-]+)?$/i;
const SYSTEM_TARGET = /^(?:install|uninstall)(?:[-_].*)?$/;
const MAKE_FREE_VARIABLES =
  /^(?:V|VERBOSE|DEBUG|Q|RELEASE|ARCH|PROFILE|BUILD_TYPE|NPROC|JOBS|TEST|TESTS|TESTARGS|FILTER|RUN|PKG|T)=[\w./:,-]*$/;
/** They start the rest of their words as a command. */
const STARTS_REST = new Set(["c8", "nyc"]);

function whole(call: Invocation): Flow {
  const { gate, args, name } = call;
  const subject = readable(describe(call));
  if (STARTS_REST.has(name)) {
    const at = args.findIndex((arg) => !arg.value.startsWith("-"));
    judgeRunnerWords(call, at < 0 ? args : args.slice(0, at));
    if (at >= 0) return call.walker.invoke(args.slice(at), call);
  }
  const code = Object.hasOwn(NAMES_CODE, name) ? NAMES_CODE[name] : undefined;
  if (name === "go") judgeLinkerFlags(call);
  for (const arg of args) {
    if (code?.test(arg.value) === true || LOADS_CODE.test(arg.value))
      gate.report.review("runner.option", "This option names code or another place.", readable(arg.value));
    if (isTargetRunner(name)) judgeTarget(call, arg.value, subject);
  }
  if (name === "ruff" && args[0]?.value === "clean") gate.report.review("runner.clean", "It removes caches.", subject);
  if (
    args.some(
      (arg) => /^--(?:watch|watchAll|ui|serve|inspect|inspect-brk|open)$/.test(arg.value) || arg.value === "serve",
    )
  )
    gate.report.allow("runner.serves", "It goes on until it is ended.");
  judgeRunnerWords(call, args);
  judgeMakefile(call);
  asRunner(call, "A tool that tests, checks, formats or builds.");
  return NOTHING_KNOWN;
}

function isTargetRunner(name: string): boolean {
  return /^(?:g?make|just|rake|gradlew?|mvnw?|ant|sbt|ninja|turbo|nx|grunt|gulp|task|bazel)$/.test(name);
}

function judgeTarget(call: Invocation, word: string, subject: string): void {
  const { gate, name } = call;
  if (word.startsWith("-")) return;
  if (RUNS_PROGRAM.test(word)) {
    gate.report.review("runner.runs", "It runs the program or changes a database.", subject);
  }
  if (OUTWARD_TARGET.test(word))
    gate.report.person("outward.target", "By its name it acts where others see it.", subject);
  else if (SYSTEM_TARGET.test(word) && name !== "mvn" && name !== "mvnw")
    gate.report.review("runner.installs", "It would install something.", subject);
  const assignment = /^([A-Za-z_]\w*)[:+?!]?=/.exec(word);
  if (/make$/.test(name) && assignment !== null && !MAKE_FREE_VARIABLES.test(word)) {
    gate.report.review("runner.variable", "This variable can replace a program that the rules start.", readable(word));
  }
}

/** `make -f FILE` and `make -C DIR`: the rules are there. */
function judgeMakefile(call: Invocation): void {
  if (!/^g?make$/.test(call.name)) return;
  const { args, gate, state } = call;
  for (const [index, arg] of args.entries()) {
    const file = /^(?:-f|--file|--makefile)$/.test(arg.value)
      ? args[index + 1]?.value
      : /^(?:-f|--file=|--makefile=)(.+)$/.exec(arg.value)?.[1];
    if (file === undefined) continue;
    if (file === "-") gate.report.review("interpreter.piped", "It runs what comes in.", "make -f -");
    const [folder] = state.folders;
    if (folder === undefined || gate.facts.changedByTask(file.startsWith("/") ? file : `${folder}/${file}`))
      gate.report.review(
        "runner.definition-changed",
        "The task changed what this runner does, and the gate cannot read it.",
        readable(file),
      );
  }
  for (const [index, arg] of args.entries()) {
    const folder = /^(?:-C|--directory)$/.test(arg.value)
      ? args[index + 1]?.value
      : /^(?:-C|--directory=)(.+)$/.exec(arg.value)?.[1];
    if (folder === undefined || state.folders[0] === undefined) continue;
    for (const name of ["GNUmakefile", "makefile", "Makefile"]) {
      if (gate.facts.changedByTask(`${folder.startsWith("/") ? "" : `${state.folders[0]}/`}${folder}/${name}`))
        gate.report.review(
          "runner.definition-changed",
          "The task changed what this runner does, and the gate cannot read it.",
          `${folder}/${name}`,
        );
    }
  }
}

function byVerb(call: Invocation): Flow {
  const { gate, args, name } = call;
  const subject = readable(describe(call));
  if (args.length === 1 && /^(?:--version|-V|-v|--help|-h|version|help)$/.test(args[0]?.value ?? "")) {
    gate.report.allow("runner.version", "It prints a version.");
    return NOTHING_KNOWN;
  }
  const verbs = (BY_VERB[name]?.verbs ?? "").split(" ");
  const verb = args.find((arg) => !arg.value.startsWith("-") && !arg.value.startsWith("+"))?.value ?? "";
  sweepPaths(call, args);
  if (
    /^(?:publish|yank|owner|login|push|hex\.publish)$/.test(verb) ||
    (name === "dotnet" && args.some((arg) => arg.value === "push"))
  ) {
    gate.report.person("outward.publish", "It changes something at a package registry.", subject);
    return NOTHING_KNOWN;
  }
  if (name === "coverage" && verb === "run") {
    const module = args.findIndex((arg) => arg.value === "-m");
    const python: Arg = { value: "python3", raw: "python3", glob: false, plain: true };
    const from = module >= 0 ? module : args.findIndex((arg) => arg.value === "run") + 1;
    return call.walker.invoke([python, ...args.slice(from)], call);
  }
  if (
    isDependencyVerb(
      name,
      args.map((arg) => arg.value),
    )
  ) {
    if (gate.context.profile === "open")
      gate.report.allow("install.packages", "The open profile may install dependencies.");
    else gate.report.review("install.packages", "It fetches packages.", subject);
    return NOTHING_KNOWN;
  }
  if (!verbs.includes(verb) && !(verbs[0] === "" && verb === "")) {
    gate.report.review("runner.verb", `This verb of ${name} is not known to be the project's own work.`, subject);
    return NOTHING_KNOWN;
  }
  if (
    name === "go" &&
    (verb === "mod" || verb === "env" || verb === "tool") &&
    !isReadingGo(args.map((arg) => arg.value))
  ) {
    gate.report.review("runner.verb", `This verb of ${name} changes settings or fetches.`, subject);
  }
  return whole(call);
}

function isDependencyVerb(name: string, words: readonly string[]): boolean {
  if (name === "cargo") return /^(?:fetch|update|add|remove|vendor|generate-lockfile)$/.test(words[0] ?? "");
  if (name === "go")
    return (words[0] === "mod" && /^(?:download|tidy|vendor)$/.test(words[1] ?? "")) || words[0] === "get";
  if (name === "dotnet") return words[0] === "restore";
  if (name === "mix") return words[0] === "deps.get";
  return false;
}

function isReadingGo(words: readonly string[]): boolean {
  if (words[0] === "mod") return /^(?:graph|verify|why)$/.test(words[1] ?? "");
  if (words[0] === "env") return words.slice(1).every((word) => /^(?:-json|[A-Z_0-9]+)$/.test(word));
  return words.length === 1 || words[1] === "cover" || words[1] === "pprof";
}

/** `-ldflags "-s -w -X main.version=1"` only strips and sets texts; others name a linker. */
function judgeLinkerFlags(call: Invocation): void {
  for (const [index, arg] of call.args.entries()) {
    const value = /^--?ldflags$/.test(arg.value)
      ? (call.args[index + 1]?.value ?? "")
      : /^--?ldflags=(.*)$/.exec(arg.value)?.[1];
    if (value === undefined || /^(?:\s*(?:-s|-w|-X[ =]?['"]?[\w./-]+=[\w.:/+-]*['"]?))*\s*$/.test(value)) continue;
    call.gate.report.review("runner.option", "This option names code or another program.", readable(value));
  }
}

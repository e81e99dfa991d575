/** Languages: inline code, piped code and bare scripts are not known to the gate; some of their modules are project runners. */
import { describe, type Invocation, type ProgramTable } from "../invocation.ts";
import { judgePath } from "../paths/access.ts";
import type { Flow } from "../shell/flow.ts";
import { NETWORK, readable } from "../shell/marks.ts";
import { hasBypassText, isClaudeName, judgeClaude } from "./claude.ts";
import { judgeNode } from "./node.ts";
import { judgePython } from "./python.ts";
import { program } from "./reader.ts";
import { runInput } from "./shells.ts";
import { sweepPaths } from "./sweep.ts";

const NAMES = (
  "perl ruby php lua luajit Rscript R julia tclsh wish groovy scala kotlin elixir iex erl escript ghci runghc racket guile sbcl clisp " +
  "clojure clj bb ocaml osacompile ipython bpython pypy pypy3 jshell irb pry node-red ts-node tsx esno vite-node babel-node " +
  "coffee sqlite3 psql mysql mariadb mongosh redis-cli m4 bc dc octave gnuplot java dotnet-script gdb lldb vim vi nvim emacs ed ex nano pico"
).split(" ");

export const INTERPRETERS: ProgramTable = {
  node: program("runs JavaScript", judgeNode),
  nodejs: program("runs JavaScript", judgeNode),
  python: program("runs Python", judgePython),
  python3: program("runs Python", judgePython),
  py: program("runs Python", judgePython),
  ...Object.fromEntries(NAMES.map((name) => [name, program("runs code or opens an editor that can", interpreter)])),
};

const RUNS_INPUT = new Set([
  ..."sh bash dash ash zsh ksh mksh rbash fish csh tcsh nu pwsh powershell python python3 py node nodejs deno bun".split(
    " ",
  ),
  ...NAMES,
  ..."eval source . sudo doas su env xargs ssh at batch crontab busybox".split(" "),
]);

/** Whether a program of this name runs what it is given. */
export function isInterpreter(name: string): boolean {
  return RUNS_INPUT.has(name.slice(name.lastIndexOf("/") + 1).replace(/[\d.]+$/, "")) || RUNS_INPUT.has(name);
}

function interpreter(call: Invocation): Flow | undefined {
  const { args, gate } = call;
  if (args.length === 1 && /^(?:--version|-version)$/.test(args[0]?.value ?? "")) {
    gate.report.allow("interpreter.version", "It prints a version.");
    return undefined;
  }
  judgeCode(call);
  return undefined;
}

/** Code of any kind: reviewed; network text, a Claude bypass or a credential store among its words is denied. */
export function judgeCode(call: Invocation): void {
  const { args, gate, state } = call;
  const subject = readable(describe(call));
  gate.report.review("interpreter.code", "It runs code that the gate does not read.", subject);
  const operands = args.filter((arg) => !arg.value.startsWith("-"));
  const script = operands[0];
  if (script !== undefined && isClaudeName(script.value))
    judgeClaude({ ...call, args: args.slice(args.indexOf(script) + 1) });
  for (const arg of args) {
    if (arg.value.includes(NETWORK))
      gate.report.deny("network.into-interpreter", "It would run text from the network.", subject);
    if (hasBypassText(arg.value) || isSpreadBypass(args, arg))
      gate.report.deny("claude.bypass", "Its text starts Claude without its permission gate.", subject);
    if (/pi-claude-supervisor.*cli\/control\.[jt]s$/.test(arg.value))
      gate.report.deny("supervisor.control", "The supervisor's control program is not for the worker.", subject);
    if (/["'`\s]rm\s+-[a-z]*r[a-z]*f?\s+(?:\/|~|\$HOME)["'`\s]/.test(arg.value))
      gate.report.deny("floor.text", "Its text sweeps a home or root folder.", subject);
  }
  sweepPaths(call, args);
  if (operands.length === 0 || operands.some((arg) => arg.value === "-" || arg.value === "/dev/stdin")) {
    if (args.every((arg) => !/^-(?:\w*[ecnrpS]|-eval|-print|-execute|-run)$/.test(arg.value))) runInput(call, false);
  }
  for (const operand of operands.slice(0, 1)) {
    if (!/\s/.test(operand.value))
      judgePath(gate, state.folders, { value: operand.value, glob: operand.glob, access: "read" });
  }
}

/** `claude` in one word and the bypass in another. */
function isSpreadBypass(args: readonly { value: string }[], arg: { value: string }): boolean {
  return isClaudeName(arg.value) && args.some((other) => other !== arg && hasBypassText(`claude ${other.value}`));
}

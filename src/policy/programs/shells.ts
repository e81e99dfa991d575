/** Shells: text that they run is judged like the command itself; a file or an unknown text is not known. */
import { describe, type Invocation, type ProgramTable } from "../invocation.ts";
import { judgePath } from "../paths/access.ts";
import type { Flow } from "../shell/flow.ts";
import { isOpen, NETWORK, readable } from "../shell/marks.ts";
import type { Arg } from "../shell/words.ts";
import { hasBypassText } from "./claude.ts";
import { program } from "./reader.ts";
import { sweepPaths } from "./sweep.ts";

export const SHELLS: ProgramTable = {
  sh: program("a shell", shell),
  bash: program("a shell", shell),
  dash: program("a shell", shell),
  ash: program("a shell", shell),
  zsh: program("a shell", shell),
  ksh: program("a shell with forms of its own", foreignShell),
  mksh: program("a shell with forms of its own", foreignShell),
  rbash: program("a shell", shell),
  fish: program("a shell with forms of its own", foreignShell),
  csh: program("a shell with forms of its own", foreignShell),
  tcsh: program("a shell with forms of its own", foreignShell),
  nu: program("a shell with forms of its own", foreignShell),
  pwsh: program("a shell with forms of its own", foreignShell),
  powershell: program("a shell with forms of its own", foreignShell),
  cmd: program("a shell with forms of its own", foreignShell),
};

/**
 * Judges text that something would run. `denyOnly`: when it runs is not known, so only what must never run counts.
 * Network text among it is denied; unknown pieces are reviewed.
 */
export function runText(call: Invocation, text: string, what: string, denyOnly: boolean): Flow | undefined {
  const { gate, walker } = call;
  if (text.includes(NETWORK))
    gate.report.deny("network.into-interpreter", "It would run text from the network.", readable(text));
  if (isOpen(text)) {
    gate.report.review("shell.dynamic-text", "An expansion decides what text is run.", readable(text));
    if (hasBypassText(text))
      gate.report.deny("claude.bypass", "Its text starts Claude without its permission gate.", readable(text));
  }
  if (!denyOnly) return walker.text(text, call.state.clone(), call.stdin, what);
  let flow: Flow | undefined;
  gate.report.denyOnly(() => {
    flow = walker.text(text, call.state.clone(), undefined, what);
  });
  return flow;
}

/** An interpreter that takes its program from standard input: what flows in decides. */
export function runInput(call: Invocation, isShell: boolean): void {
  const { gate, stdin } = call;
  const subject = readable(describe(call));
  gate.report.review("interpreter.piped", "It runs what comes in.", subject);
  if (stdin?.network === true)
    gate.report.deny("network.into-interpreter", "It would run text from the network.", subject);
  if (stdin?.text === undefined) return;
  if (isShell) runText({ ...call, stdin: undefined }, stdin.text, subject, false);
  else if (hasBypassText(stdin.text))
    gate.report.deny("claude.bypass", "Its text starts Claude without its permission gate.", subject);
}

const MODE_SWITCHES = /^[-+][abefhiklmnprstuvxBCEHPT]*c?[abefhiklmnprstuvxBCEHPT]*$/;
const LONG_SWITCHES = new Set([
  "--login",
  "--norc",
  "--noprofile",
  "--posix",
  "--verbose",
  "--noediting",
  "--restricted",
]);

function shell(call: Invocation): Flow | undefined {
  const { args, gate } = call;
  let takesText = false;
  let syntaxOnly = false;
  let fromInput = false;
  let at = 0;
  for (; at < args.length; at += 1) {
    const word = args[at]?.value ?? "";
    if (word === "--version" || word === "--help") {
      if (args.length === 1) {
        gate.report.allow("shell.version", "It prints a version.");
        return undefined;
      }
      break;
    }
    if (word === "-" || word === "--") {
      at += 1;
      break;
    }
    if (LONG_SWITCHES.has(word)) continue;
    if (/^[-+]\w*[oO]$/.test(word)) {
      takesText ||= /^-\w*c/.test(word);
      at += 1;
      continue;
    }
    if (word.startsWith("-") && MODE_SWITCHES.test(word)) {
      takesText ||= word.includes("c");
      syntaxOnly ||= word.includes("n");
      fromInput ||= word.includes("s");
      continue;
    }
    if (word.startsWith("-")) {
      gate.report.review("options.unknown", `This option of ${call.name} is not known to be harmless.`, readable(word));
      sweepPaths(call, args.slice(at));
      if (/^--(?:rcfile|init-file)$/.test(word)) at += 1;
      continue;
    }
    break;
  }
  const rest = args.slice(at);
  if (takesText) return runArgument(call, rest);
  const [file] = rest;
  if (file !== undefined && !fromInput) return runFile(call, file, syntaxOnly);
  runInput(call, true);
  return undefined;
}

function runArgument(call: Invocation, rest: readonly Arg[]): Flow | undefined {
  const [text, ...positional] = rest;
  if (text === undefined) {
    call.gate.report.review("shell.no-text", "`-c` has no text.", describe(call));
    return undefined;
  }
  const state = call.state.clone();
  for (const [index, arg] of positional.entries()) state.assign(String(index), { value: arg.value, glob: arg.glob });
  call.gate.report.allow("shell.text", "Each part of its text was judged.");
  return runText({ ...call, state }, text.value, `${call.name} -c`, false);
}

function runFile(call: Invocation, file: Arg, syntaxOnly: boolean): Flow | undefined {
  const { gate, state } = call;
  const subject = readable(describe(call));
  if (file.value.includes(NETWORK)) {
    gate.report.deny("network.into-interpreter", "It would run text from the network.", subject);
    return undefined;
  }
  if (/^\/dev\/(?:stdin|fd\/0)$/.test(file.value)) {
    runInput(call, true);
    return undefined;
  }
  judgePath(gate, state.folders, { value: file.value, glob: file.glob, access: "read" });
  sweepPaths(call, call.args);
  if (syntaxOnly) gate.report.allow("shell.syntax", "It only checks the syntax.");
  else gate.report.review("interpreter.script", "It runs a script that the gate has not read.", subject);
  return undefined;
}

/** Their text is not Bash: reviewed, after the deny rules have looked at it as if it were. */
function foreignShell(call: Invocation): undefined {
  const { gate } = call;
  gate.report.review("shell.foreign", "This shell has forms that the gate does not read.", readable(describe(call)));
  for (const arg of call.args) if (arg.value.includes(" ")) runText(call, arg.value, call.name, true);
  gate.report.denyOnly(() => runInput(call, true));
  sweepPaths(call, call.args);
  return undefined;
}

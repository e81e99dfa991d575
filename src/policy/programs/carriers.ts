/** Programs that carry words or text to another command: xargs, parallel, ssh, terminals, schedulers. */
import { describe, type Invocation, type ProgramTable } from "../invocation.ts";
import { flagTable, flagValue, has, scan } from "../options.ts";
import { type Flow, NOTHING_KNOWN } from "../shell/flow.ts";
import { readable, UNKNOWN } from "../shell/marks.ts";
import type { Arg } from "../shell/words.ts";
import { judgeClaudeWords } from "./claude.ts";
import { isInterpreter } from "./interpreters.ts";
import { isPlainReader } from "./plain.ts";
import { judgeFlags, program } from "./reader.ts";
import { runInput, runText } from "./shells.ts";
import { sweepPaths } from "./sweep.ts";
import { tryEach } from "./wrappers.ts";

export const CARRIERS: ProgramTable = {
  xargs: program("hands words to a command", xargs),
  parallel: program("hands words to commands", parallel),
  ssh: program("runs text on another machine", ssh),
  mosh: program("runs text on another machine", ssh),
  tmux: program("runs text in a terminal of its own", terminal),
  screen: program("runs text in a terminal of its own", terminal),
  zellij: program("runs text in a terminal of its own", terminal),
  expect: program("drives programs by a script", terminal),
  xterm: program("runs text in a terminal of its own", terminal),
  osascript: program("runs a script of the system", terminal),
  at: program("runs its input later", later),
  batch: program("runs its input later", later),
  crontab: program("runs commands again and again", later),
  concurrently: program("runs several texts", texts),
};

const XARGS = flagTable(
  "-0prtxo -a=< -d= -E= -e=? -I= -i=? -J= -L= -l=? -n= -P= -R= -S= -s= --null --arg-file=< --delimiter= --eof=? --replace=? " +
    "--max-lines=? --max-args= --max-procs= --interactive --no-run-if-empty --max-chars= --verbose --exit --show-limits --open-tty",
);
const MAX_CARRIED = 32;

function xargs(call: Invocation): Flow {
  const { gate, stdin } = call;
  const found = scan(call.args, XARGS, false);
  judgeFlags(call, { ...found, unclear: [] }, false);
  if (found.unknown.length > 0) tryEach(call, call.args);
  const command =
    found.operands.length > 0 ? found.operands : [{ value: "echo", raw: "echo", glob: false, plain: true }];
  const name = command[0]?.value ?? "";
  const carried = carriedWords(call);
  const mark = flagValue(found, "-I", "-J", "--replace")?.value ?? (has(found, "-i", "--replace") ? "{}" : undefined);
  const argv = mark === undefined ? [...command, ...carried] : command.map((arg) => fill(arg, mark, carried));
  if (stdin?.network === true && isInterpreter(name)) {
    gate.report.deny("network.into-interpreter", "It would run text from the network.", readable(describe(call)));
  }
  if (!isPlainReader(name)) {
    gate.report.review(
      "xargs.command",
      "It hands unknown words to a command that does more than read.",
      readable(describe(call)),
    );
  }
  return call.walker.invoke(argv, { ...call, stdin: undefined });
}

/** What comes in, as words: fixed text, names of workspace files, or something unknown. */
function carriedWords(call: Invocation): Arg[] {
  const { stdin } = call;
  if (stdin?.text !== undefined) {
    const words = stdin.text.split(/[\s\0'"]+/).filter((word) => word !== "");
    return words.slice(0, MAX_CARRIED).map((value) => ({ value, raw: value, glob: false, plain: false }));
  }
  const value = stdin?.names === true ? "./*" : UNKNOWN;
  return [{ value, raw: "(input)", glob: true, plain: false }];
}

function fill(arg: Arg, mark: string, carried: readonly Arg[]): Arg {
  if (mark === "" || !arg.value.includes(mark)) return arg;
  const value = carried.length === 1 ? (carried[0]?.value ?? UNKNOWN) : UNKNOWN;
  return { value: arg.value.replaceAll(mark, value), raw: arg.raw, glob: true, plain: false };
}

function parallel(call: Invocation): Flow {
  const { gate } = call;
  gate.report.review("xargs.parallel", "It starts commands made of words that come in.", readable(describe(call)));
  tryEach(call, call.args);
  const end = call.args.findIndex((arg) => /^:{3,4}\+?$/.test(arg.value));
  const command = call.args.slice(0, end < 0 ? undefined : end).filter((arg) => !arg.value.startsWith("-"));
  const words = end < 0 ? carriedWords(call) : call.args.slice(end + 1);
  if (command.length > 0) runText(call, [...command, ...words].map((arg) => arg.value).join(" "), "parallel", true);
  else for (const word of words) runText(call, word.value, "parallel", true);
  return NOTHING_KNOWN;
}

const SSH = flagTable(
  "-46AaCfGgKkMNnqsTtVvXxYy -B= -b= -c= -D= -E=> -e= -F=< -I= -i=< -J= -L= -l= -m= -O= -o= -p= -Q= -R= -S= -W= -w=",
);

/** What runs on another machine is never allowed; the deny rules read its text, because the machine may be this one. */
function ssh(call: Invocation): undefined {
  const { gate } = call;
  const found = scan(call.args, SSH, false);
  judgeFlags(call, found, false);
  gate.report.review("network.ssh", "It works on another machine.", readable(describe(call)));
  for (const flag of found.flags) {
    const match = /^\s*(?:proxycommand|localcommand|knownhostscommand|match)[\s=]+(.*)$/i.exec(
      flag.name === "-o" ? (flag.value?.value ?? "") : "",
    );
    if (match !== null) runText(call, match[1] ?? "", "ssh -o", true);
  }
  if (found.unknown.length > 0) tryEach(call, call.args);
  const text = found.operands
    .slice(1)
    .map((arg) => arg.value)
    .join(" ");
  if (call.stdin?.network === true && (text === "" || isInterpreter(text.split(" ")[0] ?? ""))) {
    gate.report.deny("network.into-interpreter", "It would run text from the network.", readable(describe(call)));
  }
  if (text !== "") runText(call, text, "ssh", true);
  else if (call.stdin !== undefined) gate.report.denyOnly(() => runInput(call, true));
  judgeClaudeWords(call);
  return undefined;
}

function terminal(call: Invocation): undefined {
  call.gate.report.review("carrier.terminal", "It runs commands in a terminal of its own.", readable(describe(call)));
  for (const arg of call.args)
    if (arg.value.includes(" ") || arg.value.includes("\n")) runText(call, arg.value, call.name, true);
  judgeClaudeWords(call);
  sweepPaths(call, call.args);
  return undefined;
}

function later(call: Invocation): undefined {
  const { gate, stdin } = call;
  const subject = readable(describe(call));
  if (call.name === "crontab" && call.args.length === 1 && call.args[0]?.value === "-l") {
    gate.report.review("schedule.list", "It shows the account's scheduled commands.", subject);
    return undefined;
  }
  gate.report.review("schedule.later", "It would run commands when nobody looks.", subject);
  if (stdin?.network === true)
    gate.report.deny("network.into-interpreter", "It would run text from the network.", subject);
  if (stdin?.text !== undefined) runText(call, stdin.text, call.name, true);
  sweepPaths(call, call.args);
  return undefined;
}

/** Each operand is a text for a shell. */
function texts(call: Invocation): Flow {
  const found = scan(call.args, CONCURRENTLY);
  judgeFlags(call, found, false);
  for (const arg of found.operands) {
    const script = /^(?:npm|pnpm|yarn|bun):([\w:.-]+)$/.exec(arg.value);
    runText(call, script === null ? arg.value : `npm run ${script[1]}`, call.name, false);
  }
  call.gate.report.allow("wrapper.concurrently", "Each of its texts was judged.");
  return NOTHING_KNOWN;
}

const CONCURRENTLY = flagTable(
  "-krsgP -n= -c= -p= -m= -l= --names= --kill-others --kill-others-on-fail --success= --raw --prefix= --prefix-colors= --max-processes= --group --timings --no-color",
);

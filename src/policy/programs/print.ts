/** Programs that print their words or answer a question. */
import type { Invocation, ProgramTable } from "../invocation.ts";
import { flagTable, scan } from "../options.ts";
import { judgePath } from "../paths/access.ts";
import { A_NUMBER, type Flow, fixedText, NOTHING_KNOWN } from "../shell/flow.ts";
import { hasMark, readable, UNKNOWN } from "../shell/marks.ts";
import { isFileTest } from "../shell/tests.ts";
import { judgeData, judgeFlags, program, reader } from "./reader.ts";

export const PRINT: ProgramTable = {
  echo: program("prints its words", echo),
  printf: program("prints its words", printf),
  true: program("does nothing", nothing),
  ":": program("does nothing", nothing),
  false: program("does nothing", nothing),
  test: program("asks about files and texts", test),
  "[": program("asks about files and texts", test),
  pwd: program("prints the shell's folder", pwd),
  date: program("prints the time", date),
  basename: reader("cuts a path as text", "-az --multiple --zero -s= --suffix=", { operands: "data" }),
  dirname: reader("cuts a path as text", "-z --zero", { operands: "data" }),
  seq: reader("prints numbers", "-w --equal-width -f= -s= --separator= --format=", { operands: "data" }),
  expr: reader("calculates with its words", "", { operands: "data" }),
  sleep: reader("waits", "", { operands: "data" }),
  yes: reader("prints its words again and again", "", { operands: "data" }),
};

function nothing(call: Invocation): undefined {
  call.gate.report.allow(`print.${call.name === ":" ? "colon" : call.name}`, "It does nothing.");
  return undefined;
}

function echo(call: Invocation): Flow {
  judgeData(call, call.args);
  call.gate.report.allow("print.echo", "It prints its words.");
  const words = call.args.map((arg) => arg.value);
  let newline = "\n";
  while (/^-[neE]+$/.test(words[0] ?? "")) {
    if (words[0]?.includes("n")) newline = "";
    if (words[0]?.includes("e")) return fixedText(`${unescaped(words.slice(1).join(" "))}${newline}`);
    words.shift();
  }
  const text = words.join(" ") + newline;
  return { ...fixedText(text), network: text.includes("\uE003") };
}

/** The escapes that matter for what a shell would read. */
function unescaped(text: string): string {
  return text.replace(/\\(?:x[0-9a-fA-F]{1,2}|0[0-7]{0,3}|.)/g, (sequence) => {
    if (sequence === "\\n") return "\n";
    if (sequence === "\\t") return "\t";
    if (sequence.startsWith("\\x")) return String.fromCharCode(Number.parseInt(sequence.slice(2), 16));
    if (sequence.startsWith("\\0")) return String.fromCharCode(Number.parseInt(sequence.slice(2) || "0", 8));
    return sequence === "\\\\" ? "\\" : sequence;
  });
}

function printf(call: Invocation): Flow {
  const [first, ...rest] = call.args;
  const { report } = call.gate;
  if (first === undefined) return NOTHING_KNOWN;
  const dashed = first.value.startsWith("-") && first.value !== "-" && first.value !== "--";
  if (dashed || hasMark(first.value.charAt(0))) {
    report.review(
      "print.printf-assigns",
      "`printf -v` assigns, and its subscript is evaluated as code.",
      readable(first.value),
    );
  }
  judgeData(call, call.args);
  report.allow("print.printf", "It prints its words.");
  const format = first.value === "--" ? (rest.shift()?.value ?? "") : first.value;
  let index = 0;
  const text = unescaped(format).replace(/%(?:%|[-+ #0]*\d*(?:\.\d+)?[sbqdi])/g, (spec) => {
    if (spec === "%%") return "%";
    const word = rest[index]?.value ?? "";
    index += 1;
    return word;
  });
  const left = rest.slice(index).map((arg) => arg.value);
  return fixedText(left.length === 0 ? text : `${text}${left.join("\n")}`);
}

const NUMERIC_TEST = /^-(?:eq|ne|lt|le|gt|ge)$/;

function test(call: Invocation): undefined {
  const { args, gate, state } = call;
  if (args.some((arg) => NUMERIC_TEST.test(arg.value))) judgeData(call, args); // its error message would show the value
  for (const [index, arg] of args.entries()) {
    const next = args[index + 1];
    if (next === undefined) continue;
    if ((arg.value === "-v" || arg.value === "-R") && !/^\w+$/.test(next.value)) {
      gate.report.review("words.subscript", "A subscript is evaluated as code.", readable(next.value));
    }
    if (isFileTest(arg.value) && next.value !== "]")
      judgePath(gate, state.folders, { value: next.value, glob: next.glob, access: "read" });
  }
  gate.report.allow("print.test", "It only asks.");
  return undefined;
}

function pwd(call: Invocation): Flow {
  const found = scan(call.args, PWD);
  judgeFlags(call, found, false);
  call.gate.report.allow("print.pwd", "It prints the shell's folder.");
  return fixedText(`${call.state.folders.length === 1 ? (call.state.folders[0] ?? UNKNOWN) : UNKNOWN}\n`);
}

const PWD = flagTable("-LP");
const DATE = flagTable(
  "-uR -I=? -d= --date= -r=< --reference=< --utc --universal --rfc-3339= --iso-8601=? --rfc-email -j + -f=< --file=<",
);

/** `date MMDDhhmm` sets the clock; `-f` reads a file that it then prints in its errors. */
function date(call: Invocation): Flow {
  const found = scan(call.args, DATE);
  judgeFlags(call, found, false);
  const { report } = call.gate;
  if (found.flags.some((flag) => flag.name === "-f" || flag.name === "--file"))
    report.review("print.date-file", "It prints lines of a file.", "date -f");
  judgeData(call, found.operands);
  for (const arg of found.operands)
    if (!arg.value.startsWith("+")) report.review("print.date-sets", "It would set the clock.", readable(arg.value));
  report.allow("print.date", "It prints the time.");
  const format = found.operands[0]?.value ?? "";
  return /^\+%(?:%?[YmdHMSsjuVNFT]|[-_T:])+$/.test(format) ? A_NUMBER : NOTHING_KNOWN;
}

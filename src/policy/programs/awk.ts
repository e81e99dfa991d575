/** `awk`: a program without system(), getline, pipes, redirections and the environment only prints (POSIX awk, gawk 5.2). */
import type { Invocation } from "../invocation.ts";
import { flagTable, has, scan } from "../options.ts";
import { type Flow, filtered, NOTHING_KNOWN } from "../shell/flow.ts";
import { isOpen, readable } from "../shell/marks.ts";
import { judgeFlags, readPaths } from "./reader.ts";

const FLAGS = flagTable(
  "-F= -v= -f=< --field-separator= --assign= --file=< -W= --posix --re-interval --csv --version --help -V --traditional",
);
const FORBIDDEN = new Set([
  "system",
  "getline",
  "ENVIRON",
  "ARGV",
  "ARGC",
  "PROCINFO",
  "SYMTAB",
  "FUNCTAB",
  "extension",
]);
/** After these words an operand is expected, so that a slash begins a pattern. */
const BEFORE_OPERAND = new Set(["print", "printf", "return", "in", "case", "else", "do", "delete", "exit"]);

export function judgeAwk(call: Invocation): Flow {
  const { report } = call.gate;
  const found = scan(call.args, FLAGS, false);
  judgeFlags(call, found, true);
  const operands = [...found.operands];
  if (has(found, "-f", "--file", "-W"))
    report.review(
      "awk.program-file",
      "Its program is in a file.",
      readable(call.args.map((arg) => arg.value).join(" ")),
    );
  else {
    const program = operands.shift();
    if (program !== undefined) {
      const problem = isOpen(program.value) ? "An expansion decides the program of awk." : findDanger(program.value);
      if (problem !== undefined) report.review("awk.program", problem, readable(program.value));
    }
  }
  readPaths(
    call,
    operands.filter((arg) => !/^[A-Za-z_]\w*=/.test(arg.value)),
  );
  report.allow("read.awk", "It prints from its input.");
  return operands.length === 0 ? filtered(call.stdin, false) : NOTHING_KNOWN;
}

/** Why the program is more than a printer; `undefined` when it is not. Linear. */
export function findDanger(program: string): string | undefined {
  let at = 0;
  let printing = false;
  let depth = 0;
  /** Whether the token before was an operand, so that `/` divides. */
  let operand = false;
  /** The last character that is no blank. */
  let last = "";
  while (at < program.length) {
    const char = program.charAt(at);
    const before = last;
    if (!/\s/.test(char)) last = char;
    if (char === "/" && before === ")" && program.indexOf("/", at + 1) >= 0) return "It cannot be read for sure.";
    if (char === "\n" && (before === "," || before === "\\" || before === "|" || before === "&" || before === "{")) {
      at += 1; // the statement goes on in the next line
      continue;
    }
    if (/[A-Za-z_]/.test(char)) {
      const word = /^\w+/.exec(program.slice(at, at + 64))?.[0] ?? char;
      if (FORBIDDEN.has(word)) return `It uses \`${word}\`.`;
      if (word === "print" || word === "printf") {
        printing = true;
        depth = 0;
      }
      operand = !BEFORE_OPERAND.has(word);
      at += word.length;
      continue;
    }
    if (char === '"') {
      const end = endOf(program, at, '"');
      if (end < 0) return "A text in it does not end.";
      at = end;
      operand = true;
      continue;
    }
    if (char === "/" && !operand) {
      const end = endOf(program, at, "/");
      if (end < 0) return "A pattern in it does not end.";
      at = end;
      operand = true;
      continue;
    }
    if (char === "#") {
      const end = program.indexOf("\n", at);
      at = end < 0 ? program.length : end;
      continue;
    }
    if (char === "@") return "It loads or calls code by name.";
    if (char === "|") {
      if (program.charAt(at + 1) !== "|") return "It has a pipe.";
      at += 2;
      operand = false;
      continue;
    }
    if (char === ">" && printing && depth === 0) return "It writes to a file.";
    if ((char === "+" || char === "-") && program.charAt(at + 1) === char) {
      if (/^\s*\//.test(program.slice(at + 2, at + 66))) return "It cannot be read for sure.";
      at += 2;
      continue;
    }
    if (char === "(" || char === "[") depth += 1;
    else if (char === ")" || char === "]") depth -= 1;
    else if (char === ";" || char === "\n" || char === "}") printing = false;
    if (!/\s/.test(char)) operand = /[\d)\].]/.test(char);
    else if (char === "\n") operand = false;
    at += 1;
  }
  return undefined;
}

/** The place after the closing `quote`, or -1; a line break inside is an error of awk. */
function endOf(program: string, start: number, quote: string): number {
  let bracket = false;
  for (let at = start + 1; at < program.length; at += 1) {
    const char = program.charAt(at);
    if (char === "\\") at += 1;
    else if (char === "\n") return -1;
    else if (quote === "/" && char === "[") bracket = true;
    else if (quote === "/" && char === "]") bracket = false;
    else if (char === quote) {
      // Awks differ on a slash inside brackets; not sure means not read.
      return bracket ? -1 : at + 1;
    }
  }
  return -1;
}

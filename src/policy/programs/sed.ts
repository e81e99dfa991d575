/** `sed`: addresses, printing and plain replacement are free; `w e r i` and editing in place are not (GNU sed 4.9). */
import type { Invocation } from "../invocation.ts";
import { flagTable, flagValue, has, scan } from "../options.ts";
import { judgePath } from "../paths/access.ts";
import { type Flow, filtered, NOTHING_KNOWN } from "../shell/flow.ts";
import { isOpen, readable } from "../shell/marks.ts";
import type { Arg } from "../shell/words.ts";
import { judgeFlags, readPaths } from "./reader.ts";

const FLAGS = flagTable(
  "-nErsuz -l= -e= -f=< -i=? -I=? --quiet --silent --regexp-extended --separate --unbuffered --null-data --line-length= --expression= " +
    "--file=< --in-place=? --posix --debug --sandbox --version --help",
);

export function judgeSed(call: Invocation): Flow {
  const { gate, state } = call;
  const { report } = gate;
  const found = scan(call.args, FLAGS);
  judgeFlags(call, found, true);
  const scripts = found.flags
    .filter((flag) => flag.name === "-e" || flag.name === "--expression")
    .map((flag) => flag.value);
  const fromFile = has(found, "-f", "--file");
  const operands = [...found.operands];
  if (scripts.length === 0 && !fromFile) scripts.push(operands.shift());
  if (fromFile)
    report.review(
      "sed.script-file",
      "Its script is in a file.",
      readable(flagValue(found, "-f", "--file")?.value ?? ""),
    );
  for (const script of scripts) if (script !== undefined) judgeScript(call, script);
  const inPlace = has(found, "-i", "-I", "--in-place");
  if (inPlace) {
    report.review("sed.in-place", "It edits files in place.", readable(operands.map((arg) => arg.value).join(" ")));
    for (const arg of operands) judgePath(gate, state.folders, { value: arg.value, glob: arg.glob, access: "write" });
  } else readPaths(call, operands);
  report.allow("read.sed", "It prints an edited stream.");
  return operands.length === 0
    ? filtered(
        call.stdin,
        scripts.every((script) => /^[\d,$p;q ]*$/.test(script?.value ?? "x")),
      )
    : NOTHING_KNOWN;
}

function judgeScript(call: Invocation, arg: Arg): void {
  const { report } = call.gate;
  if (isOpen(arg.value)) {
    report.review("sed.dynamic", "An expansion decides the script of sed.", readable(arg.value));
  }
  const problem = new Script(arg.value).check();
  if (problem === undefined) return;
  report.review("sed.command", problem.reason, readable(arg.value));
  if (problem.file !== undefined)
    judgePath(call.gate, call.state.folders, { value: problem.file, glob: false, access: problem.access });
}

interface Problem {
  reason: string;
  file?: string;
  access: "read" | "redirect";
}

/** Reads a script command by command; what it cannot read is a problem. Linear. */
class Script {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  check(): Problem | undefined {
    while (this.#at < this.#text.length) {
      this.#skip(/[\s;{}]/);
      if (this.#at >= this.#text.length) return undefined;
      if (this.#peek() === "#") {
        this.#line();
        continue;
      }
      if (!this.#addresses()) return { reason: "An address of sed cannot be read.", access: "read" };
      const problem = this.#command();
      if (problem !== undefined) return problem;
    }
    return undefined;
  }

  #command(): Problem | undefined {
    const command = this.#peek();
    this.#at += 1;
    switch (command) {
      case "{":
        return undefined;
      case "":
      case "}":
      case "p":
      case "P":
      case "d":
      case "D":
      case "n":
      case "N":
      case "h":
      case "H":
      case "g":
      case "G":
      case "x":
      case "=":
      case "z":
      case "F":
        return this.#end();
      case "q":
      case "Q":
      case "l":
      case "L":
        this.#skip(/[\s\d]/);
        return this.#end();
      case "a":
      case "i":
      case "c":
        this.#text_();
        return undefined;
      case ":":
      case "b":
      case "t":
      case "T":
        this.#skip(/[^;\n}]/);
        return undefined;
      case "y":
        return this.#delimited(2) ? this.#end() : { reason: "A `y` command cannot be read.", access: "read" };
      case "s":
        return this.#substitute();
      case "w":
      case "W":
        return { reason: "Its `w` command writes a file.", file: this.#line().trim(), access: "redirect" };
      case "r":
      case "R":
        return { reason: "Its `r` command reads a file.", file: this.#line().trim(), access: "read" };
      case "e":
        return { reason: "Its `e` command starts a program.", access: "read" };
      default:
        return { reason: "A command of sed is not known to be harmless.", access: "read" };
    }
  }

  #substitute(): Problem | undefined {
    if (!this.#delimited(2)) return { reason: "An `s` command cannot be read.", access: "read" };
    for (;;) {
      const flag = this.#peek();
      if (flag !== "" && "gpiImM0123456789".includes(flag)) this.#at += 1;
      else if (flag === "w") {
        this.#at += 1;
        return { reason: "Its `w` flag writes a file.", file: this.#line().trim(), access: "redirect" };
      } else if (flag === "e") return { reason: "Its `e` flag starts a program.", access: "read" };
      else return this.#end();
    }
  }

  /** Text of `a`, `i`, `c`: to the end of the line, and on after a backslash. */
  #text_(): void {
    while (this.#at < this.#text.length) {
      const line = this.#line();
      if (!line.endsWith("\\")) return;
    }
  }

  /** `end` of a command: a separator or the end of the script. */
  #end(): Problem | undefined {
    this.#skip(/[ \t]/);
    const next = this.#peek();
    if (next === "" || next === ";" || next === "\n" || next === "}" || next === "{" || next === "#") return undefined;
    return { reason: "Something unexpected follows a command of sed.", access: "read" };
  }

  #addresses(): boolean {
    if (!this.#address()) return false;
    this.#skip(/[ \t]/);
    if (this.#peek() === ",") {
      this.#at += 1;
      this.#skip(/[ \t]/);
      if (/[+~]/.test(this.#peek())) this.#at += 1;
      if (!this.#address()) return false;
      this.#skip(/[ \t]/);
    }
    this.#skip(/[! \t]/);
    return true;
  }

  #address(): boolean {
    const char = this.#peek();
    if (/[\d$]/.test(char) || char === "\uE001") {
      this.#skip(/[\d$~\uE001]/);
      return true;
    }
    if (char === "/") return this.#pattern("/");
    if (char === "\\") {
      this.#at += 1;
      return this.#pattern(this.#peek());
    }
    return true;
  }

  #pattern(delimiter: string): boolean {
    if (delimiter === "" || delimiter === "\n") return false;
    if (!this.#delimited(1)) return false;
    this.#skip(/[IM]/);
    return true;
  }

  /** `count` pieces after the delimiter at the present place. Inside brackets a delimiter counts, as GNU sed has it. */
  #delimited(count: number): boolean {
    const delimiter = this.#peek();
    if (delimiter === "" || delimiter === "\n" || delimiter === "\\") return false;
    this.#at += 1;
    for (let left = count; left > 0; ) {
      const char = this.#peek();
      if (char === "") return false;
      this.#at += char === "\\" ? 2 : 1;
      if (char === delimiter) left -= 1;
    }
    return true;
  }

  #line(): string {
    const end = this.#text.indexOf("\n", this.#at);
    const line = this.#text.slice(this.#at, end < 0 ? undefined : end);
    this.#at = end < 0 ? this.#text.length : end + 1;
    return line;
  }

  #peek(): string {
    return this.#text.charAt(this.#at);
  }

  #skip(what: RegExp): void {
    while (this.#at < this.#text.length && what.test(this.#peek())) this.#at += 1;
  }
}

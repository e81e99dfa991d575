/** Values of `$name` and `${name...}`. */
import type { ParameterExpansionPart, Word } from "unbash";
import { judgeSetVariable } from "../environment.ts";
import { ENVIRONMENT, hasMark, NUMBER, PARENT_PROCESS, REVISION, UNKNOWN } from "./marks.ts";
import type { ShellState } from "./state.ts";
import { expandSingle, type Surroundings } from "./words.ts";

export interface Expanded {
  value: string;
  glob: boolean;
}

/** Variables of every environment that hold nothing secret. Their value is not known, but printing it is harmless. */
const HARMLESS_NAMES: ReadonlySet<string> = new Set(
  (
    "USER LOGNAME SHELL PATH LANG TERM HOSTNAME HOSTTYPE OSTYPE MACHTYPE BASH BASH_VERSION OLDPWD TMPDIR NODE_ENV CI TZ " +
    "EDITOR PAGER VIRTUAL_ENV CONDA_PREFIX GOPATH GOROOT JAVA_HOME CARGO_HOME NVM_DIR DISPLAY COLORTERM XDG_CONFIG_HOME " +
    "XDG_CACHE_HOME XDG_DATA_HOME XDG_RUNTIME_DIR PYTHONPATH NODE_PATH LC_ALL FUNCNAME REPLY OPTARG PIPESTATUS BASH_SOURCE"
  ).split(" "),
);

const NUMBER_NAMES: ReadonlySet<string> = new Set(
  "? # $ ! RANDOM SECONDS LINENO UID EUID COLUMNS LINES SHLVL EPOCHSECONDS BASHPID SRANDOM OPTIND".split(" "),
);

/** Names that agents and people give to commits, branches and tags. */
const REVISION_WORDS: ReadonlySet<string> = new Set("SHA COMMIT REV REF BASE HEAD BRANCH TAG HASH REVISION".split(" "));

export function simpleValue(text: string, state: ShellState, around: Surroundings): Expanded {
  return variable(text.slice(1), state, around);
}

export function parameterValue(part: ParameterExpansionPart, state: ShellState, around: Surroundings): Expanded {
  const { gate } = around;
  const operation = part.operation;
  around.used(part.parameter);
  if (part.index !== undefined) judgeSubscript(part.index, state, around);
  if (part.prefix === "!") {
    gate.report.review("words.indirect", "An indirect expansion hides which variable is used.", part.text);
    walkOperands(part, state, around);
    return { value: UNKNOWN, glob: true };
  }
  if (part.prefix === "#") return { value: NUMBER, glob: false };
  const base = part.index === undefined ? variable(part.parameter, state, around) : { value: UNKNOWN, glob: true };
  if (operation === undefined) return base;
  switch (operation.type) {
    case "Default":
      return defaulted(part, base, state, around);
    case "Remove": {
      expandSingle(operation.operand, state, around);
      return keepsKind(base);
    }
    case "CaseModification":
      if (operation.operand !== undefined) expandSingle(operation.operand, state, around);
      return keepsKind(base);
    case "Replace": {
      expandSingle(operation.pattern, state, around);
      expandSingle(operation.replacement, state, around);
      return { value: base.value.includes(ENVIRONMENT) ? ENVIRONMENT : UNKNOWN, glob: true };
    }
    case "Slice":
      judgeNumber(operation.offset, state, around);
      if (operation.length !== undefined) judgeNumber(operation.length, state, around);
      return keepsKind(base);
    case "Transform":
    case "Names":
    case "Unknown":
      gate.report.review(
        "words.transform",
        "This form of expansion can run or reveal what it does not show.",
        part.text,
      );
      walkOperands(part, state, around);
      return { value: UNKNOWN, glob: true };
  }
}

function variable(name: string, state: ShellState, around: Surroundings): Expanded {
  around.used(name);
  const { context } = around.gate;
  const bound = state.get(name);
  if (bound !== undefined) return bound;
  if (name === "HOME") return { value: context.home, glob: false };
  if (name === "PWD")
    return { value: state.folders.length === 1 ? (state.folders[0] ?? UNKNOWN) : UNKNOWN, glob: false };
  if (name === "TMPDIR" && context.tmpDir !== undefined) return { value: context.tmpDir, glob: false };
  if (name === "PPID") return { value: PARENT_PROCESS, glob: false };
  if (name === "IFS") return { value: " ", glob: false };
  if (NUMBER_NAMES.has(name)) return { value: NUMBER, glob: false };
  if (HARMLESS_NAMES.has(name) || name.startsWith("npm_package_") || name.startsWith("npm_lifecycle_"))
    return { value: UNKNOWN, glob: true };
  if (name === "@" || name === "*" || /^\d+$/.test(name)) return { value: UNKNOWN, glob: true };
  const last = name
    .slice(name.lastIndexOf("_") + 1)
    .replace(/\d+$/, "")
    .toUpperCase();
  if (REVISION_WORDS.has(last)) return { value: REVISION, glob: false };
  // Environments hold names in capitals; a fresh shell has no other variables that this call did not make.
  if (/^[a-z][a-z0-9_]*$/.test(name) && !name.startsWith("npm_") && !name.endsWith("_proxy")) {
    return { value: UNKNOWN, glob: true };
  }
  return { value: ENVIRONMENT, glob: true };
}

/** `${x:-y}`: either may be the value. */
function defaulted(part: ParameterExpansionPart, base: Expanded, state: ShellState, around: Surroundings): Expanded {
  const operation = part.operation;
  if (operation?.type !== "Default") return base;
  const other = expandSingle(operation.operand, state, around);
  if (operation.operator === "=" || operation.operator === ":=") {
    judgeSetVariable(part.parameter, other.value, around.gate, part.text);
    state.assign(part.parameter, { value: UNKNOWN, glob: true });
  }
  if (operation.operator === "?" || operation.operator === ":?") return base;
  const plainDefault = operation.operator === "-" || operation.operator === ":-";
  if (plainDefault && base.value !== "" && !hasMark(base.value)) return base;
  const bound = state.get(part.parameter);
  if (bound !== undefined && bound.value !== "" && (operation.operator === "-" || operation.operator === ":-"))
    return bound;
  if (base.value === ENVIRONMENT && (operation.operator === "+" || operation.operator === ":+"))
    return { value: UNKNOWN, glob: true };
  return {
    value: base.value === ENVIRONMENT ? ENVIRONMENT : other.value === base.value ? base.value : UNKNOWN,
    glob: true,
  };
}

/** A cut or re-cased number stays a number, a revision a revision; anything else is unknown. */
function keepsKind(base: Expanded): Expanded {
  if (base.value === NUMBER || base.value === REVISION || base.value === ENVIRONMENT) return base;
  return { value: UNKNOWN, glob: true };
}

/** A subscript is arithmetic: `a[$(x)]` runs x. Fixed digits, `@` and `*` hide nothing. */
function judgeSubscript(index: Word, state: ShellState, around: Surroundings): void {
  if (index.text === "@" || index.text === "*") return;
  judgeNumber(index, state, around);
}

function judgeNumber(word: Word, state: ShellState, around: Surroundings): void {
  const { value } = expandSingle(word, state, around);
  if (!/^[\s\d+\-*/%:\uE001]*$/.test(value)) {
    around.gate.report.review(
      "words.subscript",
      "An arithmetic position takes code, and this one is not a plain number.",
      word.text,
    );
  }
}

function walkOperands(part: ParameterExpansionPart, state: ShellState, around: Surroundings): void {
  const operation = part.operation;
  if (operation?.type === "Transform") expandSingle(operation.operand, state, around);
  else if (operation?.type === "Default") expandSingle(operation.operand, state, around);
}

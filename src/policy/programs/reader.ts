/** Builds judges for programs that only read: harmless options from a table, operands by their role. */
import { describe, type Invocation, type Judge, type Program } from "../invocation.ts";
import { type FlagTable, flagTable, type Scan, scan } from "../options.ts";
import { judgePath } from "../paths/access.ts";
import { FILE_NAMES, type Flow, filtered, NOTHING_KNOWN } from "../shell/flow.ts";
import { ENVIRONMENT, hasMark, readable } from "../shell/marks.ts";
import type { Arg } from "../shell/words.ts";
import { sweepPaths } from "./sweep.ts";

export interface ReaderOptions {
  /** What the operands are; default `paths`. */
  operands?: "paths" | "data" | "none" | "pattern-then-paths";
  /** Options that replace the pattern operand of `pattern-then-paths`. */
  patternFlags?: readonly string[];
  /** At most so many operands: a further one would be written to. */
  most?: number;
  /** Its options can write or start programs, so a wildcard must not be able to become an option. */
  guarded?: boolean;
  /** What flows out: lines of the input, names of files, or nothing known (default). */
  out?: "lines" | "names";
}

/** A reading program: `reader("why", "-la --color=?")`. */
export function reader(reason: string, flags: string, options: ReaderOptions = {}): Program {
  let table: FlagTable | undefined;
  return {
    reason,
    judge: (call) => {
      table ??= flagTable(flags);
      return judgeReader(call, table, options);
    },
  };
}

export function program(reason: string, judge: Judge): Program {
  return { reason, judge };
}

function judgeReader(call: Invocation, table: FlagTable, options: ReaderOptions): Flow {
  const found = scan(call.args, table);
  judgeFlags(call, found, options.guarded ?? false);
  const operands = found.operands;
  const role = options.operands ?? "paths";
  let from = 0;
  if (role === "pattern-then-paths" && !found.flags.some((flag) => options.patternFlags?.includes(flag.name))) {
    judgeData(call, operands.slice(0, 1));
    from = 1;
  }
  if (role === "none" && operands.length > 0) unknownOperand(call, operands[0] as Arg);
  const written = options.most === undefined ? undefined : operands[options.most];
  if (written !== undefined) {
    unknownOperand(call, written);
    judgePath(call.gate, call.state.folders, { value: written.value, glob: written.glob, access: "redirect" });
  }
  if (role === "data") judgeData(call, operands);
  else readPaths(call, operands.slice(from));
  call.gate.report.allow(`read.${call.name}`, `\`${call.name}\` only reads.`);
  if (options.out === "names") return FILE_NAMES;
  const fromPipe =
    role === "data" ||
    operands.length <= from ||
    operands.some((arg) => arg.value === "-" || arg.value.startsWith("/dev/fd/"));
  return fromPipe ? filtered(call.stdin, options.out === "lines") : NOTHING_KNOWN;
}

/** Options: unknown ones are reviewed, values that are paths go through path policy. */
export function judgeFlags(call: Invocation, found: Scan, guarded: boolean): void {
  const { report } = call.gate;
  for (const arg of found.unknown) {
    report.review("options.unknown", `This option of ${call.name} is not known to be harmless.`, readable(arg.value));
  }
  if (found.unknown.length > 0) sweepPaths(call, found.unknown);
  for (const arg of found.unclear) {
    if (guarded || !arg.glob || hasMark(arg.value.charAt(0))) {
      report.review("options.unclear", `It could become an option of ${call.name}.`, readable(arg.raw));
    }
  }
  for (const flag of found.flags) {
    if (flag.value === undefined) continue;
    if (flag.role === "data") judgeData(call, [flag.value]);
    else if (flag.value.value !== "-")
      judgePath(call.gate, call.state.folders, { value: flag.value.value, glob: flag.value.glob, access: flag.role });
  }
}

/** Words that the program takes as text: a variable of the environment may hold a secret. */
export function judgeData(call: Invocation, args: readonly Arg[]): void {
  for (const arg of args) {
    if (arg.value.includes(ENVIRONMENT)) {
      call.gate.report.review(
        "words.environment",
        "It shows a variable of the environment, which may hold a secret.",
        arg.raw,
      );
    }
  }
}

export function readPaths(call: Invocation, args: readonly Arg[]): void {
  for (const arg of args) {
    if (arg.value === "-" || arg.value.startsWith("/dev/fd/")) continue;
    judgePath(call.gate, call.state.folders, { value: arg.value, glob: arg.glob, access: "read" });
  }
}

function unknownOperand(call: Invocation, arg: Arg): void {
  call.gate.report.review(
    "operands.unexpected",
    `${call.name} could write to this operand.`,
    readable(`${describe(call)} (${arg.value})`),
  );
}

/** What all project runners have in common: running them is the work, so they are allowed in the standard profile. */
import { describe, type Invocation } from "../invocation.ts";
import { judgePath } from "../paths/access.ts";
import { definitionFiles } from "../runners/definitions.ts";
import { isOpen, readable } from "../shell/marks.ts";
import type { Arg } from "../shell/words.ts";
import { sweepPaths } from "./sweep.ts";

/** Allows a project runner, unless the profile is strict or the task changed what defines it. */
export function asRunner(call: Invocation, what: string, definition: string = call.name): void {
  const { gate, state } = call;
  const { report } = gate;
  const subject = readable(describe(call));
  if (gate.context.profile === "strict")
    report.review("runner.strict", "The strict profile asks before project runners.", subject);
  for (const folder of state.folders.length > 0 ? state.folders : [gate.context.workspace]) {
    const changed = definitionFiles(definition, folder).find((file) => gate.facts.changedByTask(file));
    if (changed !== undefined)
      report.review(
        "runner.definition-changed",
        "The task changed what this runner does, and the gate cannot read it.",
        changed,
      );
  }
  if (state.folders.some((folder) => !folder.startsWith(gate.context.workspace)) || state.folders.length === 0) {
    report.review("runner.outside", "It would run outside the workspace.", subject);
  }
  report.allow(`runner.${call.name}`, what);
}

/** Words of a runner: paths outside the workspace and expansions are asked, credential stores denied. */
export function judgeRunnerWords(call: Invocation, args: readonly Arg[]): void {
  const { gate, state } = call;
  for (const arg of args) {
    if (isOpen(arg.value))
      gate.report.review("runner.dynamic", "An expansion decides what the runner is told.", readable(arg.raw));
    for (const piece of pieces(arg.value)) {
      if (!looksLikePath(piece)) continue;
      judgePath(gate, state.folders, { value: piece, glob: arg.glob, access: "read" });
    }
  }
  sweepPaths(call, args);
  judgeWrites(call, args);
}

const FIXES = /^(?:--(?:write|fix|fix-type|apply|unsafe|in-place|format|autocorrect|autocorrect-all)(?:=.*)?|-[wiaA])$/;
const ALWAYS_FIXES = new Set([
  "black",
  "isort",
  "rustfmt",
  "autopep8",
  "yapf",
  "stylua",
  "dprint",
  "gofumpt",
  "pint",
  "php-cs-fixer",
  "swiftformat",
]);
const OUTPUT_OPTION =
  /^--?[\w-]*(?:out|report|cache|dest|junit|log|profile|trace|build-?info|coverage-?(?:dir|file))[\w-]*$/i;

/** What a formatter changes or an option names as output must not be a protected file. */
function judgeWrites(call: Invocation, args: readonly Arg[]): void {
  const { gate, state } = call;
  const fixes =
    ALWAYS_FIXES.has(call.name) ||
    args.some((arg) => FIXES.test(arg.value)) ||
    (call.name === "ruff" && args[0]?.value === "format");
  for (const [index, arg] of args.entries()) {
    const equals = arg.value.indexOf("=");
    const before = args[index - 1]?.value ?? "";
    const output = arg.value.startsWith("-")
      ? equals > 0 && OUTPUT_OPTION.test(arg.value.slice(0, equals))
        ? arg.value.slice(equals + 1)
        : undefined
      : OUTPUT_OPTION.test(before) || before === "-o"
        ? arg.value
        : undefined;
    if (output !== undefined) {
      judgePath(gate, state.folders, { value: output, glob: arg.glob, access: "write" });
    } else if (fixes && !arg.value.startsWith("-") && !/\s/.test(arg.value)) {
      gate.report.denyOnly(() => judgePath(gate, state.folders, { value: arg.value, glob: arg.glob, access: "write" }));
    }
  }
}

function pieces(value: string): string[] {
  const equals = value.indexOf("=");
  if (value.startsWith("-"))
    return equals > 0 ? [value.slice(equals + 1)] : /^-[A-Za-z](?:\/|\.\.|~)/.test(value) ? [value.slice(2)] : [];
  return [value];
}

/** Leaves the folder, or names a file with secrets. Patterns and filters that only look a little like a path are text. */
function looksLikePath(text: string): boolean {
  return (
    (text.startsWith("/") && !text.startsWith("//") && !text.endsWith("/i") && !/[()|^$\\]/.test(text)) ||
    text.startsWith("../") ||
    text === ".." ||
    text.includes("/../") ||
    text.startsWith(".env") ||
    text.includes("/.env")
  );
}

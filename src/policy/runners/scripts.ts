/** Package scripts: unwrapped, their `pre` and `post` with them, and judged like any command. */
import type { Invocation } from "../invocation.ts";
import { isInside } from "../paths/text.ts";
import { judgeRunnerWords } from "../programs/runner.ts";
import { runText } from "../programs/shells.ts";
import { sweepPaths } from "../programs/sweep.ts";
import { quote } from "../programs/wrappers.ts";
import { type Flow, NOTHING_KNOWN } from "../shell/flow.ts";
import { hasMark, readable } from "../shell/marks.ts";
import { ShellState } from "../shell/state.ts";
import type { Arg } from "../shell/words.ts";

export const MAX_SCRIPT_DEPTH = 12;

/** One script with its `pre` and `post`; further words go to the script itself, quoted. */
export function runScript(call: Invocation, name: string, words: readonly Arg[], folder: string | undefined): Flow {
  const { gate, walker } = call;
  const { report } = gate;
  const subject = `${call.name} run ${readable(name)}`;
  if (gate.context.profile === "strict")
    report.review("runner.strict", "The strict profile asks before project runners.", subject);
  if (folder === undefined || !isInside(folder, gate.context.workspace)) {
    report.review("runner.outside", "It would run outside the workspace.", subject);
    return NOTHING_KNOWN;
  }
  const scripts = gate.facts.packageScripts(folder);
  if (scripts === undefined || !Object.hasOwn(scripts, name)) {
    report.review("runner.no-script", "There is no such script, or it cannot be read.", subject);
    sweepPaths(call, words);
    return NOTHING_KNOWN;
  }
  const key = `${folder} ${name}`;
  if (walker.scripts.includes(key) || walker.scripts.length >= MAX_SCRIPT_DEPTH) {
    report.review("runner.recursive", "The script calls itself.", subject);
    return NOTHING_KNOWN;
  }
  const extra = words[0]?.value === "--" ? words.slice(1) : words;
  for (const arg of extra) {
    if (hasMark(arg.value) || arg.glob) {
      if (hasMark(arg.value))
        report.review("runner.dynamic", "An expansion decides what the script is told.", readable(arg.raw));
    }
  }
  judgeRunnerWords(call, extra);
  const before = walker.packageFolder;
  walker.scripts.push(key);
  walker.packageFolder = folder;
  let flow: Flow | undefined;
  for (const part of [`pre${name}`, name, `post${name}`]) {
    const text = Object.hasOwn(scripts, part) ? scripts[part] : undefined;
    if (typeof text !== "string") continue;
    const full =
      part === name && extra.length > 0
        ? `${text} ${extra.map((arg) => (arg.glob ? arg.value : quote(arg.value))).join(" ")}`
        : text;
    flow = runText({ ...call, state: new ShellState([folder]) }, full, subject, false);
  }
  walker.packageFolder = before;
  walker.scripts.pop();
  report.allow(`runner.${call.name}`, "Each part of the package script was judged.");
  return flow ?? NOTHING_KNOWN;
}

export const MANY_FLAGS =
  /^(?:-[sprcln]+|--(?:serial|sequential|parallel|print-label|print-name|silent|continue-on-error|race|aggregate-output|no-color))$/;

export function runMany(call: Invocation): Flow {
  const folder = call.packageFolder ?? (call.state.folders.length === 1 ? call.state.folders[0] : undefined);
  const scripts = folder === undefined ? undefined : call.gate.facts.packageScripts(folder);
  for (const arg of call.args) {
    if (MANY_FLAGS.test(arg.value)) continue;
    const [name = "", ...words] = arg.value.split(" ");
    const names = name.includes("*") ? Object.keys(scripts ?? {}).filter((key) => fits(name, key)) : [name];
    if (name.startsWith("-") || names.length === 0)
      call.gate.report.review(
        "runner.no-script",
        "There is no such script, or it cannot be read.",
        readable(arg.value),
      );
    for (const one of names)
      runScript(
        { ...call, name: "npm" },
        one,
        words.map((value) => ({ value, raw: value, glob: false, plain: true })),
        folder,
      );
  }
  return NOTHING_KNOWN;
}

/** `test:*` is one level, `test:**` any. */
export function fits(pattern: string, name: string): boolean {
  const star = pattern.indexOf("*");
  if (!name.startsWith(pattern.slice(0, star))) return false;
  const tail = pattern.slice(star).replace(/^\*+/, "");
  const middle = name.slice(star);
  return (
    middle.endsWith(tail) && (pattern.includes("**") || !middle.slice(0, middle.length - tail.length).includes(":"))
  );
}

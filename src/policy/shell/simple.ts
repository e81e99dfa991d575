/** One simple command: assignments, words and redirections, in the order in which a shell treats them. */
import type { Assignment, Command } from "unbash";
import { judgeAssignment, judgeStandaloneAssignment } from "../environment.ts";
import { both, type Flow, NOTHING_KNOWN } from "./flow.ts";
import { invoke } from "./invoke.ts";
import { UNKNOWN } from "./marks.ts";
import { judgeRedirections } from "./redirections.ts";
import type { ShellState } from "./state.ts";
import type { Walker } from "./walker.ts";
import { type Arg, expandSingle, expandWord } from "./words.ts";

export function judgeSimple(command: Command, state: ShellState, stdin: Flow | undefined, walker: Walker): Flow {
  const argv: Arg[] = [];
  const outer = walker.outputs;
  walker.outputs = [];
  if (command.name !== undefined) expandWord(command.name, state, walker, argv);
  for (const arg of command.args) {
    if (arg.type === "Word") expandWord(arg, state, walker, argv);
    else argv.push(assignmentWord(arg, state, walker));
  }
  const assignments = command.prefix.filter((item): item is Assignment => item.type === "Assignment");
  const values = assignments.map((assignment) => assignmentValue(assignment, state, walker));
  const redirects = command.redirects;
  const redirected =
    redirects.length === 0 ? { stdin, captured: false } : judgeRedirections(redirects, state, walker, stdin);
  walker.checkEnd(command.end);
  walker.count(argv[0]?.value ?? assignments[0]?.text ?? "redirection");
  if (argv.length === 0) {
    walker.outputs = outer;
    for (const [index, assignment] of assignments.entries()) {
      judgeStandaloneAssignment(assignment, values[index] ?? UNKNOWN, state, walker);
    }
    // `$(<file)` prints the file; a lone `> file` empties it and was judged as a redirection.
    if (assignments.length === 0) walker.gate.report.allow("redirect.only", "Only a redirection.");
    return redirected.stdin?.network === true ? redirected.stdin : NOTHING_KNOWN;
  }
  for (const [index, assignment] of assignments.entries()) {
    if (assignment.name === "IFS" && assignment.text === "IFS=" && argv[0]?.value === "read") continue; // only for this line
    judgeAssignment(assignment.name, values[index] ?? UNKNOWN, walker.gate, assignment.text);
  }
  const flow = invoke(argv, {
    state,
    stdin: redirected.stdin,
    assigned: assignments.map((assignment) => assignment.name),
    walker,
    packageFolder: walker.packageFolder,
  });
  for (const script of walker.outputs) {
    walker.gate.report.denyOnly(() => walker.script(script, state.clone(), both(redirected.stdin, flow)));
  }
  walker.outputs = outer;
  if (!redirected.captured) return flow;
  return flow.network ? { ...NOTHING_KNOWN } : NOTHING_KNOWN;
}

function assignmentValue(assignment: Assignment, state: ShellState, walker: Walker): string {
  if (assignment.index !== undefined) {
    expandSingle(assignment.index, state, walker);
    if (!/^\d+$/.test(assignment.index.text)) {
      walker.gate.report.review("words.subscript", "A subscript is evaluated as code.", assignment.text);
    }
  }
  const value = assignment.value;
  if (value.type === "ArrayValue") {
    for (const element of value.elements) expandSingle(element, state, walker);
    return UNKNOWN;
  }
  const expanded = expandSingle(value, state, walker).value;
  return assignment.append === true || assignment.index !== undefined
    ? `${state.get(assignment.name)?.value ?? ""}${expanded}`
    : expanded;
}

/** `name=value` after the program's name: an ordinary word, unless the program is `export` and its kin. */
function assignmentWord(assignment: Assignment, state: ShellState, walker: Walker): Arg {
  const value = assignmentValue(assignment, state, walker);
  return { value: `${assignment.name}=${value}`, raw: assignment.text, glob: false, plain: false };
}

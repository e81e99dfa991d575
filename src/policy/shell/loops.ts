/** Loops: the body is judged for each fixed word, and again when a first pass changed what a second one would see. */
import type { CompoundList, For } from "unbash";
import { judgeSetVariable } from "../environment.ts";
import { both, type Flow, NOTHING_KNOWN } from "./flow.ts";
import { NUMBER, UNKNOWN } from "./marks.ts";
import type { Binding, ShellState } from "./state.ts";
import type { Walker } from "./walker.ts";
import { type Arg, expandWord } from "./words.ts";

/** Fixed words of one `for` that are tried one by one. */
const MAX_VALUES = 16;
/** Passes over a body until the state settles. */
const MAX_PASSES = 3;

export function judgeFor(node: For, state: ShellState, stdin: Flow | undefined, walker: Walker): Flow {
  const values: Arg[] = [];
  if (node.wordlist === undefined) values.push({ value: UNKNOWN, raw: "$@", glob: true, plain: false });
  for (const word of node.wordlist ?? []) expandWord(word, state, walker, values);
  const name = node.name.value;
  const before = state.clone();
  let flow: Flow = NOTHING_KNOWN;
  let first = true;
  for (const binding of bindings(values, walker)) {
    const pass = (): void => {
      judgeSetVariable(name, binding.value, walker.gate, `for ${name}`);
      state.assign(name, binding);
      walker.unused.delete(name);
      flow = both(first ? undefined : flow, judgeLoop([node.body], state, stdin, walker));
    };
    if (first) pass();
    else if (walker.mayRepeat()) walker.repeat(pass);
    first = false;
  }
  if (first) judgeLoop([node.body], state, stdin, walker);
  state.merge(before);
  return flow;
}

function bindings(values: readonly Arg[], walker: Walker): Binding[] {
  if (values.length === 0) return [{ value: UNKNOWN, glob: true }];
  if (values.every((arg) => /^[\d\uE001]+$/.test(arg.value))) return [{ value: NUMBER, glob: false }];
  if (values.length > MAX_VALUES || !walker.mayRepeat()) {
    // Too many to try: deny rules still see the first ones, the rest makes the value unknown.
    return [...values.slice(0, 2).map(toBinding), { value: UNKNOWN, glob: true }];
  }
  return values.map(toBinding);
}

function toBinding(arg: Arg): Binding {
  return { value: arg.value, glob: arg.glob };
}

/** `parts` run one after the other, any number of times. */
export function judgeLoop(
  parts: readonly CompoundList[],
  state: ShellState,
  stdin: Flow | undefined,
  walker: Walker,
): Flow {
  let flow: Flow = NOTHING_KNOWN;
  const before = state.clone();
  for (let round = 0; round < MAX_PASSES; round += 1) {
    const start = state.clone();
    const pass = (): void => {
      for (const part of parts)
        flow = both(round === 0 && part === parts[0] ? undefined : flow, walker.list(part, state, stdin));
    };
    if (round === 0) pass();
    else walker.repeat(pass);
    state.merge(start);
    if (state.sameAs(start) || !walker.mayRepeat()) break;
  }
  state.merge(before);
  return flow;
}

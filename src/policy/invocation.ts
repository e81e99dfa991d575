/** One program with its arguments, as every table of programs judges it. */
import type { Gate } from "./gate.ts";
import type { Flow } from "./shell/flow.ts";
import type { ShellState } from "./shell/state.ts";
import type { Walker } from "./shell/walker.ts";
import type { Arg } from "./shell/words.ts";

export interface Invocation {
  /** The program's basename. */
  readonly name: string;
  readonly head: Arg;
  /** Without the program's name. */
  readonly args: readonly Arg[];
  readonly state: ShellState;
  /** What comes in through a pipe or redirection; `undefined` when nothing does. */
  readonly stdin: Flow | undefined;
  /** Variables assigned in front of it. */
  readonly assigned: readonly string[];
  /** The folder of the package.json whose script this is part of: its node_modules/.bin is on the PATH there. */
  readonly packageFolder: string | undefined;
  readonly gate: Gate;
  readonly walker: Walker;
}

/** Judges one invocation; adds findings and tells what flows out of it. */
export type Judge = (call: Invocation) => Flow | undefined;

export interface Program {
  /** Why it stands in its table, in a few words. */
  reason: string;
  judge: Judge;
}

export type ProgramTable = Readonly<Record<string, Program>>;

/** The program and its words, for messages. */
export function describe(call: Invocation): string {
  let text = call.head.value;
  for (const arg of call.args) {
    if (text.length > 200) break;
    text += ` ${arg.value}`;
  }
  return text;
}

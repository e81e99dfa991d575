/**
 * Walks a parsed command and hands every simple command, at every nesting level, to its judge. The order is the order
 * in which a shell would run them, so that `cd` and assignments are seen by what follows.
 */
import {
  type AndOr,
  type CommandNode,
  type CompoundList,
  type PipelineNode,
  parse,
  type Script,
  type Statement,
  type WordPart,
} from "unbash";
import { judgeSetVariable } from "../environment.ts";
import type { Gate } from "../gate.ts";
import { judgeArithmetic, judgeArithmeticPart } from "./arithmetic.ts";
import { both, type Flow, NOTHING_KNOWN } from "./flow.ts";
import { callsItself } from "./fork-bomb.ts";
import { type InvokeOptions, invoke } from "./invoke.ts";
import { judgeFor, judgeLoop } from "./loops.ts";
import { NUMBER, UNKNOWN } from "./marks.ts";
import { judgeRedirections } from "./redirections.ts";
import { judgeSimple } from "./simple.ts";
import { ShellState } from "./state.ts";
import { judgeTest } from "./tests.ts";
import { type Arg, expandSingle, type Surroundings } from "./words.ts";

/** Simple commands in one call; beyond it a person should look. */
const MAX_COMMANDS = 50;
/** Visits of simple commands, repeated passes over loops included; bounds the time of one judgement. */
const MAX_VISITS = 400;
/** Shell text inside shell text: `sh -c "sh -c ..."`. */
const MAX_TEXT_DEPTH = 8;
const MAX_NESTING = 100;

export class Walker implements Surroundings {
  readonly gate: Gate;
  /** Variables assigned by a command of their own that nothing has used yet. */
  readonly unused = new Map<string, string>();
  readonly functions = new Set<string>();
  packageFolder: string | undefined;
  outputs: Script[] = [];
  /** Package scripts being judged, to notice one that calls itself. */
  readonly scripts: string[] = [];
  #commands = 0;
  #visits = 0;
  #repeating = 0;
  #textDepth = 0;
  #nesting = 0;
  /** The text that positions in the tree point into. */
  #source = "";

  constructor(gate: Gate) {
    this.gate = gate;
  }

  /** Judges shell text; `what` names it in messages. */
  text(source: string, state: ShellState, stdin: Flow | undefined, what: string): Flow {
    if (this.#textDepth >= MAX_TEXT_DEPTH) {
      this.gate.report.review("limits.depth", "Shell text is nested too deep to be judged.", what);
      return NOTHING_KNOWN;
    }
    this.#textDepth += 1;
    try {
      return this.script({ ...parse(source), source }, state, stdin);
    } finally {
      this.#textDepth -= 1;
    }
  }

  script(
    script: Script & { errors?: readonly { message: string }[] | undefined },
    state: ShellState,
    stdin: Flow | undefined,
  ): Flow {
    if (script.errors !== undefined && script.errors.length > 0) {
      const message = script.errors[0]?.message ?? "syntax error";
      this.gate.trace?.problem(message);
      this.gate.report.review("parse.error", "The command is not well-formed shell text.", message);
    }
    const before = this.#source;
    this.#source = script.source ?? before;
    try {
      return this.statements(script.commands, state, stdin);
    } finally {
      this.#source = before;
    }
  }

  /** A word cannot be followed by a parenthesis; the tolerant parser drops one that is (unbash 6.0.4). */
  checkEnd(end: number): void {
    let at = end;
    while (this.#source.charCodeAt(at) === 32 || this.#source.charCodeAt(at) === 9) at += 1;
    if (this.#source.charCodeAt(at) === 40)
      this.gate.report.review("parse.error", "The command is not well-formed shell text.", "(");
  }

  nested(script: Script | undefined, state: ShellState): Flow {
    if (script === undefined) {
      this.gate.report.review("parse.substitution", "A substitution cannot be read.", "");
      return NOTHING_KNOWN;
    }
    return this.script(script, state, undefined);
  }

  arithmetic(part: WordPart, state: ShellState): void {
    judgeArithmeticPart(part, state, this);
  }

  used(name: string): void {
    if (this.unused.size > 0) this.unused.delete(name);
  }

  /** Counts a simple command and says whether the call has grown beyond what is judged in full. */
  count(subject: string): void {
    this.#visits += 1;
    if (this.#repeating > 0) return;
    this.#commands += 1;
    if (this.#commands === MAX_COMMANDS + 1) {
      this.gate.report.review("limits.commands", `More than ${MAX_COMMANDS} simple commands in one call.`, subject);
    }
  }

  /** Judges an argument vector that a wrapper, runner or carrier would start. */
  invoke(argv: readonly Arg[], from: Pick<InvokeOptions, "state" | "stdin" | "assigned" | "packageFolder">): Flow {
    if (this.#nesting >= MAX_NESTING) {
      this.gate.report.review("limits.depth", "The command is nested too deep to be judged.", "");
      return NOTHING_KNOWN;
    }
    this.#nesting += 1;
    this.#visits += 1;
    try {
      return invoke(argv, {
        state: from.state,
        stdin: from.stdin,
        assigned: from.assigned,
        packageFolder: from.packageFolder,
        walker: this,
      });
    } finally {
      this.#nesting -= 1;
    }
  }

  get depth(): number {
    return this.#textDepth + this.#nesting;
  }

  /** Whether another pass over a loop body is affordable. */
  mayRepeat(): boolean {
    return this.#visits < MAX_VISITS;
  }

  repeat(pass: () => void): void {
    this.#repeating += 1;
    try {
      pass();
    } finally {
      this.#repeating -= 1;
    }
  }

  list(list: CompoundList, state: ShellState, stdin: Flow | undefined): Flow {
    return this.statements(list.commands, state, stdin);
  }

  statements(statements: readonly Statement[], state: ShellState, stdin: Flow | undefined): Flow {
    let flow: Flow | undefined;
    for (const statement of statements) {
      const one = this.#statement(statement, state, stdin);
      flow = both(flow, one);
      state.settle();
    }
    return flow ?? NOTHING_KNOWN;
  }

  #statement(statement: Statement, state: ShellState, stdin: Flow | undefined): Flow {
    if (statement.background !== true) return this.node(statement.command, state, stdin);
    this.gate.report.review("bash.background", "It would go on running in the background.", "&");
    return this.node(statement.command, state.clone(), stdin);
  }

  node(node: PipelineNode | AndOr, state: ShellState, stdin: Flow | undefined): Flow {
    if (this.#nesting >= MAX_NESTING) {
      this.gate.report.review("limits.depth", "The command is nested too deep to be judged.", "");
      return NOTHING_KNOWN;
    }
    this.#nesting += 1;
    try {
      return this.#node(node, state, stdin);
    } finally {
      this.#nesting -= 1;
    }
  }

  #node(node: PipelineNode | AndOr, state: ShellState, stdin: Flow | undefined): Flow {
    switch (node.type) {
      case "Command":
        return judgeSimple(node, state, stdin, this);
      case "AndOr":
        return this.#andOr(node, state, stdin);
      case "Pipeline":
        return this.#pipeline(node.commands, state, stdin);
      case "Redirected": {
        const inside = judgeRedirections(node.redirects, state, this, stdin);
        return this.node(node.command, state, inside.stdin);
      }
      case "Subshell":
        return this.list(node.body, state.clone(), stdin);
      case "BraceGroup":
        return this.list(node.body, state, stdin);
      case "If":
        return this.#if(node, state, stdin);
      case "For":
        return judgeFor(node, state, stdin, this);
      case "While":
        return judgeLoop([node.clause, node.body], state, stdin, this);
      case "ArithmeticFor":
        for (const expression of [node.initialize, node.test, node.update]) judgeArithmetic(expression, state, this);
        return judgeLoop([node.body], state, stdin, this);
      case "Select":
        this.gate.report.review("bash.select", "It waits for an answer at a terminal.", "select");
        for (const word of node.wordlist ?? []) expandSingle(word, state, this);
        judgeSetVariable(node.name.value, UNKNOWN, this.gate, "select");
        state.assign(node.name.value, { value: UNKNOWN, glob: true });
        return judgeLoop([node.body], state, stdin, this);
      case "Case": {
        expandSingle(node.word, state, this);
        const before = state.clone();
        let flow: Flow | undefined;
        for (const item of node.items) {
          for (const pattern of item.pattern) expandSingle(pattern, state, this);
          const branch = before.clone();
          flow = both(flow, this.list(item.body, branch, stdin));
          state.merge(branch);
        }
        return flow ?? NOTHING_KNOWN;
      }
      case "TestCommand":
        judgeTest(node.expression, state, this);
        return NOTHING_KNOWN;
      case "ArithmeticCommand":
        judgeArithmetic(node.expression, state, this);
        return NOTHING_KNOWN;
      case "Function":
        return this.#function(node.name.value, node.body, state);
      case "Coproc":
        this.gate.report.review("bash.background", "It would go on running in the background.", "coproc");
        if (node.body.type === "CompoundList") this.list(node.body, state.clone(), undefined);
        else this.node(node.body, state.clone(), undefined);
        return NOTHING_KNOWN;
    }
  }

  #andOr(node: AndOr, state: ShellState, stdin: Flow | undefined): Flow {
    let flow: Flow | undefined;
    /** States in which the chain may have stopped early. */
    let stopped: ShellState | undefined;
    for (const [index, command] of node.commands.entries()) {
      const operator = index === 0 ? undefined : node.operators[index - 1];
      if (operator === "||") {
        const right = state.failed();
        if (stopped !== undefined) right.merge(stopped);
        stopped = undefined;
        state.succeeded();
        flow = both(flow, this.node(command, right, stdin));
        state.merge(right);
        continue;
      }
      if (operator === "&&") {
        const early = state.failed();
        if (stopped === undefined) stopped = early;
        else stopped.merge(early);
        state.succeeded();
      }
      flow = both(flow, this.node(command, state, stdin));
    }
    if (stopped !== undefined) {
      state.settle();
      state.merge(stopped);
    }
    return flow ?? NOTHING_KNOWN;
  }

  #pipeline(commands: readonly CommandNode[], state: ShellState, stdin: Flow | undefined): Flow {
    const [only] = commands;
    if (commands.length === 1 && only !== undefined) return this.node(only, state, stdin);
    let flow = stdin;
    for (const command of commands) flow = this.node(command, state.clone(), flow);
    return flow ?? NOTHING_KNOWN;
  }

  #if(node: Extract<PipelineNode, { type: "If" }>, state: ShellState, stdin: Flow | undefined): Flow {
    this.list(node.clause, state, stdin);
    const otherwise = state.clone();
    let flow = this.list(node.then, state, stdin);
    for (const branch of node.elif) {
      this.list(branch.clause, otherwise, stdin);
      const taken = otherwise.clone();
      flow = both(flow, this.list(branch.then, taken, stdin));
      state.merge(taken);
    }
    if (node.else !== undefined) flow = both(flow, this.list(node.else, otherwise, stdin));
    state.merge(otherwise);
    return flow;
  }

  /** A definition changes what a later word means; its body is judged where it stands. */
  #function(name: string, body: CompoundList | CommandNode, state: ShellState): Flow {
    this.gate.report.review("bash.function", "It gives a word a new meaning.", `${name}()`);
    this.functions.add(name);
    if (callsItself(name, body))
      this.gate.report.deny("destructive.fork-bomb", "A function that starts itself again and again.", `${name}()`);
    const inside = new ShellState(state.folders);
    inside.become(state.clone());
    for (const position of "@*123456789") inside.assign(position, { value: UNKNOWN, glob: true });
    inside.assign("#", { value: NUMBER, glob: false });
    if (body.type === "CompoundList") this.list(body, inside, undefined);
    else this.node(body, inside, undefined);
    return NOTHING_KNOWN;
  }
}

/**
 * Arithmetic evaluates text: a variable whose value is `a[$(x)]` runs x (bash 5.2, "Shell Arithmetic"). Fine are
 * numbers and variables that hold numbers; anything else is reviewed. Substitutions inside are judged as everywhere.
 */
import type { ArithmeticExpression, WordPart } from "unbash";
import { judgeSetVariable } from "../environment.ts";
import { NUMBER } from "./marks.ts";
import type { ShellState } from "./state.ts";
import type { Walker } from "./walker.ts";
import { expandSingle } from "./words.ts";

const RULE = "words.arithmetic";
const REASON = "An arithmetic position evaluates text as code, and this piece is not a plain number.";
const ASSIGNING = new Set(["=", "+=", "-=", "*=", "/=", "%=", "<<=", ">>=", "&=", "^=", "|="]);

export function judgeArithmeticPart(part: WordPart, state: ShellState, walker: Walker): void {
  if (part.type !== "ArithmeticExpansion") return;
  if (part.expression === undefined) {
    if (!/^\$(?:\(\(\s*\)\)|\[\s*\])$/.test(part.text)) walker.gate.report.review(RULE, REASON, part.text);
    return;
  }
  judgeArithmetic(part.expression, state, walker);
}

export function judgeArithmetic(expression: ArithmeticExpression | undefined, state: ShellState, walker: Walker): void {
  if (expression === undefined) return;
  switch (expression.type) {
    case "ArithmeticBinary":
      judgeArithmetic(expression.right, state, walker);
      if (ASSIGNING.has(expression.operator) && isName(expression.left)) assigned(expression.left.value, state, walker);
      else judgeArithmetic(expression.left, state, walker);
      return;
    case "ArithmeticUnary":
      judgeArithmetic(expression.operand, state, walker);
      return;
    case "ArithmeticTernary":
      judgeArithmetic(expression.test, state, walker);
      judgeArithmetic(expression.consequent, state, walker);
      {
        judgeArithmetic(expression.alternate, state, walker);
        return;
      }
    case "ArithmeticGroup":
      judgeArithmetic(expression.expression, state, walker);
      return;
    case "ArithmeticCommandExpansion": {
      const flow = walker.nested(expression.script, state.clone());
      if (!flow.number && !/^\s*\d+\s*$/.test(flow.text ?? ""))
        walker.gate.report.review(RULE, REASON, expression.text);
      return;
    }
    case "ArithmeticWord":
      judgeWord(expression.value, expression.parts, state, walker);
  }
}

function judgeWord(value: string, parts: readonly WordPart[] | undefined, state: ShellState, walker: Walker): void {
  if (parts !== undefined) {
    const word = { type: "Word", text: value, value, pos: 0, end: 0, parts } as const;
    const expanded = expandSingle(word, state, walker).value;
    if (!/^[\d\uE001]+$/.test(expanded)) walker.gate.report.review(RULE, REASON, value);
    return;
  }
  if (/^\d[\da-zA-Z#]*$/.test(value) || value === "") return;
  if (/^[A-Za-z_]\w*$/.test(value)) {
    walker.unused.delete(value);
    const bound = state.get(value);
    if ((bound === undefined && /^[a-z_]/.test(value)) || (bound !== undefined && /^[\d\uE001]*$/.test(bound.value)))
      return;
  }
  walker.gate.report.review(RULE, REASON, value);
}

function isName(
  expression: ArithmeticExpression,
): expression is Extract<ArithmeticExpression, { type: "ArithmeticWord" }> {
  return (
    expression.type === "ArithmeticWord" && expression.parts === undefined && /^[A-Za-z_]\w*$/.test(expression.value)
  );
}

function assigned(name: string, state: ShellState, walker: Walker): void {
  judgeSetVariable(name, NUMBER, walker.gate, name);
  state.assign(name, { value: NUMBER, glob: false });
}

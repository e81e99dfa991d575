/** `[[ ... ]]`: words are data, paths are only asked about; numeric operators evaluate text. */
import type { TestExpression } from "unbash";
import { judgePath } from "../paths/access.ts";
import type { ShellState } from "./state.ts";
import type { Walker } from "./walker.ts";
import { expandSingle } from "./words.ts";

/** `-f FILE` and its kin, of `test` and `[[`. */
export function isFileTest(operator: string): boolean {
  return /^-[abcdefghkprstuwxGLNOS]$/.test(operator) && operator !== "-a" && operator !== "-t";
}

const NUMERIC = new Set(["-eq", "-ne", "-lt", "-le", "-gt", "-ge"]);

export function judgeTest(expression: TestExpression, state: ShellState, walker: Walker): void {
  switch (expression.type) {
    case "TestUnary": {
      const { value } = expandSingle(expression.operand, state, walker);
      if (isFileTest(expression.operator)) {
        judgePath(walker.gate, state.folders, { value, glob: false, access: "read" });
      }
      if ((expression.operator === "-v" || expression.operator === "-R") && !/^\w+$/.test(value))
        subscript(expression.operand.text, walker);
      return;
    }
    case "TestBinary": {
      const left = expandSingle(expression.left, state, walker).value;
      const right = expandSingle(expression.right, state, walker).value;
      if (NUMERIC.has(expression.operator))
        for (const side of [left, right]) if (!isNumber(side)) subscript(side, walker);
      return;
    }
    case "TestLogical":
      for (const operand of expression.operands) judgeTest(operand, state, walker);
      return;
    case "TestNot":
      judgeTest(expression.operand, state, walker);
      return;
    case "TestGroup":
      judgeTest(expression.expression, state, walker);
      return;
  }
}

function isNumber(value: string): boolean {
  return /^-?[\d\uE001]+$/.test(value);
}

function subscript(text: string, walker: Walker): void {
  walker.gate.report.review(
    "words.arithmetic",
    "A numeric test evaluates text as code, and this is not a plain number.",
    text,
  );
}

/** A program that no table knows: reviewed, after the deny rules have looked at its words. */
import { describe, type Invocation } from "../invocation.ts";
import { type Flow, filtered } from "../shell/flow.ts";
import { readable } from "../shell/marks.ts";
import { judgeClaudeWords } from "./claude.ts";
import { sweepPaths } from "./sweep.ts";

export function judgeUnknown(call: Invocation): Flow {
  call.gate.report.review("program.unknown", "The gate does not know this program.", readable(describe(call)));
  judgeClaudeWords(call);
  sweepPaths(call, call.args);
  return filtered(call.stdin, false);
}

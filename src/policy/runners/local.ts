/** Programs of node_modules/.bin, started by `npx`, by a bare name in a package script, or by their path. */
import { describe, type Invocation } from "../invocation.ts";
import { isClaudeName, judgeClaude, judgeClaudeWords } from "../programs/claude.ts";
import { findProgram } from "../programs/registry.ts";
import { asRunner, judgeRunnerWords } from "../programs/runner.ts";
import { sweepPaths } from "../programs/sweep.ts";
import { type Flow, NOTHING_KNOWN } from "../shell/flow.ts";
import { hasMark, readable } from "../shell/marks.ts";

/** The project's own tool by name: its table if there is one, else a runner whose words are judged. */
export function judgeLocalTool(call: Invocation): Flow {
  const { gate, name } = call;
  const { report } = gate;
  if (hasMark(name) || call.head.glob) {
    report.review("words.dynamic-command", "An expansion decides which program runs.", readable(describe(call)));
    judgeClaudeWords(call);
    return NOTHING_KNOWN;
  }
  if (isClaudeName(name)) return judgeClaude(call) ?? NOTHING_KNOWN;
  const plain = name.replace(/^@[\w.-]+\//, "").replace(/(?<=.)@[\w.^~*-]+$/, "");
  const local = !name.includes("@") && hasLocal(call, name);
  const program = findProgram(plain);
  if (local) {
    if (program !== undefined)
      return program.judge({ ...call, head: { ...call.head, value: plain, plain: true } }) ?? NOTHING_KNOWN;
    judgeRunnerWords(call, call.args);
    judgeClaudeWords(call);
    asRunner(call, "A tool of the project's own packages.", "npx");
    return NOTHING_KNOWN;
  }
  report.review("package.not-local", "It would fetch a package and run it.", readable(describe(call)));
  if (program !== undefined)
    report.denyOnlyOrPerson(() =>
      program.judge({ ...call, name: plain, head: { ...call.head, value: plain, plain: true } }),
    );
  judgeClaudeWords(call);
  sweepPaths(call, call.args);
  return NOTHING_KNOWN;
}

function hasLocal(call: Invocation, name: string): boolean {
  const folder = call.packageFolder ?? (call.state.folders.length === 1 ? call.state.folders[0] : undefined);
  return folder !== undefined && call.gate.facts.hasLocalBin(folder, name);
}

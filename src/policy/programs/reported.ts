/** Which programs a command would start, as far as the parser sees: for the comparison with a real shell. */
import type { PolicyContext, PolicyFacts } from "../../core/contracts/policy.ts";
import { judgeBash } from "../bash.ts";
import { Report } from "../report.ts";
import { Trace } from "../trace.ts";

export interface ReportedPrograms {
  /** Names in command position at any nesting level. */
  programs: Set<string>;
  /** Some command name or some text that a shell would run is not known: any program could run. */
  open: boolean;
}

export function reportPrograms(
  command: string,
  cwd: string,
  context: PolicyContext,
  facts: PolicyFacts,
): ReportedPrograms {
  const trace = new Trace();
  const report = new Report();
  judgeBash(command, cwd, { context, facts, report, trace });
  const programs = new Set(trace.commands.map((entry) => entry.argv[0] ?? ""));
  const open = trace.problems.length > 0 || trace.isFull || [...programs].some((name) => name.includes("…"));
  return { programs, open };
}

/** The value of `$(...)`: what it runs is judged like any command; some harmless ones have a known output. */
import type { CommandExpansionPart } from "unbash";
import { NETWORK, NUMBER, REVISION, UNKNOWN } from "./marks.ts";
import type { ShellState } from "./state.ts";
import type { Surroundings } from "./words.ts";

/** Stands for files of the workspace; where it is used it counts as a pattern. */
export const SOME_FILE = "./*";

export function substituted(part: CommandExpansionPart, state: ShellState, around: Surroundings): string {
  if (part.script === undefined) {
    around.gate.report.review("parse.substitution", "A substitution cannot be read.", part.text);
    return UNKNOWN;
  }
  const flow = around.nested(part.script, state.clone());
  if (flow.text !== undefined) return flow.text.replace(/\n+$/, "");
  if (flow.network) return NETWORK;
  if (flow.revision) return REVISION;
  if (flow.number) return NUMBER;
  if (flow.names) return SOME_FILE;
  return UNKNOWN;
}

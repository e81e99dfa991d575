/** Judges the text of one Bash call. */
import { parse } from "unbash";
import { isFrozenText } from "./frozen.ts";
import type { Gate } from "./gate.ts";
import { judgePath } from "./paths/access.ts";
import { normalise } from "./paths/text.ts";
import { judgeCharacters } from "./shell/characters.ts";
import { ShellState } from "./shell/state.ts";
import { Walker } from "./shell/walker.ts";

/** Characters of one call; longer ones are reviewed after the deny rules have looked at all of it. */
const MAX_LENGTH = 10_000;

export function judgeBash(command: string, cwd: string, gate: Gate): void {
  const { report } = gate;
  const folder = normalise(cwd);
  const frozen = isFrozenText(command, folder, gate);
  const judge = (): void => {
    if (command.length > MAX_LENGTH)
      report.review("limits.length", `More than ${MAX_LENGTH} characters in one call.`, `${command.length} characters`);
    const text = judgeCharacters(command, report);
    const walker = new Walker(gate);
    judgeStart(folder, gate);
    walker.script({ ...parse(text), source: text }, new ShellState([folder]), undefined);
    for (const [, assignment] of walker.unused) {
      report.review("environment.assigned", "An assignment that nothing in this call uses.", assignment);
    }
  };
  if (frozen) {
    report.denyOnly(judge);
    report.allow("verify.frozen", "It is the frozen verification command.");
  } else judge();
}

/** A shell that stands outside the workspace makes every relative path one outside. */
function judgeStart(folder: string, gate: Gate): void {
  if (folder === gate.context.workspace) return;
  judgePath(gate, [folder], { value: folder, glob: false, access: "read" });
}

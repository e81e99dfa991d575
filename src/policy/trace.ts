/** What `policy check` shows of the way to a verdict. Bounded: 200 entries of each kind. */
import type { Verdict } from "../core/contracts/policy.ts";

const KEPT = 200;

export interface TracedCommand {
  /** Words after quotes, escapes and known expansions; `…` stands for what is not known. */
  argv: string[];
  /** Folders that the shell may stand in. */
  folders: readonly string[];
  depth: number;
}

export interface TracedPath {
  written: string;
  real: string | undefined;
  place: string;
  access: string;
  verdict: Verdict;
}

export class Trace {
  readonly commands: TracedCommand[] = [];
  readonly paths: TracedPath[] = [];
  readonly problems: string[] = [];

  get isFull(): boolean {
    return this.commands.length >= KEPT;
  }

  command(entry: TracedCommand): void {
    if (this.commands.length < KEPT) this.commands.push(entry);
  }

  path(entry: TracedPath): void {
    if (this.paths.length < KEPT) this.paths.push(entry);
  }

  problem(text: string): void {
    if (this.problems.length < KEPT && !this.problems.includes(text)) this.problems.push(text);
  }
}

/** What the gate knows of a shell at one point of a command: where it stands and what its variables hold. */
import { NETWORK, NUMBER, UNKNOWN } from "./marks.ts";

const MAX_FOLDERS = 4;
const MAX_VARIABLES = 64;
/** Characters of one variable's value that are followed. */
const MAX_VALUE = 1_024;

export interface Binding {
  /** Text with marks for unknown pieces. */
  value: string;
  /** The value may hold wildcards that an unquoted use expands. */
  glob: boolean;
}

export class ShellState {
  /** Folders that the shell may stand in; empty when that is not known any more. */
  folders: readonly string[];
  #variables: Map<string, Binding> | undefined;
  #shared = false;
  /** Too many variables to follow: every one counts as unknown. */
  #overflow = false;
  /** Where the shell stood before a `cd` that may have failed. */
  #before: readonly string[] | undefined;
  #ended = false;

  constructor(folders: readonly string[]) {
    this.folders = folders;
  }

  /** A subshell: changes made in the copy do not come back. */
  clone(): ShellState {
    const copy = new ShellState(this.folders);
    copy.#variables = this.#variables;
    copy.#overflow = this.#overflow;
    copy.#shared = true;
    this.#shared = true;
    return copy;
  }

  get(name: string): Binding | undefined {
    if (this.#overflow) return { value: UNKNOWN, glob: true };
    return this.#variables?.get(name);
  }

  assign(name: string, binding: Binding): void {
    if (this.#overflow) return;
    if (binding.value.length > MAX_VALUE) {
      this.assign(name, { value: binding.value.includes(NETWORK) ? NETWORK : UNKNOWN, glob: true });
      return;
    }
    if (this.#variables === undefined) this.#variables = new Map();
    else if (this.#shared) this.#variables = new Map(this.#variables);
    this.#shared = false;
    this.#variables.set(name, binding);
    if (this.#variables.size > MAX_VARIABLES) {
      this.#variables = undefined;
      this.#overflow = true;
    }
  }

  /** What holds after a part that may or may not have run, or after either of two parts. */
  merge(other: ShellState): void {
    if (other.#ended) return;
    if (this.#ended) {
      this.become(other);
      return;
    }
    if (this.folders.length === 0 || other.folders.length === 0) this.folders = [];
    else if (this.folders !== other.folders) {
      const union = [...new Set([...this.folders, ...other.folders])];
      this.folders = union.length > MAX_FOLDERS ? [] : union;
    }
    if (this.#variables === other.#variables && this.#overflow === other.#overflow) return;
    if (this.#overflow || other.#overflow) {
      this.#overflow = true;
      return;
    }
    const names = new Set([...(this.#variables?.keys() ?? []), ...(other.#variables?.keys() ?? [])]);
    for (const name of names) {
      const mine = this.#variables?.get(name);
      const theirs = other.#variables?.get(name);
      if (mine?.value === theirs?.value && mine?.glob === theirs?.glob) continue;
      const numbers = mine !== undefined && theirs !== undefined && isNumeric(mine.value) && isNumeric(theirs.value);
      this.assign(name, numbers ? { value: NUMBER, glob: false } : { value: UNKNOWN, glob: true });
    }
  }

  /** `cd` to `folder`; unless it is known to exist, what follows may run where the shell stood before. */
  enter(folder: string | undefined, certain: boolean): void {
    this.#before = certain ? undefined : this.folders;
    this.folders = folder === undefined ? [] : [folder];
  }

  /** The command before succeeded: `cd x && here`. */
  succeeded(): void {
    this.#before = undefined;
  }

  /** A copy in which the command before failed: `cd x || here`. */
  failed(): ShellState {
    const copy = this.clone();
    if (this.#before !== undefined) copy.folders = this.#before;
    return copy;
  }

  /** The command before may have failed or not: `cd x; here`. */
  settle(): void {
    if (this.#before === undefined) return;
    const early = this.failed();
    this.#before = undefined;
    this.merge(early);
  }

  /** `exit`, `return`, `break`: nothing after this point runs. */
  end(): void {
    this.#ended = true;
  }

  /** Becomes the other state. */
  become(other: ShellState): void {
    this.folders = other.folders;
    this.#before = other.#before;
    this.#ended = other.#ended;
    this.#variables = other.#variables;
    this.#overflow = other.#overflow;
    this.#shared = true;
    other.#shared = true;
  }

  /** Whether a further pass over a loop body could see something new. */
  sameAs(other: ShellState): boolean {
    if (this.#overflow !== other.#overflow || this.folders.join("\n") !== other.folders.join("\n")) return false;
    if (this.#variables === other.#variables) return true;
    if ((this.#variables?.size ?? 0) !== (other.#variables?.size ?? 0)) return false;
    for (const [name, binding] of this.#variables ?? [])
      if (other.#variables?.get(name)?.value !== binding.value) return false;
    return true;
  }
}

function isNumeric(value: string): boolean {
  return /^[\d\uE001]+$/.test(value);
}

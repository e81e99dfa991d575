/** What the gate knows of the text that flows out of a part of a command, through a pipe or into a substitution. */
export interface Flow {
  /** The text itself, where it is fixed. */
  readonly text?: string | undefined;
  /** Some of it came from the network. */
  readonly network: boolean;
  /** Each line names an ordinary file of the workspace, as `git ls-files` or `rg -l` print it. */
  readonly names: boolean;
  /** A commit id or a branch name. */
  readonly revision: boolean;
  /** Only digits, as `wc -l` or `date +%s` print them. */
  readonly number: boolean;
}

export const NOTHING_KNOWN: Flow = { network: false, names: false, revision: false, number: false };
export const FROM_NETWORK: Flow = { ...NOTHING_KNOWN, network: true };
export const FILE_NAMES: Flow = { ...NOTHING_KNOWN, names: true };
export const A_REVISION: Flow = { ...NOTHING_KNOWN, revision: true };
export const A_NUMBER: Flow = { ...NOTHING_KNOWN, number: true };

export function fixedText(text: string): Flow {
  return { ...NOTHING_KNOWN, text };
}

/** Two outputs after one another. */
export function both(a: Flow | undefined, b: Flow): Flow {
  if (a === undefined) return b;
  return {
    text: a.text !== undefined && b.text !== undefined ? a.text + b.text : undefined,
    network: a.network || b.network,
    names: a.names && b.names,
    revision: false,
    number: false,
  };
}

/** The output of a filter over `input`: it keeps where the text came from, and lines when it only picks some. */
export function filtered(input: Flow | undefined, picksLines: boolean): Flow {
  if (input === undefined || (!input.network && !(picksLines && (input.names || input.revision || input.number))))
    return NOTHING_KNOWN;
  return {
    network: input.network,
    names: picksLines && input.names,
    revision: picksLines && input.revision,
    number: picksLines && input.number,
  };
}

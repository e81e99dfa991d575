/** What the command needs of the outside; tests hand in another account, terminal and clock. */
import type { Env } from "../../control/folder.ts";
import type { AccountLookup, Ownership } from "../../platform/account.ts";
import type { Clock } from "../../platform/clock.ts";

export interface CliPorts {
  env: Env;
  account: AccountLookup;
  ownership: Ownership;
  clock: Clock;
  /** Hides secrets in reasons and command lines. */
  redact: (text: string) => string;
  /** Standard input and standard error are both a terminal. */
  tty: boolean;
  /** Shows a question on the terminal and reads one line. */
  ask(question: string): Promise<string>;
  out(text: string): void;
  err(text: string): void;
}

/** What a verb answers: the same facts for people and for programs. */
export interface Answer {
  exitCode: number;
  json: Readonly<Record<string, unknown>>;
  text: string;
}

/**
 * What a run means. Exit status 0 is the only pass, and no printed text can make one. Text only tells a check that
 * failed (the worker's business) from a check that could not begin (a person's): that is `error`, never `pass`.
 */
import type { VerifyOutcome } from "../core/contracts/verifier.ts";
import type { CommandRun } from "./run-command.ts";

export interface Verdict {
  outcome: VerifyOutcome;
  /** Absent with `pass`. */
  reason?: "exit-code" | "timeout" | "aborted" | "signal" | "cannot-start" | "stop-unproven";
  message: string;
}

/** `byLoader`: the run time's own loader complained, not a compiler or bundler. */
export type ForeignModule = (name: string, byLoader: boolean) => boolean;

export interface ClassifyFacts {
  /** As the person gave it. */
  text: string;
  timeoutMs: number;
  /** Says whether a module that was not found is a missing dependency (not a file that the worker should have made). */
  isForeignModule?: ForeignModule;
}

export function classify(run: CommandRun, facts: ClassifyFacts): Verdict {
  const name = `"${facts.text.length > 120 ? `${facts.text.slice(0, 119)}…` : facts.text}"`;
  if (run.aborted) return error("aborted", `${name} was ended because a stop was asked for.`);
  if (run.spawnError !== undefined) return error("cannot-start", `${name} could not be started: ${run.spawnError}`);
  if (run.remaining.length > 0) {
    const left = run.remaining.slice(0, 5).join(", ");
    return error(
      "stop-unproven",
      `${name} left processes that could not be ended (${left}); end them, then verify again.`,
    );
  }
  if (run.timedOut) {
    const seconds = Math.round(facts.timeoutMs / 100) / 10;
    return error(
      "timeout",
      `${name} did not end within ${seconds} s and was ended; give it more time or a faster check.`,
    );
  }
  if (run.exit.signal !== null) return error("signal", `${name} was ended by ${run.exit.signal}.`);
  if (run.exit.code === 0) return { outcome: "pass", message: `${name} exited with 0.` };
  if (run.exit.code === 126 || run.exit.code === 127) {
    const what = run.exit.code === 127 ? "a program was not found" : "a program may not be executed";
    return error(
      "cannot-start",
      `${name} could not start: ${what} (exit ${run.exit.code}). Install it or correct the command.`,
    );
  }
  const missing = missingModule(run.output.tail, facts.isForeignModule ?? (() => true));
  if (missing !== undefined) {
    const advice = "Install the dependencies (--verify-setup), or use --verify-in workspace.";
    return error("cannot-start", `${name} could not start: the module "${missing}" is not installed. ${advice}`);
  }
  return { outcome: "fail", reason: "exit-code", message: `${name} exited with ${run.exit.code}.` };
}

function error(reason: NonNullable<Verdict["reason"]>, message: string): Verdict {
  return { outcome: "error", reason, message };
}

/** Loaders of Node 20.20 (CommonJS and ESM) and CPython 3, with and without `-m`. */
const MISSING = [
  /Cannot find (?:module|package) ['"]([^'"\n]+)['"]/,
  /ModuleNotFoundError: No module named ['"]([^'"\n]+)['"]/,
  /: No module named ([\w.]+)\s*$/m,
];

/** Marks of TAP, node:test, mocha, jest, vitest, pytest, unittest, go and cargo that a test has begun. */
const TEST_RAN =
  /^\s*(?:(?:not )?ok \d+|# tests [1-9]|✔|✖|✓|✗|×|PASS\b|FAIL\b|--- (?:PASS|FAIL)|test \S+ \.\.\. |Ran [1-9]\d* tests?|\d+ passing|\d+ failing|Tests?:?\s|=+ .*\d+ (?:passed|failed|errors?))/m;

function missingModule(tail: string, isForeign: ForeignModule): string | undefined {
  if (TEST_RAN.test(tail)) return undefined;
  const byLoader = /MODULE_NOT_FOUND|Require stack:|ModuleNotFoundError|: No module named /.test(tail);
  for (const pattern of MISSING) {
    const name = pattern.exec(tail)?.[1];
    // A relative or absolute path, a subpath import or an alias is the project's own file: the worker's business.
    if (name !== undefined && !/^[./#~]|^@\/|^file:|^[A-Za-z]:[\\/]/.test(name) && isForeign(name, byLoader))
      return name;
  }
  return undefined;
}

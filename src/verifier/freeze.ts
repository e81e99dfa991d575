/** Fixes at `start` what "done" will mean. Nothing here runs a command; `sh -n` only reads one. */
import { execFile } from "node:child_process";
import { realpath, stat } from "node:fs/promises";
import type { VerifyCommand, VerifySpec } from "../core/contracts/verifier.ts";
import type { Result } from "../core/result.ts";
import { failure } from "../core/result.ts";
import { splitCommand } from "./argv.ts";
import { collectInputs } from "./inputs.ts";
import { findRepo } from "./repo.ts";

export const DEFAULT_CARRY = ["node_modules", ".venv", "vendor"] as const;
/** 30 minutes a command. */
export const DEFAULT_VERIFY_TIMEOUT_MS = 30 * 60_000;
const MAX_RUNS = 50;

export interface FreezeInput {
  /** As the person gave them, in order; with a time limit of their own (ms) where they have one. */
  commands: readonly (string | { text: string; timeoutMs?: number })[];
  cwd: string;
  /** Default: `clean` in a git repository, `workspace` outside one. */
  where?: "clean" | "workspace";
  /** Runs first in the clean worktree, instead of carrying dependency folders. */
  setup?: string;
  /** Default `node_modules .venv vendor`. */
  carry?: readonly string[];
  /** Default 1, at most 50. */
  runs?: number;
  /** Milliseconds for one run of one command; default 30 minutes. */
  timeoutMs?: number;
  envNames?: readonly string[];
}

/**
 * Failures: `verify-missing`, `verify-empty`, `verify-syntax`, `verify-setup`, `verify-runs`, `verify-timeout`,
 * `verify-carry`, `verify-env`, `cwd-missing`, `clean-needs-git`, and those of repo.ts.
 */
export async function freezeVerification(input: FreezeInput): Promise<Result<{ spec: VerifySpec }>> {
  const { runs = 1, timeoutMs = DEFAULT_VERIFY_TIMEOUT_MS, carry = DEFAULT_CARRY, envNames = [] } = input;
  if (input.commands.length === 0) {
    return failure(
      "verify-missing",
      'No verification was given. Add --verify "<command>", for example --verify "npm test".',
    );
  }
  if (!Number.isInteger(runs) || runs < 1 || runs > MAX_RUNS) {
    return failure("verify-runs", `--verify-runs must be a whole number from 1 to ${MAX_RUNS}.`);
  }
  if (!Number.isFinite(timeoutMs) || timeoutMs <= 0) {
    return failure("verify-timeout", "The time limit of a verification must be more than 0, for example 10m.");
  }
  const badCarry = carry.find(
    (name) =>
      !/^[^/\0][^\0]*$/.test(name) || name.split("/").includes("..") || name.startsWith(".git/") || name === ".git",
  );
  if (badCarry !== undefined) {
    return failure(
      "verify-carry",
      `verify.carry holds "${badCarry}"; give folder names inside the workspace, such as node_modules.`,
    );
  }
  const badEnv = envNames.find((name) => !/^[A-Za-z_][A-Za-z0-9_]*$/.test(name));
  if (badEnv !== undefined) return failure("verify-env", `"${badEnv}" is not the name of an environment variable.`);
  const cwd = await realpath(input.cwd).catch(() => undefined);
  if (cwd === undefined || !(await stat(cwd)).isDirectory()) {
    return failure("cwd-missing", `${input.cwd} is not a folder that can be read. Give an existing one with --cwd.`);
  }

  const commands: VerifyCommand[] = [];
  for (const given of input.commands) {
    const { text, timeoutMs: own = timeoutMs } = typeof given === "string" ? { text: given } : given;
    const command = await freezeCommand(text, own);
    if (!command.ok) return command;
    commands.push(command.command);
  }
  const setup = input.setup === undefined ? undefined : await freezeCommand(input.setup, timeoutMs);
  if (setup !== undefined && !setup.ok)
    return failure("verify-setup", setup.message.replace("--verify", "--verify-setup"));

  const repo = await findRepo(cwd);
  if (!repo.ok) return repo;
  const where = input.where ?? (repo.repo === undefined ? "workspace" : "clean");
  if (where === "clean" && repo.repo === undefined) {
    const advice = 'Use --verify-in workspace, or run "git init" there first.';
    return failure("clean-needs-git", `${cwd} is in no git repository, so there is no tree to check out. ${advice}`);
  }
  if (where === "workspace" && setup !== undefined) {
    return failure(
      "verify-setup",
      "--verify-setup prepares the clean worktree; it has no use with --verify-in workspace.",
    );
  }
  const inputs = await collectInputs(cwd, setup === undefined ? commands : [setup.command, ...commands]);
  const spec: VerifySpec = {
    commands,
    cwd,
    where,
    ...(setup === undefined ? {} : { setup: setup.command }),
    carry: [...new Set(carry.map((name) => name.replace(/\/+$/, "")))],
    runs,
    envNames: [...new Set(envNames)],
    inputs: inputs.hashes,
    scripts: inputs.scripts,
  };
  return { ok: true, spec };
}

async function freezeCommand(given: string, timeoutMs: number): Promise<Result<{ command: VerifyCommand }>> {
  const text = given.trim();
  if (text === "") {
    return failure(
      "verify-empty",
      'The --verify command is empty. Give one that exits with 0 only when the work is done, such as "npm test".',
    );
  }
  if (text.includes("\0")) return failure("verify-syntax", "The --verify command holds a NUL character; remove it.");
  const argv = splitCommand(text);
  if (argv?.[0] === "") return failure("verify-empty", `The --verify command ${text} names no program.`);
  if (argv !== undefined) return { ok: true, command: { text, argv, shell: false, timeoutMs } };
  const complaint = await syntaxError(text);
  if (complaint !== undefined) {
    return failure(
      "verify-syntax",
      `The --verify command is not a valid sh command (${complaint}). Correct its quotes or operators.`,
    );
  }
  return { ok: true, command: { text, argv: ["sh", "-c", text], shell: true, timeoutMs } };
}

/** `sh -n` parses without running anything (POSIX.1-2017, 2.14 `set -n`). */
function syntaxError(text: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    execFile(
      "sh",
      ["-n", "-c", text],
      { timeout: 5000, env: { PATH: process.env.PATH ?? "/usr/bin:/bin", LC_ALL: "C" } },
      (error, _out, stderr) => {
        if (error === null) resolve(undefined);
        else
          resolve(
            stderr
              .trim()
              .split("\n")[0]
              ?.replace(/^sh: (?:\d+: )?/, "")
              .slice(0, 200) || "it does not parse",
          );
      },
    );
  });
}

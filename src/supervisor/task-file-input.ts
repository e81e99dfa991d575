/** What a task file says, where the call itself says nothing. */
import { resolve } from "node:path";
import type { TaskBrief } from "../core/prompts.ts";
import type { Result } from "../core/result.ts";
import { readTaskFile, type TaskFile } from "../store/task-file.ts";
import type { StartInput } from "./api.ts";

/** Empty where no file was named. Reasons: those of `readTaskFile`. */
export function taskFileOf(input: StartInput): Result<{ task: TaskFile }> {
  return input.taskFile === undefined ? { ok: true, task: {} } : readTaskFile(resolve(input.from, input.taskFile));
}

/** Flags beat the file. */
export function withTaskFile(input: StartInput, { goal, review, profile, budgets = {} }: TaskFile): StartInput {
  const { timeout, ...counts } = budgets;
  const file: Partial<StartInput> = {
    ...counts,
    ...(timeout === undefined ? {} : { timeoutMs: timeout }),
    ...(profile === undefined ? {} : { profile }),
    ...(review === undefined ? {} : { review }),
  };
  const said = Object.fromEntries(Object.entries(input).filter(([, value]) => value !== undefined)) as StartInput;
  return { ...file, ...said, goal: input.goal.trim() === "" ? (goal ?? "") : input.goal };
}

/** All of the call's, else all of the file's, else all of the configuration's. */
export function verificationsOf(
  input: StartInput,
  { verifications = [] }: TaskFile,
  configured: readonly string[],
): { text: string; timeoutMs?: number }[] {
  if (input.verify.length > 0) return input.verify.map((text) => ({ text }));
  if (verifications.length === 0) return configured.map((text) => ({ text }));
  return verifications.map(({ command, timeout }) => ({
    text: command,
    ...(timeout === undefined ? {} : { timeoutMs: timeout }),
  }));
}

export function briefOf({ scope, constraints, forbidden }: TaskFile): { [K in keyof TaskBrief]: string[] } {
  return {
    ...(scope?.length ? { scope: [...scope] } : {}),
    ...(constraints?.length ? { constraints: [...constraints] } : {}),
    ...(forbidden?.length ? { forbidden: [...forbidden] } : {}),
  };
}

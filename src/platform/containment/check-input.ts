import { accessSync, constants } from "node:fs";
import { dirname, isAbsolute, normalize, relative } from "node:path";
import { failure, type Result } from "../../core/result.ts";

/** What can be refused before anything is started: a program that can't run, a folder that must not be removed. */
export function checkInput(input: { file: string; cwd: string; tmpDir?: string }): Result {
  if (!isAbsolute(input.file)) {
    return failure("not-executable", `The worker's program must be an absolute path, not ${input.file}.`);
  }
  try {
    accessSync(input.file, constants.X_OK);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return failure("not-executable", `${input.file} can't be executed: ${why}.`);
  }
  const { tmpDir } = input;
  if (tmpDir === undefined || isRemovable(tmpDir, input.cwd)) return { ok: true };
  return failure("bad-tmp-dir", `${tmpDir} can't be a worker's own temporary folder: it would be removed at the end.`);
}

/** At least two levels deep, spelled plainly, and not around the working directory or the home. */
function isRemovable(folder: string, cwd: string): boolean {
  if (!isAbsolute(folder) || normalize(folder) !== folder || folder.endsWith("/") || folder.includes("\n"))
    return false;
  if (dirname(dirname(folder)) === dirname(folder)) return false;
  return ![cwd, process.cwd(), process.env.HOME ?? "/"].some((kept) => isWithin(kept, folder));
}

function isWithin(path: string, folder: string): boolean {
  const way = relative(folder, path);
  return way === "" || (way !== ".." && !way.startsWith("../") && !isAbsolute(way));
}

/** What took part in a verification, for whoever repeats it; and whether git is new enough to be run safely. */
import { release, type } from "node:os";
import type { Result } from "../core/result.ts";
import { failure } from "../core/result.ts";
import { type CallOptions, callOptions, git } from "./git.ts";

/** `git add --sparse` came with 2.34; GIT_CONFIG_COUNT, by which the repository's programs are switched off, with 2.31. */
const OLDEST: readonly [number, number] = [2, 34];
const known = new Map<string, string>();

export async function versions(options: CallOptions): Promise<Record<string, string>> {
  const found: Record<string, string> = { node: process.version, os: `${type()} ${release()}` };
  const version = await gitVersion(options);
  if (version.ok) found["git"] = version.version;
  return found;
}

/** Failures: `no-git`, `git-too-old`, `aborted`. Asked once for each PATH. */
export async function gitVersion(options: CallOptions): Promise<Result<{ version: string }>> {
  const path = (options.hostEnv ?? process.env)["PATH"] ?? "";
  const before = known.get(path);
  if (before !== undefined) return { ok: true, version: before };
  const output = await git(["--version"], { ...callOptions(options), cwd: "/" });
  if (!output.ok) return output;
  const version = output.stdout.toString("utf8").trim().replace("git version ", "");
  const [major = 0, minor = 0] = version.split(".").map((part) => Number.parseInt(part, 10));
  if (major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1])) {
    return failure(
      "git-too-old",
      `git ${version} is too old to verify with; install git ${OLDEST.join(".")} or newer.`,
    );
  }
  known.set(path, version);
  return { ok: true, version };
}

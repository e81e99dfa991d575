/** The Agent SDK to compare with: fetched from npm once into a cache folder, never a dependency of this package. */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { cacheFolder } from "../../test/support/cache.ts";

/** The release that goes with the pinned Claude Code 2.1.268. */
export const SDK_VERSION = "0.3.268";
const SDK = "@anthropic-ai/claude-agent-sdk";

/** Path of its module, or why it is not there. Its own Claude binaries are left out. */
export async function agentSdk(): Promise<{ ok: true; path: string } | { ok: false; reason: string }> {
  const target = join(cacheFolder(), "bench", `agent-sdk-${SDK_VERSION}`);
  const path = join(target, "node_modules", SDK, "sdk.mjs");
  if (existsSync(path)) return { ok: true, path };
  try {
    await mkdir(dirname(target), { recursive: true });
    const work = await mkdtemp(join(dirname(target), "fetch-"));
    await writeFile(join(work, "package.json"), '{"private":true}\n');
    const flags = ["--ignore-scripts", "--omit=optional", "--no-audit", "--no-fund", "--no-package-lock", "--silent"];
    await promisify(execFile)("npm", ["install", ...flags, `${SDK}@${SDK_VERSION}`], { cwd: work, timeout: 240_000 });
    await rm(target, { recursive: true, force: true });
    await rename(work, target);
    return { ok: true, path };
  } catch (error) {
    return { ok: false, reason: error instanceof Error ? (error.message.split("\n")[0] ?? "") : String(error) };
  }
}

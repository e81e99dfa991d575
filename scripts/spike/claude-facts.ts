/** Version, place, licence and source revision of the Claude that runs. */
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { ExecutableFacts } from "../../src/core/contracts/worker.ts";
import type { ClaudeFacts } from "./evidence.ts";

/** Only npm's packages say a licence; a program installed otherwise has none beside it, and the facts are `unknown`. */
export async function claudeFacts(executable: ExecutableFacts): Promise<ClaudeFacts> {
  const { version, path, realPath, size, sha256 } = executable;
  const manifest = (await manifestAbove(dirname(realPath))) ?? {};
  const text = (value: unknown): string => (typeof value === "string" && value !== "" ? value : "unknown");
  return {
    version,
    path,
    realPath,
    size,
    sha256,
    package: manifest.name === undefined ? "unknown" : `${text(manifest.name)}@${text(manifest.version)}`,
    license: text(manifest.license),
    sourceRevision: text(manifest.gitHead),
  };
}

type Manifest = Readonly<Record<string, unknown>>;

/** The nearest package.json of Claude's own packages at or above `folder`. */
async function manifestAbove(folder: string): Promise<Manifest | undefined> {
  for (let at = folder; at !== dirname(at); at = dirname(at)) {
    const found = await readManifest(join(at, "package.json"));
    if (typeof found?.name === "string" && found.name.startsWith("@anthropic-ai/claude-code")) return found;
  }
  return undefined;
}

async function readManifest(path: string): Promise<Manifest | undefined> {
  try {
    return JSON.parse(await readFile(path, "utf8")) as Manifest;
  } catch {
    return undefined; // none here, or not JSON: the next folder up
  }
}

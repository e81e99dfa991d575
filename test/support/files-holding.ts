/** Which files under a folder hold a text, as it stands or as a git object. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { inflateSync } from "node:zlib";

/** Paths relative to `folder`; a folder that does not exist holds nothing. */
export async function filesHolding(folder: string, text: string): Promise<string[]> {
  const found: string[] = [];
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  for (const entry of entries) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    const bytes = await readFile(path);
    if (bytes.includes(text) || inflated(bytes).includes(text)) found.push(path.slice(folder.length + 1));
  }
  return found.toSorted();
}

/** A loose object is one zlib stream; anything else holds nothing more than its bytes. */
function inflated(bytes: Buffer): Buffer {
  try {
    return inflateSync(bytes);
  } catch (error) {
    if (error instanceof Error && "code" in error) return Buffer.alloc(0);
    throw error;
  }
}

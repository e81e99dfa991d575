/** Files and folders, as somebody types their way down to one. */
import { readdirSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Completion } from "./item.ts";

/** Entries of one folder that are looked at. */
const MAX_ENTRIES = 2_000;

/**
 * Folders (ending in `/`), and files where they are meant, in the folder that `typed` names so far. Hidden ones only once
 * a dot was typed; names that would need quotes are left out.
 */
export function pathItems(typed: string, cwd: string, kind: "file" | "folder"): Completion[] {
  const slash = typed.lastIndexOf("/") + 1;
  const folder = typed.slice(0, slash);
  const begun = typed.slice(slash);
  try {
    return readdirSync(resolve(cwd, folder === "" ? "." : folder), { withFileTypes: true })
      .slice(0, MAX_ENTRIES)
      .filter(({ name }) => !/[\s"\\]/.test(name) && (begun.startsWith(".") || !name.startsWith(".")))
      .flatMap((entry) => {
        if (entry.isDirectory()) return [item(join(folder, entry.name), "/")];
        return kind === "file" && entry.isFile() ? [item(join(folder, entry.name), "")] : [];
      })
      .sort((a, b) => (a.label < b.label ? -1 : 1));
  } catch {
    return []; // no such folder: there is nothing to offer
  }
}

function item(path: string, end: string): Completion {
  return { value: `${path}${end}`, label: `${path}${end}` };
}

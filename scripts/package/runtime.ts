/** The packages that an installation brings: the lock file's runtime tree, without what the host gives and development needs. */
import { readFileSync } from "node:fs";
import { join } from "node:path";

export interface LockEntry {
  version: string;
  license?: string;
  integrity?: string;
  dependencies?: Readonly<Record<string, string>>;
  optionalDependencies?: Readonly<Record<string, string>>;
  [field: string]: unknown;
}

export interface Lock {
  packages: Readonly<Record<string, LockEntry>>;
}

export interface RuntimePackage {
  name: string;
  /** Key of the lock file, e.g. `node_modules/execa/node_modules/get-stream`. */
  place: string;
  entry: LockEntry;
}

export function readLock(root: string): Lock {
  return JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")) as Lock;
}

/**
 * Everything that `dependencies` reaches, sorted by place. Computed by Node's own resolution over the lock file, because
 * `npm sbom --omit=peer` (npm 11.19.1) leaves out packages that a peer's tree shares, such as cross-spawn.
 */
export function runtimePackages(lock: Lock): RuntimePackage[] {
  const found = new Map<string, RuntimePackage>();
  const open = [""];
  for (let place = open.pop(); place !== undefined; place = open.pop()) {
    const entry = lock.packages[place];
    for (const name of Object.keys({ ...entry?.dependencies, ...entry?.optionalDependencies })) {
      const at = resolveFrom(lock, place, name);
      const target = at === undefined ? undefined : lock.packages[at];
      if (at === undefined || target === undefined || found.has(at)) continue;
      found.set(at, { name, place: at, entry: target });
      open.push(at);
    }
  }
  return [...found.values()].sort((a, b) => (a.place < b.place ? -1 : 1));
}

function resolveFrom(lock: Lock, place: string, name: string): string | undefined {
  for (let folder: string | undefined = place; folder !== undefined; folder = parentOf(folder)) {
    const candidate = `${folder === "" ? "" : `${folder}/`}node_modules/${name}`;
    if (candidate in lock.packages) return candidate;
  }
  return undefined;
}

function parentOf(place: string): string | undefined {
  if (place === "") return undefined;
  return place.slice(0, place.lastIndexOf("node_modules/")).replace(/\/$/, "");
}

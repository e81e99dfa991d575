/** A Node or an npm of another version, from npm, fetched once into a cache folder. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { cacheFolder } from "../../test/support/cache.ts";

/** The folder of a package: `name@version`. Throws when npm can't get it. */
export function fetchPackage(spec: string): string {
  const target = join(cacheFolder(), "matrix", spec);
  if (!existsSync(target)) {
    const work = mkdtempSync(join(cacheFolder(), "matrix-fetch-"));
    writeFileSync(join(work, "package.json"), '{"private":true}\n');
    execFileSync(
      "npm",
      ["install", "--no-save", "--no-package-lock", "--ignore-scripts", "--no-audit", "--no-fund", "--silent", spec],
      { cwd: work },
    );
    mkdirSync(dirname(target), { recursive: true });
    renameSync(join(work, "node_modules", spec.slice(0, spec.lastIndexOf("@"))), target);
    rmSync(work, { recursive: true, force: true });
  }
  return target;
}

/** The program of a Node version. Throws when npm can't get it. */
export function fetchNode(version: string): string {
  return join(fetchPackage(`node-${process.platform}-${process.arch}@${version}`), "bin", "node");
}

/** The bill of materials of an installation, CycloneDX 1.5, by `npm sbom`, made reproducible. */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Lock, readLock, runtimePackages } from "./runtime.ts";

interface Bom {
  serialNumber: string;
  metadata: { timestamp: string; component: { name: string } };
  components: { name: string; version: string }[];
}

/**
 * The text of the SBOM of `root`'s runtime tree. `work` is an empty folder that is used and removed. npm puts a random
 * number and the present time into each; here the number comes from the content and the time from the caller (ISO), so
 * that equal trees give equal bytes. Throws when npm leaves a package out.
 */
export function sbom(root: string, work: string, timestamp: string): string {
  const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as Record<string, unknown>;
  const { name, version, description, license, dependencies } = manifest;
  const runtime = runtimePackages(readLock(root));
  const self = { name, version, description, license, dependencies };
  const lock: Lock & Record<string, unknown> = {
    name,
    version,
    lockfileVersion: 3,
    requires: true,
    packages: Object.fromEntries([["", self], ...runtime.map(({ place, entry }) => [place, entry])]),
  };
  mkdirSync(work, { recursive: true });
  writeFileSync(join(work, "package.json"), JSON.stringify(self));
  writeFileSync(join(work, "package-lock.json"), JSON.stringify(lock));
  const text = execFileSync("npm", ["sbom", "--sbom-format=cyclonedx", "--package-lock-only"], {
    cwd: work,
    encoding: "utf8",
    maxBuffer: 16 * 1024 * 1024,
  });
  rmSync(work, { recursive: true });
  const bom = JSON.parse(text) as Bom;
  const listed = new Set(bom.components.map((component) => `${component.name}@${component.version}`));
  const missing = runtime.filter((one) => !listed.has(`${one.name}@${one.entry.version}`));
  if (missing.length > 0) throw new Error(`npm sbom leaves out ${missing.map((one) => one.name).join(", ")}`);
  bom.metadata.component.name = String(name);
  bom.metadata.timestamp = timestamp;
  bom.serialNumber = "";
  const hash = createHash("sha256").update(JSON.stringify(bom)).digest("hex");
  bom.serialNumber = `urn:uuid:${hash.slice(0, 8)}-${hash.slice(8, 12)}-8${hash.slice(13, 16)}-8${hash.slice(17, 20)}-${hash.slice(20, 32)}`;
  return `${JSON.stringify(bom, null, 2)}\n`;
}

/**
 * `npm run build`: the package of the checked-out commit, as dist/<name>-X.Y.Z.tgz, dist/release-manifest.json and
 * dist/SHA256SUMS. What is packed is the commit, exported by git: neither changes that are not committed nor stray files
 * get in, and two builds of one commit with one toolchain are byte-identical.
 */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { buildControl } from "./build-control.ts";
import { readArchive } from "./package/archive.ts";
import { checkPackage } from "./package/check.ts";
import { sbom } from "./package/sbom.ts";

const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), "..");

export interface ReleaseManifest {
  name: string;
  version: string;
  archive: string;
  /** Commit that was packed. */
  commit: string;
  /** Hex. */
  sha256: string;
  /** As npm writes it into a lock file. */
  integrity: string;
  /** Bytes. */
  size: number;
  node: string;
  npm: string;
  files: { path: string; size: number; sha256: string }[];
}

/**
 * Builds into `out` and resolves with the manifest that was written there. Older archives there are removed; nothing else
 * is. Throws when the package would break a rule of `checkPackage`, or `root` is no git checkout.
 */
export async function buildRelease(out: string, root = ROOT): Promise<ReleaseManifest> {
  const git = (...args: string[]): string => execFileSync("git", args, { cwd: root, encoding: "utf8" }).trim();
  const commit = git("rev-parse", "HEAD");
  const work = mkdtempSync(join(tmpdir(), "pcs-build-"));
  try {
    const stage = join(work, "stage");
    mkdirSync(stage);
    const exported = execFileSync("git", ["archive", "--format=tar", commit], {
      cwd: root,
      maxBuffer: 256 * 1024 * 1024,
    });
    execFileSync("tar", ["-x", "-C", stage], { input: exported });
    // The bundler looks for what it bundles beside the sources; npm never packs this folder.
    symlinkSync(join(root, "node_modules"), join(stage, "node_modules"), "dir");
    await buildControl(join(stage, "dist/cli/control.js"), stage);
    writeFileSync(
      join(stage, "sbom.cdx.json"),
      sbom(stage, join(work, "sbom"), new Date(git("log", "-1", "--format=%cI")).toISOString()),
    );
    settleModes(stage);
    const archive = pack(stage, work);
    const manifest = describe(archive, commit);
    const problems = checkPackage(readArchive(archive), archive.length);
    if (problems.length > 0) throw new Error(`The package breaks its rules:\n${problems.join("\n")}`);
    write(out, archive, manifest);
    return manifest;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** Modes as git has them, whatever the umask of this machine. */
function settleModes(folder: string): void {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) settleModes(path);
    else if (entry.isFile()) chmodSync(path, /\.sh$|\/dist\/cli\//.test(path) ? 0o755 : 0o644);
  }
}

/** npm's own packing: sorted, owner-less, with one fixed time for each file. */
function pack(stage: string, work: string): Buffer {
  const folder = join(work, "packed");
  mkdirSync(folder);
  execFileSync("npm", ["pack", "--ignore-scripts", "--silent", "--pack-destination", folder], { cwd: stage });
  const [name = ""] = readdirSync(folder);
  return readFileSync(join(folder, name));
}

function describe(archive: Buffer, commit: string): ReleaseManifest {
  const files = readArchive(archive);
  const text = files.find(({ path }) => path === "package.json")?.content.toString("utf8") ?? "{}";
  const { name, version } = JSON.parse(text) as { name: string; version: string };
  return {
    name,
    version,
    archive: `${name}-${version}.tgz`,
    commit,
    sha256: hash("sha256", archive).toString("hex"),
    integrity: `sha512-${hash("sha512", archive).toString("base64")}`,
    size: archive.length,
    node: process.version,
    npm: execFileSync("npm", ["--version"], { encoding: "utf8" }).trim(),
    files: files
      .map(({ path, content }) => ({ path, size: content.length, sha256: hash("sha256", content).toString("hex") }))
      .sort((a, b) => (a.path < b.path ? -1 : 1)),
  };
}

function write(out: string, archive: Buffer, manifest: ReleaseManifest): void {
  mkdirSync(out, { recursive: true });
  for (const name of readdirSync(out)) if (name.endsWith(".tgz")) rmSync(join(out, name));
  const text = `${JSON.stringify(manifest, null, 2)}\n`;
  writeFileSync(join(out, manifest.archive), archive);
  writeFileSync(join(out, "release-manifest.json"), text);
  const sums = [
    [manifest.sha256, manifest.archive],
    [hash("sha256", Buffer.from(text)).toString("hex"), "release-manifest.json"],
  ];
  writeFileSync(join(out, "SHA256SUMS"), sums.map((pair) => `${pair.join("  ")}\n`).join(""));
}

function hash(algorithm: string, bytes: Buffer): Buffer {
  return createHash(algorithm).update(bytes).digest();
}

if (process.argv[1] !== undefined && resolve(process.argv[1]) === fileURLToPath(import.meta.url)) {
  const out = resolve(process.argv[2] ?? join(ROOT, "dist"));
  const changed = execFileSync("git", ["status", "--porcelain"], { cwd: ROOT, encoding: "utf8" });
  if (changed !== "") console.error(`Not packed, because it is not committed:\n${changed.trimEnd()}`);
  const manifest = await buildRelease(out);
  console.log(`${join(out, manifest.archive)}: ${manifest.size} bytes, ${manifest.files.length} files`);
  console.log(`commit ${manifest.commit}\nsha256 ${manifest.sha256}\n${manifest.integrity}`);
}

/**
 * `node scripts/release-publish.ts FOLDER COMMIT`: publishes the archive that CI built for COMMIT, with provenance.
 * NPM_AUTH_MODE says how: `oidc` (npm's trusted publishing, no secret) or `token` (NPM_TOKEN). A version that is there with
 * the same bytes is left as it is, so that a publication can be tried again; with other bytes it is an error.
 * Imports nothing but `node:`.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

interface Manifest {
  name: string;
  version: string;
  archive: string;
  commit: string;
  integrity: string;
}

const [folder = "dist", commit = ""] = process.argv.slice(2);
const manifest = JSON.parse(readFileSync(join(folder, "release-manifest.json"), "utf8")) as Manifest;
const archive = resolve(folder, manifest.archive);
const mode = process.env["NPM_AUTH_MODE"] ?? "";
const token = process.env["NPM_TOKEN"] ?? "";

const problem = problemOf();
if (problem !== undefined) {
  console.error(problem);
  process.exit(1);
}
const there = publishedIntegrity();
if (there === manifest.integrity) {
  console.log(`${manifest.name}@${manifest.version} is published already, with these bytes.`);
} else if (there !== undefined) {
  console.error(`${manifest.name}@${manifest.version} is published with other bytes (${there}).`);
  process.exitCode = 1;
} else {
  publish();
}

function problemOf(): string | undefined {
  if (commit === "" || manifest.commit !== commit) return `the archive is of commit ${manifest.commit}, not ${commit}`;
  const hash = createHash("sha512").update(readFileSync(archive)).digest("base64");
  if (manifest.integrity !== `sha512-${hash}`) return "the archive is not the one that its manifest describes";
  switch (mode) {
    case "oidc":
      return token === "" ? undefined : "NPM_AUTH_MODE is oidc, but there is an NPM_TOKEN";
    case "token":
      return token === "" ? "NPM_AUTH_MODE is token, but NPM_TOKEN is empty" : undefined;
    default:
      return `NPM_AUTH_MODE is "${mode}"; oidc or token`;
  }
}

function publishedIntegrity(): string | undefined {
  const asked = spawnSync("npm", ["view", `${manifest.name}@${manifest.version}`, "dist.integrity"], {
    encoding: "utf8",
  });
  if (asked.status === 0) return asked.stdout.trim() || undefined;
  // A name or version that is not there; any other failure must not look like it.
  if (asked.stderr.includes("E404")) return undefined;
  throw new Error(`npm view failed: ${asked.stderr}`);
}

function publish(): void {
  const work = mkdtempSync(join(tmpdir(), "pcs-publish-"));
  try {
    const config = join(work, "npmrc");
    const registry = execFileSync("npm", ["config", "get", "registry"], { encoding: "utf8" }).trim();
    // npm itself puts the value in place of the name: it stands neither in a file nor on a command line.
    const lines = mode === "token" ? `${registry.replace(/^https?:/, "")}:_authToken=\${NPM_TOKEN}\n` : "";
    writeFileSync(config, lines, { mode: 0o600 });
    const channel = manifest.version.includes("-") ? "next" : "latest";
    execFileSync(
      "npm",
      ["publish", archive, "--provenance", "--access=public", `--tag=${channel}`, `--userconfig=${config}`],
      {
        stdio: "inherit",
      },
    );
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

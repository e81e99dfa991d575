/** What `npm run build` writes: the commit and nothing else, the same bytes each time, and a command that runs by itself. */
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after, before, describe, test } from "node:test";
import { buildRelease, type ReleaseManifest } from "../../scripts/build.ts";
import { type ArchiveFile, readArchive } from "../../scripts/package/archive.ts";
import { readLock, runtimePackages } from "../../scripts/package/runtime.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const hash = (algorithm: string, bytes: Buffer): Buffer => createHash(algorithm).update(bytes).digest();

describe("a build", { skip: existsSync(join(ROOT, ".git")) ? false : "no git checkout" }, () => {
  let folder = "";
  let manifest: ReleaseManifest;
  let files: ArchiveFile[] = [];

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), "pcs-build-test-"));
    mkdirSync(join(folder, "first"));
    writeFileSync(join(folder, "first", "pi-claude-supervisor-0.0.1.tgz"), "an older one");
    manifest = await buildRelease(join(folder, "first"));
    files = readArchive(readFileSync(join(folder, "first", manifest.archive)));
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  test("writes exactly archive, manifest and sums, and the sums hold", () => {
    const first = join(folder, "first");
    assert.deepEqual(readdirSync(first).sort(), ["SHA256SUMS", manifest.archive, "release-manifest.json"].sort());
    const check = spawnSync("sha256sum", ["-c", "--strict", "SHA256SUMS"], { cwd: first, encoding: "utf8" });
    assert.equal(check.status, 0, check.stderr);
    assert.equal(check.stdout.trim().split("\n").length, 2);
  });

  test("describes its archive truthfully", () => {
    const archive = readFileSync(join(folder, "first", manifest.archive));
    assert.deepEqual(JSON.parse(readFileSync(join(folder, "first", "release-manifest.json"), "utf8")), manifest);
    assert.equal(manifest.sha256, hash("sha256", archive).toString("hex"));
    assert.equal(manifest.integrity, `sha512-${hash("sha512", archive).toString("base64")}`);
    assert.equal(manifest.commit, execFileSync("git", ["rev-parse", "HEAD"], { cwd: ROOT, encoding: "utf8" }).trim());
    assert.deepEqual([manifest.node, manifest.size], [process.version, archive.length]);
    const listed = Object.fromEntries(manifest.files.map((file) => [file.path, file.sha256]));
    assert.deepEqual(
      listed,
      Object.fromEntries(files.map((file) => [file.path, hash("sha256", file.content).toString("hex")])),
    );
    // tar itself has to agree with our reader of archives.
    const names = execFileSync("tar", ["-tzf", join(folder, "first", manifest.archive)], { encoding: "utf8" });
    assert.deepEqual(names.trim().split("\n").sort(), files.map((file) => `package/${file.path}`).sort());
  });

  test("of another checkout with other times, modes and stray files is byte-identical", async () => {
    const clone = join(folder, "clone");
    execFileSync("git", ["clone", "-q", "--no-hardlinks", ROOT, clone]);
    execFileSync("git", ["checkout", "-q", "--detach", manifest.commit], { cwd: clone });
    symlinkSync(join(ROOT, "node_modules"), join(clone, "node_modules"));
    writeFileSync(join(clone, "src", "stray.ts"), "export const stray = 1;\n");
    writeFileSync(join(clone, "README.md"), "not committed\n");
    const mask = process.umask(0o077);
    try {
      await buildRelease(join(folder, "second"), clone);
    } finally {
      process.umask(mask);
    }
    for (const name of [manifest.archive, "release-manifest.json", "SHA256SUMS"]) {
      const [one, two] = ["first", "second"].map((which) => readFileSync(join(folder, which, name)));
      assert.ok(one !== undefined && two !== undefined && one.equals(two), `${name} differs`);
    }
  });

  test("has the control command compiled, and it runs where nothing is installed", () => {
    const alone = join(folder, "alone");
    mkdirSync(alone);
    const command = files.find(({ path }) => path === "dist/cli/control.js");
    assert.ok(command);
    writeFileSync(join(alone, "control.mjs"), command.content);
    const env = { PATH: process.env["PATH"] ?? "", HOME: alone, PI_CLAUDE_SUPERVISOR_STATE_DIR: join(alone, "state") };
    const ran = spawnSync(process.execPath, ["control.mjs", "--all", "status", "--json"], {
      cwd: alone,
      env,
      encoding: "utf8",
    });
    assert.equal(ran.status, 0, ran.stderr);
    const { ok, inForce, epoch } = JSON.parse(ran.stdout) as Record<string, unknown>;
    assert.deepEqual({ ok, inForce, epoch }, { ok: true, inForce: false, epoch: 0 });
  });

  test("has the bill of materials of exactly what an installation brings", () => {
    const text = files.find(({ path }) => path === "sbom.cdx.json")?.content.toString("utf8") ?? "";
    const bom = JSON.parse(text) as {
      bomFormat: string;
      components: { purl: string; hashes: unknown[]; licenses: unknown[] }[];
    };
    assert.equal(bom.bomFormat, "CycloneDX");
    const wanted = new Set(
      runtimePackages(readLock(ROOT)).map(({ name, entry }) => `pkg:npm/${name.replace("@", "%40")}@${entry.version}`),
    );
    assert.ok(wanted.size > 10, "the test finds no runtime packages");
    assert.deepEqual(bom.components.map(({ purl }) => purl).sort(), [...wanted].sort());
    assert.ok(bom.components.every(({ hashes, licenses }) => hashes.length > 0 && licenses.length > 0));
    assert.doesNotMatch(text, /"path"|file:|https?:\/\/(?!cyclonedx|.*(?:github|opencollective|schema))/);
  });
});
